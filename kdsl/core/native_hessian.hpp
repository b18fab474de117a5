// Q[k, l] = scale_k scale_l K(point_k, point_l) for a kernel that the core evaluates itself.
#pragma once

#include "hessian.hpp"
#include "kernel_blocks.hpp"

namespace kdsl {

class NativeHessian final : public Hessian {
public:
    // `point` is -1 for a coordinate without an atom, whose row of Q is 0.
    NativeHessian(const KernelSpec& kernel, const PointSource& points, std::vector<std::int64_t> point,
                  std::vector<double> scale, const Micro& micro)
        : features_(points.features), blocks_(kernel, points, points, micro), point_(std::move(point)), scale_(std::move(scale)) {}

    std::int64_t size() const override { return std::int64_t(point_.size()); }
    bool has_single() const override { return true; }
    double entry_cost() const override { return 0.15 + 0.01 * double(features_); }
    void block(const Indices& set, float* out, std::int64_t stride, Pool& pool) override;
    void block(const Indices& set, double* out, std::int64_t stride, Pool& pool) override;
    void accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols, bool exact,
                    double* f, Pool& pool) override;

private:
    template <class T>
    void scaled_block(const Indices& set, T* out, std::int64_t stride, Pool& pool);
    Indices points_of(const Indices& set) const;

    std::int64_t features_;
    KernelBlocks blocks_;
    std::vector<std::int64_t> point_;
    std::vector<double> scale_;
};

}  // namespace kdsl
