"""Splits: which rows are for training, validation and test."""
