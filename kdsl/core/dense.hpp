// Sequential minimal optimisation on a block of Q.
//
// Solves   the normal form over a set of coordinates, the others held, to m - M <= eps.
// Given    the block of Q (precision K), the gradient f of the quadratic part there (precision T), and t.
// Returns  t moved; the gradient kept in step.
// How      one pass over two rows of Q updates f and finds the extremes of each class (Keerthi et al. 2001); inside
//          the worst class the partner is chosen to second order (Fan, Chen and Lin, JMLR 2005) and the step is exact
//          (step.hpp). Where rows couple the classes, a direction over several classes comes from exchange.hpp and is
//          taken when it descends half as fast again as the best pair. Where the rate at which the gap falls leaves
//          more steps than a Newton step on the free coordinates (newton_step.hpp) costs, one is taken.
#pragma once

#include <memory>

#include "aligned.hpp"
#include "classes.hpp"
#include "control.hpp"
#include "exchange.hpp"
#include "gram_block.hpp"
#include "micro.hpp"
#include "newton_step.hpp"
#include "separable.hpp"
#include "step.hpp"

namespace kdsl {

enum class DenseEnd { converged, limit, stuck, unbounded };

struct DenseResult {
    DenseEnd end;
    double gap;
    Direction ray;  // in the coordinates of the whole problem, where `unbounded`
};

template <class T, class K>
class Dense {
public:
    // `set` lists coordinates of the whole problem in increasing order; `block` is theirs and outlives this object, as
    // `standing` does, the factor of other sets' Newton steps.
    Dense(const Separable& h, const Classes& classes, const std::vector<std::int64_t>& set, GramBlock<K>& block,
          StandingFactor<K>& standing, const Micro& micro, Pool& pool, Exchange* exchange);

    // Moves t (of the whole problem) until m - M <= eps or `limit` steps; f is the gradient of the set, and `goal` the
    // m - M to which more runs like this one are to lead.
    DenseResult run(std::vector<double>& t, const std::vector<double>& f, double eps, double goal, std::int64_t limit,
                    Control& control);

    // The gradient of the set, as it was kept in step.
    void gradient(std::vector<double>& f) const;

private:
    struct Segment {
        std::int64_t begin, count, cls;
        bool free;
        Extremes<T> extremes;
    };

    void refresh_sides(std::int64_t i, double t);
    void update(std::int64_t a, double da, std::int64_t b, double db);
    void go(std::int64_t begin, std::int64_t place, double speed);
    double choose(double eps);
    double curvature();
    bool short_step(std::vector<double>& t);
    StepEnd move(std::vector<double>& t, double slope, double curvature, bool& any);
    double newton_cost(const std::vector<double>& t);
    std::int64_t window(const std::vector<double>& t);
    bool newton_pays(double left, const std::vector<double>& t);
    NewtonEnd newton(std::vector<double>& t);

    const Separable& h_;
    const std::vector<std::int64_t>& set_;
    GramBlock<K>& block_;
    std::int64_t n_;
    const Passes<T, K>& passes_;
    Exchange* exchange_;
    std::vector<Segment> segments_;
    int since_exchange_ = 0;
    std::vector<double> rise_, fall_;
    std::vector<std::int64_t> segment_of_class_;
    double step_;  // nanoseconds of one of a pair
    NewtonRecord& record_;
    NewtonStep<T, K> newton_;
    Aligned<T> f_, above_, below_, diagonal_;  // diagonal_: own_ and the curvature of h
    std::vector<Separable::Around> around_;    // the pieces of h where the coordinates are
    std::vector<double> own_;                  // about the diagonal of Q: what a partner is chosen by
    Direction direction_;  // in positions of `set`
    std::vector<std::int64_t> touched_;
    std::vector<double> moved_;
};

}  // namespace kdsl
