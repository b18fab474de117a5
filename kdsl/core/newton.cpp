// A Cholesky factorisation and a Schur complement; see newton.hpp.
#include "newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kdsl {

namespace {

using Int = std::int64_t;

// What is left of a condition beside others that it depends on, in the precision of the factor.
template <class T>
constexpr double kDoubled = 16 * double(std::numeric_limits<T>::epsilon());

constexpr Int kUnit = 8;  // conditions for which there is room at a time

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
      room_(0),
      rows_(std::move(rows)),
      factor_(factor),
      micro_(micro),
      pool_(pool) {
    std::vector<double> columns = rows_;  // and -g: U is passed once for all of them
    for (const double g : gradient) columns.push_back(-g);
    factor_.forward(columns.data(), std::vector<Int>(r + 1, 0), pool);
    half_gradient_.assign(columns.end() - n_, columns.end());
    if (r > 0) condition(columns, std::vector<Int>(r, 0));
    at_.assign(r, 0.0);
}

template <class T>
void NewtonSystem<T>::pin(const std::vector<Int>& which, const std::vector<double>& at) {
    std::vector<double> columns(which.size() * std::size_t(n_), 0.0);
    for (std::size_t c = 0; c < which.size(); ++c) columns[Int(c) * n_ + which[c]] = 1;
    factor_.forward(columns.data(), which, pool_);
    condition(columns, which);
    pinned_.insert(pinned_.end(), which.begin(), which.end());
    at_.insert(at_.end(), at.begin(), at.end());
}

// Further conditions on d: U'^-1 of the columns of as many, whose numbers before the `first` of each are 0.
template <class T>
void NewtonSystem<T>::condition(const std::vector<double>& columns, const std::vector<Int>& first) {
    const Int before = conditions_, count = Int(first.size()), all = before + count;
    make_room(all);
    for (Int i = 0; i < n_; ++i)
        for (Int c = 0; c < count; ++c) half_[i * room_ + before + c] = columns[c * n_ + i];
    pool_.run(count, [&](Int c, int) {
        for (Int i = first[c]; i < n_; i += 4) {
            const double* rows[4];
            double by[4] = {};
            for (Int k = 0; k < 4; ++k) rows[k] = &half_[std::min(i + k, n_ - 1) * room_];
            for (Int k = 0; k < std::min<Int>(4, n_ - i); ++k) by[k] = columns[c * n_ + i + k];
            micro_.combine<double>()(&products_[(before + c) * room_], rows, by, all);
        }
    });
    for (Int a = 0; a < before; ++a)
        for (Int b = before; b < all; ++b) products_[a * room_ + b] = products_[b * room_ + a];
    conditions_ = all;
}

// Room for so many conditions, the numbers that are there at their new places, all others 0.
template <class T>
void NewtonSystem<T>::make_room(Int conditions) {
    if (conditions <= room_) return;
    const Int room = (std::max(conditions, 2 * room_) + kUnit - 1) / kUnit * kUnit;
    const auto wider = [&](const std::vector<double>& from, Int rows, Int all_rows) {
        std::vector<double> to(std::size_t(all_rows * room), 0.0);
        for (Int i = 0; i < rows; ++i) std::copy_n(from.data() + i * room_, conditions_, &to[i * room]);
        return to;
    };
    half_ = wider(half_, n_, n_);
    products_ = wider(products_, conditions_, room);
    room_ = room;
}

template <class T>
bool NewtonSystem<T>::direction(std::vector<double>& d, std::vector<double>& multipliers) const {
    d = half_gradient_;
    std::vector<double> lack(conditions_, 0.0);
    for (Int i = 0; i < n_; ++i)
        for (Int c = 0; c < conditions_; ++c) lack[c] += half_[i * room_ + c] * d[i];
    for (Int c = 0; c < conditions_; ++c) lack[c] -= at_[c];
    const auto dot = micro_.dot<double>();
    std::vector<double> products(std::size_t(conditions_ * conditions_));
    for (Int c = 0; c < conditions_; ++c)
        std::copy_n(products_.data() + c * room_, conditions_, products.data() + c * conditions_);
    const std::vector<double> by = small_solve(std::move(products), lack, conditions_, kDoubled<T>);
    multipliers.assign(by.begin(), by.begin() + r_);
    for (Int i = 0; i < n_; ++i) d[i] -= dot(half_.data() + i * room_, by.data(), conditions_);
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
