// A Cholesky factorisation and a Schur complement; see newton.hpp.
#include "newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dot.hpp"

namespace kdsl {

namespace {

using Int = std::int64_t;

// What is left of a condition beside others that it depends on, in the precision of the factor.
template <class T>
constexpr double kDoubled = 16 * double(std::numeric_limits<T>::epsilon());

// Of a row, what rounding leaves of it beside others that it depends on, and of its terms of a sum that is 0.
constexpr double kDependent = 1e-13, kNothing = 1e-12;

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

}  // namespace

template <class T>
NewtonSystem<T>::NewtonSystem(const Cholesky<T>& factor, std::vector<double> rows, Int r, std::vector<double> gradient,
                              const Micro& micro, Pool& pool)
    : n_(factor.size()),
      r_(r),
      conditions_(0),
      rows_(std::move(rows)),
      half_gradient_(std::move(gradient)),
      factor_(factor),
      micro_(micro),
      pool_(pool) {
    for (double& g : half_gradient_) g = -g;
    factor_.forward(half_gradient_.data(), {0}, pool);
    if (r > 0) condition(rows_, std::vector<Int>(r, 0));
    at_.assign(r, 0.0);
}

template <class T>
void NewtonSystem<T>::pin(const std::vector<Int>& which, const std::vector<double>& at) {
    std::vector<double> columns(which.size() * std::size_t(n_), 0.0);
    for (std::size_t c = 0; c < which.size(); ++c) columns[Int(c) * n_ + which[c]] = 1;
    condition(std::move(columns), which);
    pinned_.insert(pinned_.end(), which.begin(), which.end());
    at_.insert(at_.end(), at.begin(), at.end());
}

// Further conditions on d, one for each of `columns`, whose numbers before the `first` of each are 0.
template <class T>
void NewtonSystem<T>::condition(std::vector<double> columns, const std::vector<Int>& first) {
    const Int before = conditions_, count = Int(first.size()), all = before + count;
    factor_.forward(columns.data(), first, pool_);
    std::vector<double> half(n_ * all, 0.0), products(all * all, 0.0);
    for (Int i = 0; i < n_; ++i) {
        std::copy_n(half_.data() + i * before, before, &half[i * all]);
        for (Int c = 0; c < count; ++c) half[i * all + before + c] = columns[c * n_ + i];
    }
    for (Int a = 0; a < before; ++a) std::copy_n(products_.data() + a * before, before, &products[a * all]);
    pool_.run(count, [&](Int c, int) {
        for (Int i = first[c]; i < n_; i += 4) {
            const double* rows[4];
            double by[4] = {};
            for (Int k = 0; k < 4; ++k) rows[k] = &half[std::min(i + k, n_ - 1) * all];
            for (Int k = 0; k < std::min<Int>(4, n_ - i); ++k) by[k] = columns[c * n_ + i + k];
            micro_.combine<double>()(&products[(before + c) * all], rows, by, all);
        }
    });
    for (Int a = 0; a < before; ++a)
        for (Int b = before; b < all; ++b) products[a * all + b] = products[b * all + a];
    half_ = std::move(half);
    products_ = std::move(products);
    conditions_ = all;
}

template <class T>
bool NewtonSystem<T>::direction(std::vector<double>& d, std::vector<double>& multipliers) const {
    d = half_gradient_;
    std::vector<double> lack(conditions_, 0.0);
    for (Int i = 0; i < n_; ++i)
        for (Int c = 0; c < conditions_; ++c) lack[c] += half_[i * conditions_ + c] * d[i];
    for (Int c = 0; c < conditions_; ++c) lack[c] -= at_[c];
    const std::vector<double> by = small_solve(products_, lack, conditions_, kDoubled<T>);
    multipliers.assign(by.begin(), by.begin() + r_);
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
