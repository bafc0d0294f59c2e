"""Reads rows from wherever they are, splits them, and turns them into batches."""
