// Dual coordinate descent with the primal vector at hand, for sparse points of many features.
//
// Solves   min over t of  1/2 ||F't + e||^2 + sum_k h_k(t_k)  subject to  A't = a
// Given    the rows of F compressed, those of A dense
// Returns  t, w = F't + e, the multipliers m of the rows, and the duality gap at (t, w, m)
// How      each step minimises exactly over one t_k and mends w (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008);
//          coordinates whose price stays clear of their kink are left out until all others agree. The rows enter by an
//          augmented Lagrangian, m'(A't - a) + rho/2 ||A't - a||^2, whose multipliers move after every round.
#pragma once

#include <cstdint>
#include <vector>

#include "control.hpp"
#include "separable_view.hpp"

namespace kdsl {

struct SparseRows {
    std::int64_t count = 0, features = 0, rows = 0;
    const std::int64_t* start = nullptr;  // count + 1
    const std::int32_t* feature = nullptr;
    const double* value = nullptr;
    const double* row = nullptr;     // A: count x rows
    const double* target = nullptr;  // a
    const double* shift = nullptr;   // e
};

struct Descent {
    Reason reason = Reason::solved;
    std::vector<double> t, w, m;
    double gap = 0;      // relative to max(1, |value|); with what the rows lack, times their multipliers
    double value = 0;
    double lacking = 0;  // the largest |A't - a|
    std::int64_t rounds = 0, steps = 0;
};

// From t, which is brought into the bounds. Stops as soon as the relative gap is at most `tolerance`.
Descent descend(const SparseRows& rows, const SeparableView& h, std::vector<double> t, double constant,
                double tolerance, std::uint64_t seed, Control& control);

}  // namespace kdsl
