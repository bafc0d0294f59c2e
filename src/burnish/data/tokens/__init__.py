"""Tokens: from texts to ids, and back to places in the text."""
