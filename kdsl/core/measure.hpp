// How far a point is from optimal, from its gradient alone.
//
// Solves   with f = Qt and h_k' one-sided: for each class, m = -rise = max -(f + h'(t+)) and M = -fall; m - M <= 0
//          at an optimum. And the duality gap of the normal form itself,
//              sum_k  h_k(t_k) + h_k*(z_k) - t_k z_k  =  sum_k  integral from t_k to t*_k of (z_k - h_k'(s)) ds,
//          z_k = multiplier of the class - f_k, which is a sum of numbers >= 0 and so does not cancel.
// Given    t, f in double precision.
// Returns  m - M, the gap, and `beyond`: the largest z_k - h_k'(+-infinity) where h_k has no bound and the gap would
//          be infinite (a hard constraint violated by that much). Given `drift`, the most that an f_k may be wrong
//          by, the largest m - M, gap and `beyond` that this allows: the gap is convex in each f_k.
#pragma once

#include "exchange.hpp"
#include "problem.hpp"

namespace kdsl {

struct Measure {
    double kkt_gap = 0;
    double value = 0;
    double gap = 0;
    double beyond = 0;
    double size = 0;                  // of the derivatives that `beyond` is compared with
    std::vector<double> rise, fall;   // of each class
    std::vector<double> multiplier;   // of each class
};

// What f may be wrong by: `most`, but where `fresh` says that it is not.
struct Drift {
    double most = 0;
    const std::vector<char>* fresh = nullptr;

    double at(std::int64_t k) const { return fresh != nullptr && (*fresh)[k] ? 0 : most; }
};

Measure measure(const Problem& problem, const std::vector<double>& t, const std::vector<double>& f,
                Exchange* exchange, Drift drift = {});

// The term of the gap for coordinate k, z = multiplier - f_k; `beyond` where it would be infinite.
struct Young {
    double gap, beyond;
};
Young fenchel_young(const Separable& h, std::int64_t k, double t, double z);

// Between the best riser and the best faller of a class that is not coupled with others; 0 where it has neither.
double between(double rise, double fall);

}  // namespace kdsl
