// h(t) = sum_k h_k(t_k) read where Python holds it, and its conjugate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "separable.hpp"

namespace kdsl {

// The arrays of Separable in kdsl/solving/normal_form.py, read where they lie.
struct SeparableView {
    const std::int64_t* offsets;
    const double *left, *right, *curvature, *slope, *value;
};

inline double cost_at(const SeparableView& h, std::int64_t p, double t) {
    return (0.5 * h.curvature[p] * t + h.slope[p]) * t + h.value[p];
}

struct Best {
    double t;
    double value;    // t z - h(t)
    double z;        // brought into the domain of the conjugate
};

// The maximum of t z - h_k(t), z brought into the domain of the conjugate where it has none.
inline Best best_for(const SeparableView& h, std::int64_t k, double z) {
    const std::int64_t first = h.offsets[k], last = h.offsets[k + 1] - 1;
    if (h.right[last] == kInfinity && h.curvature[last] == 0) z = std::min(z, h.slope[last]);
    if (h.left[first] == -kInfinity && h.curvature[first] == 0) z = std::max(z, h.slope[first]);
    std::int64_t p = first;
    while (p < last && h.curvature[p] * h.right[p] + h.slope[p] < z) ++p;
    double t;
    if (h.curvature[p] > 0) {
        t = std::clamp((z - h.slope[p]) / h.curvature[p], h.left[p], h.right[p]);
    } else {
        t = z > h.slope[p] ? h.right[p] : h.left[p];
        if (!std::isfinite(t)) t = std::isfinite(h.left[p]) ? h.left[p] : std::isfinite(h.right[p]) ? h.right[p] : 0.0;
    }
    return {t, t * z - cost_at(h, p, t), z};
}

// The piece that t lies in.
inline std::int64_t piece_of(const SeparableView& h, std::int64_t k, double t) {
    std::int64_t p = h.offsets[k];
    while (p + 1 < h.offsets[k + 1] && h.right[p] < t) ++p;
    return p;
}

}  // namespace kdsl
