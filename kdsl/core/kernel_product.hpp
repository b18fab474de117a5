// The product of the whole kernel matrix of some points with a vector.
//
// Given    dense points in single or double precision, the same packed in panels, and a number for each.
// Returns  K v, the terms in the points' precision.
// How      by square tiles, each value computed once for both sides of the diagonal and never stored: it goes to the sum of
//          its row and to that of its column. In round d thread after thread takes a tile (i, i + d), and of these no two
//          write to the same sums, so that the same input gives the same bits.
#pragma once

#include <vector>

#include "points.hpp"

namespace kdsl {

template <class T>
std::vector<double> symmetric_product(const Form& form, const Points<T>& points, const T* panels, const T* biases,
                                      const std::vector<double>& v, const Micro& micro, Pool& pool);

}  // namespace kdsl
