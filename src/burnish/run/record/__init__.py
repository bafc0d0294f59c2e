"""The record of a run: its directory, plan, events, lock and ending."""
