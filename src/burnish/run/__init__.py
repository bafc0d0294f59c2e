"""A run as files: its directory, its plan, its events, and the worker that writes them."""
