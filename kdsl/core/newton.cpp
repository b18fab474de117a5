// A Cholesky factorisation and a Schur complement; see newton.hpp.
#include "newton.hpp"

#include <algorithm>
#include <limits>

namespace kdsl {

namespace {

using Int = std::int64_t;

// Of the largest diagonal entry: what rounding adds to a sum of products, and a pivot that is nothing else.
template <class T>
constexpr double kRidge = 16 * double(std::numeric_limits<T>::epsilon());
template <class T>
constexpr double kLost = 2 * double(std::numeric_limits<T>::epsilon());

double dot(const double* a, const double* b, Int n) {
    double sum = 0;
    for (Int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// z with m z = v, m symmetric positive semidefinite and small; 0 where m has lost a row.
std::vector<double> small_solve(std::vector<double> m, std::vector<double> v, Int r) {
    double largest = 0;
    for (Int i = 0; i < r; ++i) largest = std::max(largest, m[i * r + i]);
    for (Int k = 0; k < r; ++k) {
        if (!(m[k * r + k] > 1e-13 * largest)) {  // a dependent row, or one without a free coordinate
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

// a'b for matrices of r columns of n numbers.
std::vector<double> products(const std::vector<double>& a, const std::vector<double>& b, Int r, Int n) {
    std::vector<double> out(r * r);
    for (Int c = 0; c < r; ++c)
        for (Int e = 0; e < r; ++e) out[c * r + e] = dot(&a[c * n], &b[e * n], n);
    return out;
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
NewtonSystem<T>::NewtonSystem(T* matrix, Int n, Int stride, std::vector<double> rows, Int r, const Micro& micro,
                              Pool& pool)
    : n_(n), r_(r), rows_(std::move(rows)), image_(rows_), factor_(factor_of(matrix, n, stride, micro, pool)) {
    for (Int c = 0; c < r; ++c) factor_.solve(&image_[c * n]);
}

template <class T>
std::vector<double> NewtonSystem<T>::direction(const std::vector<double>& gradient,
                                               const std::vector<double>& e) const {
    std::vector<double> d(gradient.size());
    for (Int i = 0; i < n_; ++i) d[i] = -gradient[i];
    factor_.solve(d.data());
    const auto correct = [&](const std::vector<double>& along) {
        std::vector<double> lack(r_);
        for (Int c = 0; c < r_; ++c) lack[c] = dot(&rows_[c * n_], d.data(), n_) - e[c];
        const std::vector<double> by = small_solve(products(rows_, along, r_, n_), lack, r_);
        for (Int c = 0; c < r_; ++c)
            for (Int i = 0; i < n_; ++i) d[i] -= along[c * n_ + i] * by[c];
    };
    if (r_ == 0) return d;
    correct(image_);
    correct(rows_);  // what rounding left
    return d;
}

template class NewtonSystem<float>;
template class NewtonSystem<double>;

}  // namespace kdsl
