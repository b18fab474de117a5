// The Newton direction on the coordinates that are free to move both ways.
//
// Solves   min over d of  g'd + 1/2 d'(Q_FF + H)d   subject to  the rows, F the coordinates inside a piece of h,
//          H the curvatures of their pieces.
// Returns  d, or nothing where F is empty or too large. Along d the exact step of step.hpp is taken, so the objective
//          never rises: a primal active-set method, globalised by that step (Bertsekas 1982; for support vector
//          machines Scheinberg, JMLR 2006).
// How      Cholesky of Q_FF + H with a ridge of 1e-12 of its diagonal; the rows by their Schur complement. A pivot that
//          is lost to rounding freezes its coordinate.
#pragma once

#include <cstdint>
#include <vector>

#include "micro.hpp"

namespace kdsl {

// matrix: n x n, row-major, its upper triangle read and overwritten. gradient: n. rows: n x r, row-major.
// Returns d with rows'd = 0 to rounding.
std::vector<double> newton_direction(std::vector<double>& matrix, const std::vector<double>& gradient,
                                     const std::vector<double>& rows, std::int64_t r, const Micro& micro);

}  // namespace kdsl
