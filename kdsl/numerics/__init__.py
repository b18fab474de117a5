"""What binding and solving both compute with: Gram oracles, kernels of the core, products that wake no threads."""
