"""From a dual with data to a certified solution."""
