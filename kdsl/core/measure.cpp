// The distance from optimality; see measure.hpp.
#include "measure.hpp"

#include <algorithm>
#include <cmath>

namespace kdsl {

// The integral of z - h_k'(s) from t to where it vanishes.
Young fenchel_young(const Separable& h, std::int64_t k, double t, double z) {
    const Separable::Sides sides = h.sides(k, t);
    if (z >= sides.below && z <= sides.above) return {0.0, 0.0};
    const bool rising = z > sides.above;
    double gap = 0;
    for (;;) {
        const std::int64_t p = h.ahead(k, t, rising);
        if (p < 0) return {gap, 0.0};
        const double rest = z - h.derivative(p, t);
        if (rising ? rest <= 0 : rest >= 0) return {gap, 0.0};
        const double end = rising ? h.right[p] : h.left[p];
        const double root = h.curvature[p] > 0 ? t + rest / h.curvature[p] : rising ? kInfinity : -kInfinity;
        const double to = rising ? std::min(end, root) : std::max(end, root);
        if (std::isinf(to)) return {gap, std::abs(rest)};
        gap += (to - t) * (rest - 0.5 * h.curvature[p] * (to - t));
        if (to == root) return {gap, 0.0};
        t = to;
    }
}

double between(double rise, double fall) {
    if (std::isinf(rise)) return std::isinf(fall) ? 0.0 : fall;
    return std::isinf(fall) ? rise : 0.5 * (rise + fall);
}

Measure measure(const Problem& problem, const std::vector<double>& t, const std::vector<double>& f,
                Exchange* exchange, Drift drift) {
    const Separable& h = problem.h;
    const Classes& classes = problem.classes;
    Measure out;
    out.rise.assign(classes.size(), kInfinity);
    out.fall.assign(classes.size(), -kInfinity);
    out.multiplier.assign(classes.size(), 0.0);
    out.kkt_gap = -kInfinity;
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        double rise = kInfinity, fall = -kInfinity;
        for (std::int64_t k = classes.begin[c]; k < classes.begin[c + 1]; ++k) {
            const Separable::Sides sides = h.sides(k, t[k]);
            rise = std::min(rise, f[k] - drift.at(k) + sides.above);
            fall = std::max(fall, f[k] + drift.at(k) + sides.below);
        }
        out.rise[c] = rise, out.fall[c] = fall;
        out.kkt_gap = std::max(out.kkt_gap, classes.is_free(c) ? std::max(-rise, fall) : fall - rise);
        if (!classes.is_free(c)) out.multiplier[c] = between(rise, fall);
    }
    if (exchange != nullptr) {
        const double v = exchange->solve(out.rise, out.fall);
        out.kkt_gap = std::max(out.kkt_gap, 2 * v);
        for (std::int64_t c = classes.first_is_free; c < classes.size(); ++c)
            out.multiplier[c] = exchange->multiplier(c);
    }
    if (out.kkt_gap == -kInfinity) out.kkt_gap = 0;  // nobody can move
    double value = problem.constant, size = 0;
    for (std::int64_t c = 0; c < classes.size(); ++c)
        for (std::int64_t k = classes.begin[c]; k < classes.begin[c + 1]; ++k) {
            const double z = out.multiplier[c] - f[k], by = drift.at(k);
            const Separable::Sides sides = h.sides(k, t[k]);
            value += 0.5 * t[k] * f[k] + h.at(k, t[k]);
            for (const double derivative : {std::abs(f[k]), std::abs(sides.below), std::abs(sides.above)})
                size = std::max(size, select(derivative < kInfinity, derivative, 0.0));
            if (z - by >= sides.below && z + by <= sides.above) continue;
            const Young young = fenchel_young(h, k, t[k], z - by);
            const Young other = by > 0 ? fenchel_young(h, k, t[k], z + by) : young;
            out.gap += std::max(young.gap, other.gap);
            out.beyond = std::max({out.beyond, young.beyond, other.beyond});
        }
    if (!std::isfinite(value)) out.kkt_gap = out.gap = kInfinity;  // comparisons with what is no number are all false
    out.value = value;
    out.size = size;
    return out;
}

}  // namespace kdsl
