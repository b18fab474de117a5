// A Cholesky factorisation and a Schur complement; see newton.hpp.
#include "newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kdsl {

namespace {

using Int = std::int64_t;

// Of the largest diagonal entry: what rounding adds to a sum of products, and a pivot that is nothing else.
template <class T>
constexpr double kRidge = 16 * double(std::numeric_limits<T>::epsilon());
template <class T>
constexpr double kLost = 2 * double(std::numeric_limits<T>::epsilon());

// Of a row, what rounding leaves of it beside others that it depends on, and of its terms of a sum that is 0.
constexpr double kDependent = 1e-13, kNothing = 1e-12;

double dot(const double* a, const double* b, Int n) {
    double sum = 0;
    for (Int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// z with m z = v, m symmetric positive semidefinite and small; 0 where m has lost a row: of its diagonal `lost` is left.
std::vector<double> small_solve(std::vector<double> m, std::vector<double> v, Int r, double lost) {
    std::vector<double> whole(r);
    for (Int i = 0; i < r; ++i) whole[i] = m[i * r + i];
    for (Int k = 0; k < r; ++k) {
        if (!(m[k * r + k] > lost * whole[k])) {  // a dependent row, or one without a free coordinate
            for (Int j = 0; j < r; ++j) m[k * r + j] = m[j * r + k] = 0;
            m[k * r + k] = 1;
            v[k] = 0;
            continue;
        }
        for (Int i = k + 1; i < r; ++i) {
            const double factor = m[i * r + k] / m[k * r + k];
            for (Int j = k; j < r; ++j) m[i * r + j] -= factor * m[k * r + j];
            v[i] -= factor * v[k];
        }
    }
    for (Int k = r - 1; k >= 0; --k) {
        for (Int j = k + 1; j < r; ++j) v[k] -= m[k * r + j] * v[j];
        v[k] /= m[k * r + k];
    }
    return v;
}

// The factor of the matrix with a ridge on its diagonal.
template <class T>
Cholesky<T> factor_of(T* matrix, Int n, Int stride, const Micro& micro, Pool& pool) {
    double largest = double(std::numeric_limits<T>::min()) / kLost<T>;
    for (Int i = 0; i < n; ++i) largest = std::max(largest, double(matrix[i * stride + i]));
    for (Int i = 0; i < n; ++i) matrix[i * stride + i] += T(kRidge<T> * largest);
    return Cholesky<T>(matrix, n, stride, T(kLost<T> * largest), micro, pool);
}

}  // namespace

template <class T>
NewtonSystem<T>::NewtonSystem(T* matrix, Int n, Int stride, std::vector<double> rows, Int r,
                              std::vector<double> gradient, const Micro& micro, Pool& pool)
    : n_(n),
      r_(r),
      conditions_(0),
      rows_(std::move(rows)),
      half_gradient_(std::move(gradient)),
      micro_(micro),
      factor_(factor_of(matrix, n, stride, micro, pool)) {
    for (double& g : half_gradient_) g = -g;
    factor_.forward(half_gradient_.data());
    std::vector<double> half(n * r), column(n);
    for (Int c = 0; c < r; ++c) {
        std::copy_n(&rows_[c * n], n, column.begin());
        factor_.forward(column.data());
        for (Int i = 0; i < n; ++i) half[i * r + c] = column[i];
    }
    if (r > 0) append(half, 0, r);
    at_.assign(r, 0.0);
}

template <class T>
void NewtonSystem<T>::pin(const std::vector<Int>& which, const std::vector<double>& at) {
    const Int first = *std::min_element(which.begin(), which.end()), count = Int(which.size());
    std::vector<double> half((n_ - first) * count, 0.0);
    for (Int c = 0; c < count; ++c) half[(which[c] - first) * count + c] = 1;
    factor_.forward(half.data(), first, count);
    append(half, first, count);
    pinned_.insert(pinned_.end(), which.begin(), which.end());
    at_.insert(at_.end(), at.begin(), at.end());
}

// Further conditions: rows of `half` from row `first` on, the others being 0.
template <class T>
void NewtonSystem<T>::append(const std::vector<double>& half, Int first, Int count) {
    const Int before = conditions_, all = before + count;
    std::vector<double> wide(n_ * all, 0.0), products(all * all, 0.0);
    for (Int i = 0; i < n_; ++i) {
        std::copy_n(half_.data() + i * before, before, &wide[i * all]);
        if (i >= first) std::copy_n(&half[(i - first) * count], count, &wide[i * all + before]);
    }
    for (Int a = 0; a < before; ++a) std::copy_n(products_.data() + a * before, before, &products[a * all]);
    for (Int i = first; i < n_; i += 4) {
        const double* rows[4];
        for (Int k = 0; k < 4; ++k) rows[k] = &wide[std::min(i + k, n_ - 1) * all];
        for (Int a = before; a < all; ++a) {
            double by[4] = {};
            for (Int k = 0; k < std::min<Int>(4, n_ - i); ++k) by[k] = rows[k][a];
            micro_.combine<double>()(&products[a * all], rows, by, all);
        }
    }
    for (Int a = 0; a < before; ++a)
        for (Int b = before; b < all; ++b) products[a * all + b] = products[b * all + a];
    half_ = std::move(wide);
    products_ = std::move(products);
    conditions_ = all;
}

template <class T>
bool NewtonSystem<T>::direction(std::vector<double>& d) const {
    d = half_gradient_;
    std::vector<double> lack(conditions_, 0.0);
    for (Int i = 0; i < n_; ++i)
        for (Int c = 0; c < conditions_; ++c) lack[c] += half_[i * conditions_ + c] * d[i];
    for (Int c = 0; c < conditions_; ++c) lack[c] -= at_[c];
    const std::vector<double> by = small_solve(products_, lack, conditions_, kRidge<T>);
    for (Int i = 0; i < n_; ++i) d[i] -= dot(half_.data() + i * conditions_, by.data(), conditions_);
    factor_.back(d.data());
    for (std::size_t p = 0; p < pinned_.size(); ++p) d[pinned_[p]] = at_[r_ + Int(p)];
    std::vector<double> loose = rows_;  // what rounding left of the rows is for those that are not pinned
    for (Int c = 0; c < r_; ++c)
        for (const Int k : pinned_) loose[c * n_ + k] = 0;
    std::vector<double> left(r_), mutual(r_ * r_);
    for (Int c = 0; c < r_; ++c) {
        left[c] = dot(&rows_[c * n_], d.data(), n_);
        for (Int e = 0; e < r_; ++e) mutual[c * r_ + e] = dot(&loose[c * n_], &loose[e * n_], n_);
    }
    const std::vector<double> back = small_solve(mutual, left, r_, kDependent);
    for (Int c = 0; c < r_; ++c)
        for (Int i = 0; i < n_; ++i) d[i] -= loose[c * n_ + i] * back[c];
    for (Int c = 0; c < r_; ++c) {
        double size = 0;
        for (Int i = 0; i < n_; ++i) size += std::abs(rows_[c * n_ + i] * d[i]);
        if (!(std::abs(dot(&rows_[c * n_], d.data(), n_)) <= kNothing * size)) return false;
    }
    return true;
}

template class NewtonSystem<float>;
template class NewtonSystem<double>;

}  // namespace kdsl
