"""One file is one kind of problem."""
