"""Scores over whole sets of outcomes, with intervals; no batch size shows in any digit."""
