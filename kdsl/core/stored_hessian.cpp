// Q that is already stored; see stored_hessian.hpp.
#include "stored_hessian.hpp"

#include <algorithm>

namespace kdsl {

namespace {

// Columns that one task updates: their part of the gradient stays in the nearest cache.
constexpr std::int64_t kColumns = 2048;

template <class K, class T>
void gather(const K* gram, std::int64_t from_stride, const Indices& set, T* out, std::int64_t stride) {
    for (std::size_t i = 0; i < set.size(); ++i) {
        const K* row = gram + set[i] * from_stride;
        T* to = out + std::int64_t(i) * stride;
        for (std::size_t j = 0; j < set.size(); ++j) to[j] = T(row[set[j]]);
    }
}

}  // namespace

template <class K>
void StoredHessian<K>::block(const Indices& set, float* out, std::int64_t stride, Pool&) {
    gather(gram_, stride_, set, out, stride);
}

template <class K>
void StoredHessian<K>::block(const Indices& set, double* out, std::int64_t stride, Pool&) {
    gather(gram_, stride_, set, out, stride);
}

template <class K>
void StoredHessian<K>::accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                                  bool, double* f, Pool& pool) {
    const std::int64_t m = std::int64_t(rows.size());
    if (3 * std::int64_t(cols.size()) < n_) {
        for (const std::int64_t j : cols) {
            double sum = 0;
            for (std::int64_t i = 0; i < m; ++i) sum += coefficient[i] * double(gram_[rows[i] * stride_ + j]);
            f[j] += sum;
        }
        return;
    }
    std::vector<double> sum(n_, 0.0);
    pool.run((n_ + kColumns - 1) / kColumns, [&](std::int64_t task, int) {
        const std::int64_t first = task * kColumns, count = std::min(kColumns, n_ - first);
        for (std::int64_t i = 0; i < m; i += 4) {
            const K* from[4];
            double by[4];
            for (std::int64_t p = 0; p < 4; ++p) {
                from[p] = gram_ + rows[std::min(i + p, m - 1)] * stride_ + first;
                by[p] = i + p < m ? coefficient[i + p] : 0.0;
            }
            micro_.combine<K>()(&sum[first], from, by, count);
        }
    });
    for (const std::int64_t j : cols) f[j] += sum[j];
}

template class StoredHessian<float>;
template class StoredHessian<double>;

}  // namespace kdsl
