// One stage of a solve: move t until m - M is small enough, with the gradient kept roughly in step.
#pragma once

#include <cmath>
#include <memory>

#include "dense.hpp"
#include "problem.hpp"

namespace kdsl {

// The precision of the gradient and of the blocks of Q inside a stage; `rough` is single with entries that are only
// near (Hessian::set_rough).
enum class Precision { rough, single, mixed, both_double };

// m - M to get to: eps, or what errors of `noise` in all entries of Q make of none on the way from `known`, if that is
// more. Single precision makes errors of `fine`.
struct Goal {
    double eps, noise, fine;
    const std::vector<double>* known;
};

// ||a - b||.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return std::sqrt(sum);
}

struct StageResult {
    bool unbounded = false;
    bool moved = false;
    Direction ray;
};

class Stage {
public:
    virtual ~Stage() = default;
    // Moves t; `f` is the gradient at the start in double precision, and at the end as well as `precision` keeps it. What it
    // takes is added to `work`.
    virtual StageResult run(std::vector<double>& t, std::vector<double>& f, Goal goal, Precision precision,
                            Work& work) = 0;
};

// The Gram matrix of all coordinates is stored.
std::unique_ptr<Stage> full_stage(const Problem& problem, const Options& options, const Micro& micro, Pool& pool,
                                  Control& control, Exchange* exchange);

// The blocks of Q of one working set after another are computed and forgotten.
std::unique_ptr<Stage> working_set_stage(const Problem& problem, const Options& options, const Micro& micro,
                                         Pool& pool, Control& control, Exchange* exchange);

}  // namespace kdsl
