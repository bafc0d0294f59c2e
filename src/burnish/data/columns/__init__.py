"""Columns: from cells to numbers, times, categories and derived values."""
