"""Serves artifacts over HTTP."""
