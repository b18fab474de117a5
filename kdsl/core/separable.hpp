// h(t) = sum_k h_k(t_k): convex, piecewise linear-quadratic, +infinity outside its pieces.
//
// The arrays are those of Separable in kdsl/solving/normal_form.py: piece p of coordinate k, for
// offsets[k] <= p < offsets[k+1], covers [left[p], right[p]] and reads 1/2 curvature[p] t^2 + slope[p] t + value[p].
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace kdsl {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// condition ? a : b without a branch, for conditions that cannot be predicted.
inline double select(bool condition, double a, double b) {
    const std::uint64_t mask = -std::uint64_t(condition);
    return std::bit_cast<double>((std::bit_cast<std::uint64_t>(a) & mask) | (std::bit_cast<std::uint64_t>(b) & ~mask));
}

struct Separable {
    std::vector<std::int64_t> offsets;
    std::vector<double> left, right, curvature, slope, value;

    struct Sides {
        double below, above;           // h_k'(t-) and h_k'(t+): -infinity and +infinity at the bounds
        double curvature;              // h_k'' of the piece below t, or above it at the lower bound
    };

    // 1/2 curvature t^2 + slope t and a constant on [left, right].
    struct Piece {
        double left = 0, right = 0, curvature = 0, slope = 0;

        double derivative(double t) const { return curvature * t + slope; }
    };
    // Those that t_k enters when it rises and when it falls; anything at a bound.
    struct Around {
        Piece over, under;
    };

    std::int64_t size() const { return std::int64_t(offsets.size()) - 1; }

    // The piece that t_k = t enters when it rises, or falls; -1 at the bound.
    std::int64_t ahead(std::int64_t k, double t, bool rising) const {
        if (rising) {
            for (std::int64_t p = offsets[k]; p < offsets[k + 1]; ++p)
                if (right[p] > t) return p;
        } else {
            for (std::int64_t p = offsets[k + 1] - 1; p >= offsets[k]; --p)
                if (left[p] < t) return p;
        }
        return -1;
    }

    double derivative(std::int64_t p, double t) const { return curvature[p] * t + slope[p]; }

    Sides sides(std::int64_t k, double t) const {
        if (const std::int64_t p = offsets[k]; p + 1 == offsets[k + 1]) {  // the most usual
            const double d = derivative(p, t);
            return {select(left[p] < t, d, -kInfinity), select(right[p] > t, d, kInfinity), curvature[p]};
        }
        const std::int64_t under = ahead(k, t, false), over = ahead(k, t, true);
        return {under < 0 ? -kInfinity : derivative(under, t), over < 0 ? kInfinity : derivative(over, t),
                under >= 0 ? curvature[under] : over >= 0 ? curvature[over] : 0.0};
    }

    Piece piece(std::int64_t p) const { return {left[p], right[p], curvature[p], slope[p]}; }

    Around around(std::int64_t k, double t) const {
        if (const std::int64_t p = offsets[k]; p + 1 == offsets[k + 1]) return {piece(p), piece(p)};
        const std::int64_t over = ahead(k, t, true), under = ahead(k, t, false);
        return {over < 0 ? Piece{} : piece(over), under < 0 ? Piece{} : piece(under)};
    }

    double at(std::int64_t k, double t) const {
        std::int64_t p = offsets[k];
        while (p + 1 < offsets[k + 1] && right[p] <= t) ++p;
        return (0.5 * curvature[p] * t + slope[p]) * t + value[p];
    }
};

}  // namespace kdsl
