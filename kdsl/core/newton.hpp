// The Newton direction on the coordinates that are free to move both ways.
//
// Solves   min over d of  g'd + 1/2 d'(Q_FF + H)d   subject to  rows'd = 0 and d_k = a_k for those k that are pinned,
//          F the coordinates inside a piece of h, H the curvatures of their pieces.
// Returns  d. Along it the step never raises the objective: a primal active-set method, globalised by that step
//          (Bertsekas 1982; for support vector machines Scheinberg, JMLR 2006).
// How      a factor of Q_FF + H (standing_factor.hpp); rows and pins by their Schur complement, so that one factor
//          serves however many are pinned. The vectors U'^-1 e_k of pins k begin with k zeros: those that may have to be
//          pinned are best numbered last.
#pragma once

#include <cstdint>
#include <vector>

#include "cholesky.hpp"

namespace kdsl {

// T is the precision of the factor.
template <class T>
class NewtonSystem {
public:
    // The factor, of size n, must outlive this object. rows: r columns of n numbers.
    NewtonSystem(const Cholesky<T>& factor, std::vector<double> rows, std::int64_t r, std::vector<double> gradient,
                 const Micro& micro, Pool& pool);

    // d_k = at[k] for each k of `which`, none of them pinned before.
    void pin(const std::vector<std::int64_t>& which, const std::vector<double>& at);
    // Whether the pins leave the rows possible; d is then that direction, with rows'd = 0 to rounding in double precision.
    // With the rows' multipliers m, g + (Q_FF + H)d + rows m is 0 at those that are not pinned.
    bool direction(std::vector<double>& d, std::vector<double>& multipliers) const;

private:
    void condition(const std::vector<double>& columns, const std::vector<std::int64_t>& first);
    void make_room(std::int64_t conditions);

    std::int64_t n_, r_, conditions_, room_;
    std::vector<double> rows_;      // r columns of n numbers
    std::vector<double> half_;      // U'^-1 of the conditions' columns: n rows, with room for room_ numbers each,
    std::vector<double> products_;  // their products with one another: as many rows as there is room for,
    std::vector<double> half_gradient_;  // and the same of -g
    std::vector<std::int64_t> pinned_;
    std::vector<double> at_;        // what each condition is to be: 0 for the rows
    const Cholesky<T>& factor_;
    const Micro& micro_;
    Pool& pool_;
};

}  // namespace kdsl
