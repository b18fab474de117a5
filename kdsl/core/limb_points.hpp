// Points whose features are integers of 24 bits, in parts of 8 bits that a matrix unit multiplies.
//
// Each point has a step of its own, of which its features are multiples: they lose no more than they would in single
// precision, and inner products less, since they are sums of integers (micro_tiles.hpp). For kernels of an inner
// product; panels and rows as in points.hpp.
#pragma once

#include <vector>

#include "points.hpp"

namespace kdsl {

class LimbPoints {
public:
    LimbPoints(const KernelSpec& kernel, const PointSource& source, const Micro& micro, Pool* pool = nullptr);

    // Whether this is the quicker way to single precision, on this processor.
    static bool serve(const KernelSpec& kernel, const PointSource& source, const Micro& micro);
    // The Limbs of a point with so many features.
    static std::int64_t length(std::int64_t features) {
        constexpr std::int64_t together = 4 * kTileRow;
        return (features + together - 1) / together * kTileRow * kParts;
    }
    // What there is of a point beside its parts, as a row; `size` becomes its sum with itself.
    template <class From>
    static Scaled split(const KernelSpec& kernel, const From* x, const double* centre, std::int64_t features,
                        const Micro& micro, Limbs* to, double& size);
    // The same as a column, from that as a row; and of no point.
    static Scaled column(const KernelSpec& kernel, Scaled row);
    static Scaled nothing(const KernelSpec& kernel) { return column(kernel, {0, 0}); }

    std::int64_t features() const { return length_; }
    std::int64_t count() const { return count_; }
    bool sparse() const { return false; }
    // As Points<float>::largest.
    double largest() const { return largest_; }

    // As Points<float>::pack.
    void pack(const std::int64_t* index, std::int64_t count, const Micro& micro, Limbs* panel, Scaled* bias) const;

    const Limbs* row(std::int64_t i) const { return limbs_.get() + i * length_; }
    Scaled row_bias(std::int64_t i) const { return row_bias_[i]; }
    const Scaled* row_biases() const { return row_bias_.data(); }

private:
    KernelSpec kernel_;
    std::int64_t count_, length_;
    double largest_ = 0;
    Aligned<Limbs> limbs_;  // with room for tiles that begin at the last point
    std::vector<Scaled> row_bias_;
};

template <>
struct PointsIn<Limbs> {
    using type = LimbPoints;
};

}  // namespace kdsl
