// The product of a whole kernel matrix with a vector, in double precision.
//
// Given    a kernel over some points and as many numbers, most of them not 0.
// Returns  K v.
// How      by square tiles, each computed once for both sides of the diagonal. In round d thread after thread takes a tile
//          (i, i + d), and of these no two write to the same sums, so that the same input gives the same bits.
#pragma once

#include "kernel_blocks.hpp"

namespace kdsl {

std::vector<double> symmetric_product(KernelBlocks& kernel, const std::vector<double>& v, Pool& pool);

}  // namespace kdsl
