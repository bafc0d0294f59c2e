"""One plain typed function per verb: this is the Python API."""
