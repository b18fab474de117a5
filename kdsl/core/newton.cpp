// A Cholesky factorisation and a Schur complement; see newton.hpp.
#include "newton.hpp"

#include <algorithm>
#include <cmath>

namespace kdsl {

namespace {

using Int = std::int64_t;

constexpr double kRidge = 1e-12;
constexpr double kLost = 1e-14;  // of the largest diagonal entry: a pivot below it is rounding

// U'U = matrix in place, four rows at a time.
void factorise(double* a, Int n, double largest, const Micro& micro) {
    const auto pivot = [&](Int k) {
        double& d = a[k * n + k];
        d = std::sqrt(d > kLost * largest ? d : 1e20 * std::max(largest, 1e-300));
        const double inverse = 1 / d;
        for (Int j = k + 1; j < n; ++j) a[k * n + j] *= inverse;
    };
    for (Int k = 0; k < n; k += 4) {
        const Int last = std::min(k + 4, n);
        for (Int i = k; i < last; ++i) {
            for (Int p = k; p < i; ++p)
                for (Int j = i; j < n; ++j) a[i * n + j] -= a[p * n + i] * a[p * n + j];
            pivot(i);
        }
        if (last - k < 4) break;
        for (Int i = last; i < n; ++i) {
            const double* from[4];
            double by[4];
            for (Int p = 0; p < 4; ++p) {
                from[p] = a + (k + p) * n + i;
                by[p] = -*from[p];
            }
            micro.combine_d(a + i * n + i, from, by, n - i);
        }
    }
}

// x <- (U'U)^-1 x for the r columns of x (n x r, row-major).
void solve(const double* u, Int n, double* x, Int r) {
    for (Int i = 0; i < n; ++i) {
        const double inverse = 1 / u[i * n + i];
        for (Int c = 0; c < r; ++c) x[i * r + c] *= inverse;
        for (Int j = i + 1; j < n; ++j)
            for (Int c = 0; c < r; ++c) x[j * r + c] -= u[i * n + j] * x[i * r + c];
    }
    for (Int i = n - 1; i >= 0; --i) {
        for (Int j = i + 1; j < n; ++j)
            for (Int c = 0; c < r; ++c) x[i * r + c] -= u[i * n + j] * x[j * r + c];
        const double inverse = 1 / u[i * n + i];
        for (Int c = 0; c < r; ++c) x[i * r + c] *= inverse;
    }
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

// a'b for columns of n x p and n x q matrices.
std::vector<double> product(const std::vector<double>& a, Int p, const std::vector<double>& b, Int q, Int n) {
    std::vector<double> out(p * q, 0.0);
    for (Int i = 0; i < n; ++i)
        for (Int c = 0; c < p; ++c)
            for (Int e = 0; e < q; ++e) out[c * q + e] += a[i * p + c] * b[i * q + e];
    return out;
}

}  // namespace

std::vector<double> newton_direction(std::vector<double>& matrix, const std::vector<double>& gradient,
                                     const std::vector<double>& rows, Int r, const Micro& micro) {
    const Int n = Int(gradient.size());
    double largest = 0;
    for (Int i = 0; i < n; ++i) largest = std::max(largest, matrix[i * n + i]);
    for (Int i = 0; i < n; ++i) matrix[i * n + i] += kRidge * largest;
    factorise(matrix.data(), n, largest, micro);
    std::vector<double> d(n);
    for (Int i = 0; i < n; ++i) d[i] = -gradient[i];
    solve(matrix.data(), n, d.data(), 1);
    if (r == 0) return d;
    std::vector<double> y = rows;  // (Q_FF + H)^-1 rows
    solve(matrix.data(), n, y.data(), r);
    const std::vector<double> multiplier = small_solve(product(rows, r, y, r, n), product(rows, r, d, 1, n), r);
    for (Int i = 0; i < n; ++i)
        for (Int c = 0; c < r; ++c) d[i] -= y[i * r + c] * multiplier[c];
    // What rounding left of rows'd is projected out.
    const std::vector<double> rest = small_solve(product(rows, r, rows, r, n), product(rows, r, d, 1, n), r);
    for (Int i = 0; i < n; ++i)
        for (Int c = 0; c < r; ++c) d[i] -= rows[i * r + c] * rest[c];
    return d;
}

}  // namespace kdsl
