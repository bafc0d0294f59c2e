"""The command line: argv in, text and exit codes out; the only place that prints."""
