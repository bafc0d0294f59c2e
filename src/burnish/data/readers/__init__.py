"""Readers: from bytes of a file to rows, each with its line."""
