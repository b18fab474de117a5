// Newton steps on the free coordinates of a set.
//
// Solves   min over d of the objective's quadratic model along the rows, d nothing but at the free coordinates and inside
//          their pieces of h.
// Given    the block of Q, the gradient f of the quadratic part, the derivatives of h, t, and the factor of the steps
//          before (standing_factor.hpp).
// Returns  t moved along d as far as descends, and what that adds to f.
// How      coordinates that d (newton.hpp) would carry past a break point are pinned there, again and again, while that is
//          quicker than what it spares; with more of them the step ends at the first. Where a factor that has served
//          before leaves too much of what d is to solve (many that are held, of points that nearly depend on one another),
//          there is another.
#pragma once

#include "classes.hpp"
#include "gram_block.hpp"
#include "micro.hpp"
#include "newton.hpp"
#include "separable.hpp"
#include "standing_factor.hpp"

namespace kdsl {

enum class NewtonEnd { failed, blocked, taken };

template <class T, class K>
class NewtonStep {
public:
    // All of it outlives this object.
    NewtonStep(const Separable& h, const Classes& classes, const Indices& set, GramBlock<K>& block,
               StandingFactor<K>& standing, const Micro& micro, Pool& pool)
        : h_(h), classes_(classes), set_(set), block_(block), standing_(standing), micro_(micro), pool_(pool) {}

    // Finds the free coordinates; `above` and `below` are the derivatives of h at the coordinates of the set.
    void look(const std::vector<double>& t, const T* above, const T* below);
    bool possible() const;
    bool has_factor() const { return standing_.has_room(0); }
    // Whether the factor that there is serves, after look().
    bool stands() const { return possible() && brought_ < renewed_; }
    // About how many nanoseconds a step is expected to take, and the last one took: from what it did, not by a clock.
    double cost() const;
    double spent() const { return spent_; }
    // After look(): t moves, and f is to move by `change`.
    NewtonEnd take(std::vector<double>& t, const T* f, const T* above, std::vector<double>& change);
    // The places of the free coordinates in the set.
    Indices places() const;

private:
    // A coordinate inside a piece: its place in the set, and how far it may go either way.
    struct Free {
        std::int64_t place;
        double below, above;
    };

    // d at the free coordinates and whether it stays inside their pieces; and the derivatives, with the rows' multipliers,
    // that it is to bring to 0, which are 0 where a coordinate is pinned or frozen.
    struct Way {
        std::vector<double> by, rest;
        bool inside = false;
    };

    Way direction(const T* f, const T* above);
    bool solves(const Way& way, const std::vector<double>& image) const;
    double start() const;
    double solving(std::int64_t columns, std::int64_t conditions) const;
    void renew_factor();
    void append_to_factor();
    Indices cramped_last() const;
    std::vector<double> product(const std::vector<double>& way) const;
    std::vector<double> rows_at(const Indices& at, std::int64_t& r) const;

    const Separable& h_;
    const Classes& classes_;
    const Indices& set_;
    GramBlock<K>& block_;
    StandingFactor<K>& standing_;
    const Micro& micro_;
    Pool& pool_;
    std::vector<Free> free_;
    std::vector<Inside> inside_;        // the same coordinates of the whole problem
    double renewed_ = 0, brought_ = 0;  // nanoseconds of another factor, and of bringing the one that stands to them
    double spent_ = 0;
};

}  // namespace kdsl
