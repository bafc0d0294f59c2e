"""How gradients change weights, and how fast: optimizers, and schedules of the learning rate."""
