"""Transformer networks: what is added to those of `transformers`."""
