"""From files, frames and arrays to the numbers of a model: readers, domains, kernels and their Gram matrices."""
