// The exact step along a direction; see step.hpp.
#include "step.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kdsl {

StepEnd exact_step(const Separable& h, const std::vector<std::int64_t>& coordinate, const std::vector<double>& speed,
                   double slope, double curvature, double floor, std::vector<double>& t) {
    struct Way {
        double end, length;  // of the piece ahead
    };
    const std::size_t n = coordinate.size();
    std::array<Way, 2> pair;
    std::vector<Way> more(n > pair.size() ? n : 0);
    Way* const ways = more.empty() ? pair.data() : more.data();
    for (;;) {
        double fall = slope, bend = 0, room = kInfinity;
        for (std::size_t i = 0; i < n; ++i) {
            const bool rising = speed[i] > 0;
            const std::int64_t p = h.ahead(coordinate[i], t[i], rising);
            if (p < 0) return StepEnd::taken;
            fall += speed[i] * h.derivative(p, t[i]);
            bend += speed[i] * speed[i] * h.curvature[p];
            const double end = rising ? h.right[p] : h.left[p];
            ways[i] = {end, (end - t[i]) / speed[i]};
            room = std::min(room, ways[i].length);
        }
        if (!(fall < 0)) return StepEnd::taken;
        bend += std::max(curvature, floor);
        if (bend <= floor && room == kInfinity) return StepEnd::unbounded;
        const double newton = bend > 0 ? -fall / bend : kInfinity;
        const double tau = std::min(newton, room);
        for (std::size_t i = 0; i < n; ++i) {
            const double end = ways[i].end, there = t[i] + tau * speed[i];
            const double near = kSnap * std::max(std::abs(end), std::abs(t[i]));
            const bool reached = ways[i].length <= tau || (std::isfinite(end) && std::abs(end - there) <= near);
            t[i] = reached ? end : there;
        }
        if (newton <= room) return StepEnd::taken;
        slope += tau * curvature;
    }
}

}  // namespace kdsl
