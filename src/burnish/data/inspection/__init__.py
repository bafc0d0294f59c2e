"""Inspection: what a file seems to hold, and what is wrong with it."""
