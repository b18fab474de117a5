// One stage of a solve: move t until m - M is about `eps`, with the gradient kept roughly in step.
#pragma once

#include <memory>

#include "dense.hpp"
#include "problem.hpp"

namespace kdsl {

// The precision of the gradient and of the blocks of Q inside a stage.
enum class Precision { single, mixed, both_double };

struct StageResult {
    bool unbounded = false;
    bool moved = false;
    Direction ray;
    std::int64_t outer = 0;
    double entries = 0;
};

class Stage {
public:
    virtual ~Stage() = default;
    // Moves t; `f` is the gradient at the start in double precision, and at the end as well as `precision` keeps it.
    virtual StageResult run(std::vector<double>& t, std::vector<double>& f, double eps, Precision precision) = 0;
};

// The Gram matrix of all coordinates is stored.
std::unique_ptr<Stage> full_stage(const Problem& problem, const Options& options, const Micro& micro, Pool& pool,
                                  Control& control, Exchange* exchange);

// The blocks of Q of one working set after another are computed and forgotten.
std::unique_ptr<Stage> working_set_stage(const Problem& problem, const Options& options, const Micro& micro,
                                         Pool& pool, Control& control, Exchange* exchange);

}  // namespace kdsl
