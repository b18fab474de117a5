"""The solvers of normal forms, a module for each, found by name."""
