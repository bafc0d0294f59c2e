"""The architectures that an experiment can name."""
