"""How fast this machine trains and answers, beside what else could be used; always as pairs in one run."""
