"""Named experiments: a file `queues.yaml` here is `tickets/queues`."""
