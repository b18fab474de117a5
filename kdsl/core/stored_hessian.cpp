// Q of which rows are stored; see stored_hessian.hpp.
#include "stored_hessian.hpp"

#include <algorithm>

namespace kdsl {

namespace {

// Columns that one task updates: their part of the gradient stays in the nearest cache.
constexpr std::int64_t kColumns = 2048;
// Rows that one task reads across.
constexpr std::int64_t kTile = 64;

template <class K, class T>
void gather(const K* gram, std::int64_t from_stride, const Indices& set, T* out, std::int64_t stride, Pool& pool) {
    pool.run(std::int64_t(set.size()), [&](std::int64_t i, int) {
        const K* const from = gram + set[i] * from_stride;
        T* const to = out + i * stride;
        for (std::size_t j = 0; j < set.size(); ++j) to[j] = T(from[set[j]]);
    });
}

// f[cols] += sum of coefficient[i] row[i], over rows of n numbers.
template <class K>
void add(const std::vector<const K*>& row, const std::vector<double>& coefficient, const Indices& cols,
         std::int64_t n, double* f, const Micro& micro, Pool& pool) {
    const std::int64_t m = std::int64_t(row.size()), chosen = std::int64_t(cols.size());
    const bool few = 3 * chosen < n;
    const std::int64_t width = few ? chosen : n;
    std::vector<double> sum(width, 0.0);
    pool.run((width + kColumns - 1) / kColumns, [&](std::int64_t task, int) {
        const std::int64_t first = task * kColumns, count = std::min(kColumns, width - first);
        for (std::int64_t i = 0; i < m; i += few ? 1 : 4) {
            if (few) {
                for (std::int64_t j = first; j < first + count; ++j) sum[j] += coefficient[i] * double(row[i][cols[j]]);
                continue;
            }
            const K* from[4];
            double by[4];
            for (std::int64_t p = 0; p < 4; ++p) {
                from[p] = row[std::min(i + p, m - 1)] + first;
                by[p] = i + p < m ? coefficient[i + p] : 0.0;
            }
            micro.combine<K>()(&sum[first], from, by, count);
        }
    });
    for (std::int64_t j = 0; j < chosen; ++j) f[cols[j]] += sum[few ? j : cols[j]];
}

}  // namespace

template <class K>
void StoredHessian<K>::block(const Indices& set, float* out, std::int64_t stride, Pool& pool) {
    gather(gram_, stride_, set, out, stride, pool);
}

template <class K>
void StoredHessian<K>::block(const Indices& set, double* out, std::int64_t stride, Pool& pool) {
    gather(gram_, stride_, set, out, stride, pool);
}

template <class K>
void StoredHessian<K>::accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                                  bool, double* f, Pool& pool) {
    std::vector<const K*> from;
    for (const std::int64_t k : rows) from.push_back(gram_ + k * stride_);
    add(from, coefficient, cols, n_, f, micro_, pool);
}

template <class K>
RowStore<K>::RowStore(Hessian& inner, double memory, const Micro& micro)
    : inner_(inner),
      source_(*inner.row_source()),
      micro_(micro),
      stride_((inner.size() + 31) / 32 * 32),
      most_(std::int64_t(memory / (double(sizeof(K)) * double(stride_)))),
      room_(most_),
      row_(inner.size(), nullptr) {}

// Rows of the other kind are forgotten when new ones are wanted.
template <class K>
void RowStore<K>::keep_one_kind() {
    if (rough_ == rows_are_rough_) return;
    rows_are_rough_ = rough_;
    std::fill(row_.begin(), row_.end(), nullptr);
    chunks_.clear();
    room_ = most_;
}

template <class K>
bool RowStore<K>::fetch(const Indices& which, Pool& pool) {
    Indices missing;
    for (const std::int64_t k : which)
        if (row_[k] == nullptr) missing.push_back(k);
    const std::int64_t count = std::int64_t(missing.size());
    if (count > room_) return false;
    if (count == 0) return true;
    Indices known, other;  // columns whose row is stored, and the others
    for (std::int64_t j = 0; j < size(); ++j) (row_[j] != nullptr && !source_.whole() ? known : other).push_back(j);
    chunks_.push_back(aligned<K>(std::size_t(count * stride_)));
    K* const to = chunks_.back().get();
    const std::int64_t fresh = std::int64_t(other.size());
    source_.rows(missing, other, to, stride_, pool);
    pool.run(count, [&](std::int64_t i, int) {  // from the first places of the row to where they belong
        for (std::int64_t j = fresh; j-- > 0;) to[i * stride_ + other[j]] = to[i * stride_ + j];
    });
    const std::int64_t old = std::int64_t(known.size());
    pool.run((old + kTile - 1) / kTile, [&](std::int64_t task, int) {
        const std::int64_t first = task * kTile, last = std::min(first + kTile, old);
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t j = first; j < last; ++j) to[i * stride_ + known[j]] = row_[known[j]][missing[i]];
    });
    for (std::int64_t i = 0; i < count; ++i) row_[missing[i]] = to + i * stride_;
    room_ -= count;
    computed_ += double(count) * double(fresh);
    return true;
}

template <class K>
template <class T>
void RowStore<K>::any_block(const Indices& set, T* out, std::int64_t stride, Pool& pool) {
    if (sizeof(T) > sizeof(K)) {
        computed_ += double(set.size()) * double(set.size());
        return inner_.block(set, out, stride, pool);
    }
    keep_one_kind();
    if (source_.whole()) fetch(set, pool);
    Indices kept, fresh, other;  // places in the set of what is stored and of what is not, and the latter's coordinates
    for (std::size_t i = 0; i < set.size(); ++i) {
        const bool stored = row_[set[i]] != nullptr;
        (stored ? kept : fresh).push_back(std::int64_t(i));
        if (!stored) other.push_back(set[i]);
    }
    const std::int64_t n = std::int64_t(other.size());
    computed_ += double(n) * double(n);
    if (kept.empty()) return inner_.block(set, out, stride, pool);
    const Aligned<T> rest = aligned<T>(std::size_t(n * n));
    if (n > 0) inner_.block(other, rest.get(), n, pool);
    pool.run(std::int64_t(set.size()), [&](std::int64_t i, int) {
        T* const to = out + i * stride;
        if (const K* const from = row_[set[i]])
            for (std::size_t j = 0; j < set.size(); ++j) to[j] = T(from[set[j]]);
        else
            for (const std::int64_t j : kept) to[j] = T(row_[set[j]][set[i]]);
    });
    pool.run(n, [&](std::int64_t i, int) {
        for (std::int64_t j = 0; j < n; ++j) out[fresh[i] * stride + fresh[j]] = rest[i * n + j];
    });
}

template <class K>
void RowStore<K>::block(const Indices& set, float* out, std::int64_t stride, Pool& pool) {
    any_block(set, out, stride, pool);
}

template <class K>
void RowStore<K>::block(const Indices& set, double* out, std::int64_t stride, Pool& pool) {
    any_block(set, out, stride, pool);
}

// New rows are worth their whole length only where most of it is asked for.
template <class K>
void RowStore<K>::accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                             bool exact, double* f, Pool& pool) {
    const bool fine = rough_ == rows_are_rough_ && (!exact || sizeof(K) == sizeof(double));
    const bool long_enough = 2 * std::int64_t(cols.size()) > size() || source_.whole();
    if (fine && long_enough) fetch(rows, pool);
    std::vector<const K*> from;
    std::vector<double> by, other_by;
    Indices other;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (fine && row_[rows[i]] != nullptr)
            from.push_back(row_[rows[i]]), by.push_back(coefficient[i]);
        else
            other.push_back(rows[i]), other_by.push_back(coefficient[i]);
    }
    if (!from.empty()) add(from, by, cols, size(), f, micro_, pool);
    if (other.empty()) return;
    inner_.accumulate(other, other_by, cols, exact, f, pool);
    computed_ += double(other.size()) * double(cols.size());
}

template class StoredHessian<float>;
template class StoredHessian<double>;
template class RowStore<float>;
template class RowStore<double>;

}  // namespace kdsl
