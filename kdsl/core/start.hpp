// Where to start when no start is given.
//
// Given    a Problem, and a point that meets the rows, chosen by nobody.
// Returns  ends of pieces that are likely to be those of the answer, the sums of classes kept.
// How      in each class pieces are gone through from the one with the least derivative on until the sum is met. The
//          gradient that tells the order is sampled: where it is not known, that of the middle of the feasible set, or of
//          the answer for a sample of the coordinates.
#pragma once

#include <optional>
#include <vector>

#include "control.hpp"
#include "micro.hpp"
#include "pool.hpp"
#include "problem.hpp"

namespace kdsl {

// Where a row fixes the sum of a class of boxes at other than 0 (one-class and nu machines), the gradient is that where
// all are as far between their bounds. Nothing where there is no such class, where pieces are curved or have kinks, so that
// no vertex is to be expected, and where the gradient is not finite.
// `entries` counts those of Q that were computed.
std::optional<std::vector<double>> likely_vertex(const Problem& problem, const std::vector<double>& t, Pool& pool,
                                                 double& entries);

// Where h is linear in pieces for most coordinates, and they are at 0, the gradient is that of the answer for a sample.
// Nothing elsewhere, where classes are coupled, and where the sample's answer has too few coordinates at ends. Coordinates
// that have curvature or no end, or that may rest between two pieces at 0 (in the tube of eps-SVR), stay where they are.
std::optional<std::vector<double>> likely_ends(const Problem& problem, const std::vector<double>& t, const Micro& micro,
                                               Pool& pool, Control& control, Work& work);

}  // namespace kdsl
