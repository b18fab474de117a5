// Rounding of points to a lattice; see lattice_points.hpp.
#include "lattice_points.hpp"

#include <bit>
#include <cmath>

namespace kdsl {

namespace {

constexpr std::int64_t kTaken = 128;      // points in one task
constexpr double kLongest = 46340;        // of a point in steps: the inner product of two of them fits in 32 bits,
constexpr double kLargest = 32767;        // and of one of its coordinates

constexpr double kLeast = 1e-300;  // a step, where all points are one

// The nearest integer: adding 1.5 * 2^52 leaves it in the low bits.
std::int32_t nearest(double x) { return std::int32_t(std::bit_cast<std::int64_t>(x + 6755399441055744.0)); }

}  // namespace

bool LatticePoints::serve(const KernelSpec& kernel, const PointSource& source, const Micro& micro) {
    return micro.has_lattice() && !source.sparse() && kernel.kind != Kind::laplacian && kernel.kind != Kind::linear;
}

LatticePoints::LatticePoints(const KernelSpec& kernel, const PointSource& source, const Extent& extent, Pool& pool)
    : count_(source.count),
      pairs_((source.features + 1) / 2),
      panel_offset_(kernel.kind == Kind::gaussian ? 0.0f : float(kernel.offset)),
      pair_(aligned<Pair>(std::size_t(count_ * pairs_))),
      row_bias_(std::size_t(count_), 0.0f) {
    const std::int64_t d = source.features;
    // Rounding makes a point longer, by half of the diagonal of a cell at most.
    const double room = kLongest - 1 - 0.5 * std::sqrt(double(d));
    const double step = std::max({extent.norm / room, extent.feature / (kLargest - 1), kLeast});
    step_ = step * scale_of(kernel);
    largest_ = kLongest * step_ * kLongest * step_;
    const double many = 1 / step;
    const std::vector<double> origin(source.centre == nullptr ? std::size_t(d) : 0, 0.0);
    const double* const centre = source.centre == nullptr ? origin.data() : source.centre;
    pool.run((count_ + kTaken - 1) / kTaken, [&](std::int64_t task, int) {
        for (std::int64_t i = task * kTaken; i < std::min(count_, (task + 1) * kTaken); ++i) {
            const double* const x = source.dense + i * d;
            Pair* const to = pair_.get() + i * pairs_;
            std::int64_t square = 0;
            for (std::int64_t j = 0; j < d; j += 2) {
                const std::int32_t first = nearest((x[j] - centre[j]) * many);
                const std::int32_t second = j + 1 < d ? nearest((x[j + 1] - centre[j + 1]) * many) : 0;
                square += std::int64_t(first) * first + std::int64_t(second) * second;
                to[j / 2] = Pair(std::uint32_t(first & 0xffff) | std::uint32_t(second) << 16);
            }
            if (kernel.kind == Kind::gaussian) row_bias_[i] = float(-0.5 * unit() * double(square));
        }
    });
}

void LatticePoints::pack(const std::int64_t* index, std::int64_t count, const Micro& micro, Pair* panel,
                         float* bias) const {
    constexpr std::int64_t P = kPanel<Pair>;
    for (std::int64_t k = 0; k < P; ++k) {
        const std::int64_t i = k < count ? index[k] : -1;
        bias[k] = panel_offset_ + (i < 0 ? 0.0f : row_bias_[i]);
    }
    pack_panel(
        [&](std::int64_t k) { return index[k] < 0 ? nullptr : row(index[k]); }, pairs_, count, micro, panel);
}

}  // namespace kdsl
