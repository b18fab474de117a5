// The solve: which blocks of Q to hold, in which precision, and when to believe the answer.
//
// Solves   the Problem to the tolerance of Options, from a point that is feasible.
// Returns  an Outcome; its kkt_gap and relative_gap come from a gradient computed afresh in double precision, or are
//          the most that its errors allow (fresh_gradient.hpp).
// How      stages. Each asks for a smaller m - M, on the whole Gram matrix where it fits (full_stage.cpp), else on
//          a sequence of working sets (working_set.cpp) with rows that are kept where they are dear, in single
//          precision where that is enough. After a stage the gradient is computed afresh in double precision: what
//          single precision drifted is corrected by the next stage, as in iterative refinement, and where correction
//          no longer halves the gap the precision is raised.
#pragma once

#include "measure.hpp"
#include "problem.hpp"

namespace kdsl {

// `t` is moved in place; `known` is a product of the same Q. Exceptions of `control` other than Stopped pass through.
Outcome solve(const Problem& problem, const Options& options, std::vector<double> t, Product known,
              Control& control);

}  // namespace kdsl
