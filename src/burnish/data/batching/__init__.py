"""Batching: the order of rows, padded batches, and random draws that repeat."""
