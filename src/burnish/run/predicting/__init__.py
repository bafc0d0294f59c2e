"""Predicting splits, scoring them and writing the predictions."""
