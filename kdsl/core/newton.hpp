// The Newton direction on the coordinates that are free to move both ways.
//
// Solves   min over d of  g'd + 1/2 d'(Q_FF + H)d   subject to  rows'd = e, F the coordinates inside a piece of h,
//          H the curvatures of their pieces.
// Returns  d. Along it, or along what a pinned part and it make together, the step never raises the objective: a
//          primal active-set method, globalised by that step (Bertsekas 1982; for support vector machines Scheinberg,
//          JMLR 2006).
// How      cholesky.hpp in the precision of the Gram matrix, with a ridge that its rounding asks for; the rows by their
//          Schur complement.
#pragma once

#include <cstdint>
#include <vector>

#include "cholesky.hpp"

namespace kdsl {

// T is the precision of the factor.
template <class T>
class NewtonSystem {
public:
    // matrix: Q_FF + H, n x n, its rows `stride` apart, its upper triangle read and overwritten; must outlive this
    // object. rows: n x r.
    NewtonSystem(T* matrix, std::int64_t n, std::int64_t stride, std::vector<double> rows, std::int64_t r,
                 const Micro& micro, Pool& pool);

    // d for the gradient g, with rows'd = e to rounding.
    std::vector<double> direction(const std::vector<double>& gradient, const std::vector<double>& e) const;

private:
    std::int64_t n_, r_;
    std::vector<double> rows_;  // r columns of n numbers
    std::vector<double> image_;  // (Q_FF + H)^-1 rows, the same
    Cholesky<T> factor_;
};

}  // namespace kdsl
