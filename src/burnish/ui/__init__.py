"""A read-only page over a folder of runs: progress, scores, comparisons, live reports."""
