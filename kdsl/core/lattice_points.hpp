// Points rounded to a lattice: integers of 16 bits, whose inner products are sums of exact products in 32.
//
// Where the processor multiplies and adds two such pairs in one step, an inner product costs half of one in single
// precision. It is the exact one of points that lie half a step away at most; all kernels that need no more than an
// inner product are as near (points.hpp). What is found with them is corrected by whoever asked for them.
#pragma once

#include <optional>

#include "points.hpp"

namespace kdsl {

class LatticePoints {
public:
    LatticePoints(const KernelSpec& kernel, const PointSource& source, const Extent& extent, Pool& pool);

    // Whether there is a lattice for these, on this processor: for dense points and kernels of an inner product.
    static bool serve(const KernelSpec& kernel, const PointSource& source, const Micro& micro);

    // Pairs of features, the last with 0 where their number is odd.
    std::int64_t features() const { return pairs_; }
    std::int64_t count() const { return count_; }
    bool sparse() const { return false; }
    // As Points<float>::largest.
    double largest() const { return largest_; }
    // What a product of one and one is worth in the kernel's sum.
    double unit() const { return step_ * step_; }

    // As Points<float>::pack.
    void pack(const std::int64_t* index, std::int64_t count, const Micro& micro, Pair* panel, float* bias) const;

    const Pair* row(std::int64_t i) const { return pair_.get() + i * pairs_; }
    float row_bias(std::int64_t i) const { return row_bias_[i]; }

private:
    std::int64_t count_, pairs_;
    float panel_offset_;
    double step_ = 1, largest_ = 0;
    Aligned<Pair> pair_;
    std::vector<float> row_bias_;
};

template <>
struct PointsIn<Pair> {
    using type = LatticePoints;
};

}  // namespace kdsl
