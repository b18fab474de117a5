"""From a checked model to its dual: one algebra of indexed sums, every step with its reason."""
