// The product of the kernel matrix of some points with themselves and a vector, or several vectors.
//
// Given    dense points in single or double precision, row by row and packed in panels, and one number or more for each.
// Returns  K v for each v, one after another, the terms in the points' precision.
// How      by square tiles, each value computed once for both sides of the diagonal: it goes to the sum of its row and to
//          that of its column, from a register for one vector, and for several from a few rows in the nearest cache. In round d thread after thread takes a tile (i, i + d), and of these no two
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
std::vector<double> symmetric_product(const Form& form, const BothWays<T>& points, std::int64_t count,
                                      const std::vector<double>& v, const Micro& micro, Pool& pool);

}  // namespace kdsl
