"""Burnish: one driver from a config file to an artifact that predicts."""

__version__ = "0.1.0"
