"""Burnish: one driver from a config file to a served model."""

__version__ = "0.1.0"
