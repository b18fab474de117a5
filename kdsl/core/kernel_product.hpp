// The product of the kernel matrix of some points with themselves and a vector.
//
// Given    dense points in single or double precision, row by row and packed in panels, and a number for each.
// Returns  K v, the terms in the points' precision.
// How      by square tiles, each value computed once for both sides of the diagonal and never stored: it goes to the sum of
//          its row and to that of its column. In round d thread after thread takes a tile (i, i + d), and of these no two
//          write to the same sums, so that the same input gives the same bits.
#pragma once

#include <vector>

#include "points.hpp"

namespace kdsl {

template <class T>
struct BothWays {
    const T *rows, *row_biases, *panels, *biases;
    std::int64_t features;
};

template <class T>
std::vector<double> symmetric_product(const Form& form, const BothWays<T>& points, const std::vector<double>& v,
                                      const Micro& micro, Pool& pool);

}  // namespace kdsl
