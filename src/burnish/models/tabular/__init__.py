"""Networks and boosted trees for tables."""
