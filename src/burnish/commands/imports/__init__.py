"""Reads the configs of other tools, and writes what they say as files of Burnish."""
