// The exact step along a direction; see step.hpp.
#include "step.hpp"

#include <algorithm>
#include <cmath>

namespace kdsl {

namespace {

// A point this near to a break point, relative to their size, is on it.
constexpr double kSnap = 8 * std::numeric_limits<double>::epsilon();

}  // namespace

StepEnd exact_step(const Separable& h, const std::vector<std::int64_t>& coordinate, const std::vector<double>& speed,
                   double slope, double curvature, double floor, std::vector<double>& t) {
    const std::size_t n = coordinate.size();
    for (;;) {
        double fall = slope, bend = 0, room = kInfinity;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t p = h.ahead(coordinate[i], t[i], speed[i] > 0);
            if (p < 0) return StepEnd::taken;
            fall += speed[i] * h.derivative(p, t[i]);
            bend += speed[i] * speed[i] * h.curvature[p];
            room = std::min(room, ((speed[i] > 0 ? h.right[p] : h.left[p]) - t[i]) / speed[i]);
        }
        if (!(fall < 0)) return StepEnd::taken;
        bend += std::max(curvature, floor);
        if (bend <= floor && room == kInfinity) return StepEnd::unbounded;
        const double newton = bend > 0 ? -fall / bend : kInfinity;
        const double tau = std::min(newton, room);
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t p = h.ahead(coordinate[i], t[i], speed[i] > 0);
            const double end = speed[i] > 0 ? h.right[p] : h.left[p];
            const double there = t[i] + tau * speed[i];
            const bool reached = (end - t[i]) / speed[i] <= tau ||
                                 (std::isfinite(end) &&
                                  std::abs(end - there) <= kSnap * std::max(std::abs(end), std::abs(t[i])));
            t[i] = reached ? end : there;
        }
        if (newton <= room) return StepEnd::taken;
        slope += tau * curvature;
    }
}

}  // namespace kdsl
