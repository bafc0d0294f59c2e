"""The cache of encoded features, and tables larger than memory."""
