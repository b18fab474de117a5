// Two halves of a working set, each on a thread of its own.
//
// Solves   over each half what dense.hpp solves, the second where the first has got to.
// Given    the set, t and the gradient f of the quadratic part at the start.
// Returns  t moved, and what moved in either half.
// How      both begin at once, at the same gradient. Then the second half hears by how much the first has changed its
//          gradient and goes on: from where it is, or, where the two together would not descend, from where it began.
//          So the objective falls by what the first half does and then by what the second does, as if one had followed
//          the other.
#pragma once

#include <memory>

#include "dense.hpp"
#include "problem.hpp"

namespace kdsl {

// Coordinates that moved, by how much, and the sum of the squares of that.
struct Change {
    Indices rows;
    std::vector<double> by;
    double square = 0;
};

inline Change change_of(const Indices& set, const std::vector<double>& before, const std::vector<double>& t) {
    Change out;
    for (std::size_t i = 0; i < set.size(); ++i) {
        const double by = t[set[i]] - before[i];
        if (by == 0) continue;
        out.rows.push_back(set[i]);
        out.by.push_back(by);
        out.square += by * by;
    }
    return out;
}

template <class T, class K>
class TwinSets {
public:
    // `room` is for two blocks of half the set each; all but t and f has to outlive this object.
    TwinSets(const Problem& problem, const Indices& set, const std::vector<double>& t, const std::vector<double>& f,
             K* room, const Micro& micro, Pool& pool, Control& control);

    // Both halves, down to m - M <= eps each.
    DenseResult both(std::vector<double>& t, double eps);
    // The second half again, after it is told what moved in the first: how much of its own descent that undoes.
    double tell(const Change& first, bool exact);
    DenseResult second(std::vector<double>& t, double eps);

    // What has moved of a half.
    Change change(int half, const std::vector<double>& t) const {
        return change_of(halves_[half].set, halves_[half].before, t);
    }
    Newtons take_newtons() {
        Newtons made = halves_[0].standing->take_made();
        return made += halves_[1].standing->take_made();
    }
    double entries() { return halves_[0].block->take_computed() + halves_[1].block->take_computed(); }

private:
    struct Half {
        Indices set;
        std::vector<double> before, start, near;  // t and the gradient at the start; the gradient now
        std::unique_ptr<GramBlock<K>> block;
        std::unique_ptr<StandingFactor<K>> standing;  // of this half alone: Q is asked for nothing beyond its block
        std::unique_ptr<Dense<T, K>> dense;
    };

    DenseResult descend(Half& half, std::vector<double>& t, double eps, std::int64_t limit, Control& control);

    const Problem& problem_;
    Pool &pool_, alone_;                          // of the calling thread, of the other: pools of one
    Control& control_;
    Half halves_[2];
    std::vector<double> t_;                       // the second half's, so that the two do not write to the same lines
};

}  // namespace kdsl
