"""Who watches a run besides the console: each consumes events and gives nothing back."""
