"""A run as one page: baselines beside the model, charts, errors, configuration and where it came from."""
