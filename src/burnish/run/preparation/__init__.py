"""Preparation: from the plan to encoded features."""
