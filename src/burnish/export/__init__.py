"""Writes a trained model in other forms, each with a proof that it answers alike."""
