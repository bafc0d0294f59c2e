"""A search over the options of an experiment: what to try, what came of it, and what was best."""
