// The one step that every formulation takes.
//
// Solves   min over tau >= 0 of  tau g'd + 1/2 tau^2 d'Qd + sum_k h_k(t_k + tau d_k)
// Given    the coordinates that d touches, their t, g'd and d'Qd.
// Returns  the new t of those coordinates, set exactly on a break point where the step ends on one.
// How      the objective along d is a convex piecewise quadratic; its pieces are walked until its slope is zero.
//          Platt's (1998) clipped step and the four quadrants of regression (Shevade et al. 2000) are special cases.
#pragma once

#include <vector>

#include "separable.hpp"

namespace kdsl {

struct Direction {
    std::vector<std::int64_t> coordinate;
    std::vector<double> speed;

    void clear() {
        coordinate.clear();
        speed.clear();
    }
    void add(std::int64_t k, double d) {
        coordinate.push_back(k);
        speed.push_back(d);
    }
};

enum class StepEnd { taken, unbounded };

// A point this near to a break point, relative to their size, is on it.
inline constexpr double kSnap = 8 * std::numeric_limits<double>::epsilon();

// `floor` is what rounding may make of a curvature d'Qd that is zero: below it a ray without end is unbounded.
StepEnd exact_step(const Separable& h, const std::vector<std::int64_t>& coordinate, const std::vector<double>& speed,
                   double slope, double curvature, double floor, std::vector<double>& t);

}  // namespace kdsl
