// Q from a kernel of the core; see native_hessian.hpp.
#include "native_hessian.hpp"

#include <algorithm>

namespace kdsl {

Indices NativeHessian::points_of(const Indices& set) const {
    Indices out(set.size());
    std::transform(set.begin(), set.end(), out.begin(), [&](std::int64_t k) { return point_[k]; });
    return out;
}

template <class T>
void NativeHessian::scaled_block(const Indices& set, T* out, std::int64_t stride, Pool& pool) {
    const Indices points = points_of(set);
    blocks_.block(points, points, out, stride, pool);
    if (std::all_of(set.begin(), set.end(), [&](std::int64_t k) { return scale_[k] == 1.0; })) return;
    const std::int64_t n = std::int64_t(set.size());
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) out[i * stride + j] *= T(scale_[set[i]] * scale_[set[j]]);
}

void NativeHessian::block(const Indices& set, float* out, std::int64_t stride, Pool& pool) {
    scaled_block(set, out, stride, pool);
}

void NativeHessian::block(const Indices& set, double* out, std::int64_t stride, Pool& pool) {
    scaled_block(set, out, stride, pool);
}

void NativeHessian::accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                               bool exact, double* f, Pool& pool) {
    std::vector<double> weight(rows.size()), sum(cols.size(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) weight[i] = coefficient[i] * scale_[rows[i]];
    const Indices row_points = points_of(rows), col_points = points_of(cols);
    if (exact)
        blocks_.accumulate<double>(row_points, weight, col_points, sum.data(), pool);
    else
        blocks_.accumulate<float>(row_points, weight, col_points, sum.data(), pool);
    for (std::size_t j = 0; j < cols.size(); ++j) f[cols[j]] += scale_[cols[j]] * sum[j];
}

}  // namespace kdsl
