// Where to start when nothing is known of the multipliers but their sums.
//
// Given    a Problem in which a row fixes the sum of a class at other than 0 (one-class and nu machines), and a point
//          that meets the rows, chosen by nobody.
// Returns  a vertex: min g't over the bounds and the rows, g the gradient where every coordinate of such a class is as
//          far between its bounds as the others, which a sample of them is enough to tell.
// How      in each class the coordinates with the least g rise first; those of other classes stay.
#pragma once

#include <optional>
#include <vector>

#include "pool.hpp"
#include "problem.hpp"

namespace kdsl {

// Nothing where there is no such class, where pieces are curved or have kinks, so that no vertex is to be expected, and
// where the gradient is not finite.
// `entries` counts those of Q that were computed.
std::optional<std::vector<double>> likely_vertex(const Problem& problem, const std::vector<double>& t, Pool& pool,
                                                 double& entries);

}  // namespace kdsl
