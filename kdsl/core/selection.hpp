// The coordinates that are worked on: those that are active, and of these the next working set.
//
// Solves   which coordinates to move together next.
// Given    the gradient f of the quadratic part, t, and how many coordinates a set has room for.
// Returns  m - M and, for each class, what a coordinate must pass to take part in a pair that descends; then the set.
// How      half of a set is kept from the last one, its free coordinates first and of these the newest; then come the
//          worst risers and as many of the worst fallers. A coordinate that violates with no other, either way, may be
//          dropped from the active ones (shrinking).
#pragma once

#include "exchange.hpp"
#include "hessian.hpp"
#include "micro.hpp"
#include "problem.hpp"

namespace kdsl {

class Selection {
public:
    Selection(const Problem& problem, const Micro& micro, Exchange* exchange);

    // All coordinates are active, none was in a set.
    void restart(const std::vector<double>& t);
    void activate_all(const std::vector<double>& t);
    // To be told of every t that moves.
    void moved(std::int64_t k, double t);

    // m - M among the active.
    double extremes(const std::vector<double>& f);
    // Up to `room` coordinates in increasing order, after extremes().
    const Indices& choose(const std::vector<double>& f, std::int64_t room);
    // Whether the last set took all the room there was, and need not have whole classes.
    bool crowded() const { return crowded_; }
    // The active coordinates from the `first` to that before the `last` take no part until they are readmitted, since
    // their gradient is not up to date; but for those of the last set, whose places there go to `kept`.
    void set_aside(std::int64_t first, std::int64_t last, Indices& kept);
    void readmit();
    // The active coordinates that may be dropped, in increasing order, and those that stay, after extremes().
    void idle(const std::vector<double>& f, Indices& leaving, Indices& staying) const;
    void keep_only(Indices staying);

    const Indices& active() const { return active_; }
    bool all_active() const { return active_.size() == above_.size(); }
    Indices dropped() const;
    // Active coordinates inside a piece.
    std::int64_t free() const { return free_; }
    std::int64_t class_of(std::int64_t k) const { return class_of_[k]; }
    double rise(std::int64_t c) const { return rise_[c]; }
    double fall(std::int64_t c) const { return fall_[c]; }

private:
    // A coordinate that takes no part for the moment, as if it were at both of its bounds, and its derivatives.
    struct Aside {
        std::int64_t k;
        double below, above;
    };
    struct Side {
        std::vector<double> violation;
        Indices who;
        std::int64_t count;
        double least = 0;  // violation that was taken the last time
    };

    void put_aside(std::int64_t k, std::vector<Aside>& list);
    void readmit(std::vector<Aside>& list);
    void add(std::int64_t k);
    void keep(std::int64_t most);
    std::int64_t taken() const { return std::int64_t(added_.size()); }
    // Not active, or set aside; or held between equal bounds.
    bool is_aside(std::int64_t k) const { return above_[k] == kInfinity && below_[k] == -kInfinity; }
    void candidates(const double* f, std::int64_t room);
    void gather(const double* f, double rising_above, double falling_above);
    void take_worst(Side& side, std::int64_t some);
    void whole_classes(const double* f, std::int64_t room);
    void worst_of_class(std::int64_t c, const double* f, std::int64_t room);
    void collect();

    const Problem& problem_;
    const Micro& micro_;
    Exchange* exchange_;
    std::vector<double> below_, above_;  // one-sided derivatives of h; infinite where a coordinate takes no part
    Indices class_of_, active_;
    std::vector<char> is_active_, chosen_;
    std::vector<std::int32_t> age_;      // sets in a row that a coordinate was in
    std::int64_t free_ = 0;
    std::vector<double> rise_, fall_, up_, down_;
    Indices riser_, faller_, set_;
    Indices added_;                      // to the next set
    std::vector<std::uint64_t> order_;
    Side sides_[2];                      // risers, fallers
    std::vector<double> crowd_;
    bool crowded_ = false;
    std::vector<Aside> aside_, held_;
};

}  // namespace kdsl
