"""The vocabulary that every layer shares: values and protocols, no behaviour of its own."""
