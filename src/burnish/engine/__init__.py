"""Time: steps, evaluations, checkpoints, stops. Knows nothing of any task."""
