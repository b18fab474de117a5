// The factor that Newton steps have in common.
//
// Solves   U'U = Q_FF + H, H the curvatures of the pieces, F the coordinates that are free now and some that were.
// Given    the factor of an earlier step.
// How      F changes by a few coordinates from one step to the next. Those that are free no more stay in the factor, to
//          be held where they are; those that have become free are appended. Where they are many, another factor is
//          quicker: cholesky.hpp in the precision of the Gram matrix, with a ridge that its rounding asks for.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "cholesky.hpp"
#include "work.hpp"

namespace kdsl {

// A coordinate of the problem inside a piece of h, and the curvature of that.
struct Inside {
    std::int64_t k;
    double curvature;
};
// Of the coordinates of a factor those that are free no more, and those that it lacks.
struct Difference {
    std::int64_t held, lacking;
};

// What Newton steps have been worth.
struct NewtonRecord {
    Newtons made;
    double patience = 0;  // how many times as long as the last step pairs are to take before there is another,
    double cost = 0;      // the nanoseconds of the last,
    double since = 0;     // what pairs have taken since then,
    double at_last = std::numeric_limits<double>::infinity();  // and m - M before it

    // More patience where this one ended early, or m - M has not halved since the last.
    void tried(bool whole, double gap, double nanoseconds) {
        constexpr double kMost = 2;
        patience = whole && gap < 0.5 * at_last ? 0 : std::clamp(2 * patience, 1.0, kMost);
        cost = nanoseconds;
        since = 0;
        at_last = gap;
    }
};

template <class T>
class StandingFactor {
public:
    explicit StandingFactor(const Micro& micro) : micro_(micro) {}

    NewtonRecord record;
    // Those made since the last call.
    Newtons take_made() { return std::exchange(record.made, {}); }

    Difference difference(const std::vector<Inside>& free) const;
    // Whether there is room for as many more.
    bool has_room(std::int64_t lacking) const { return factor_ != nullptr && size() + lacking <= room_; }

    // Nothing is kept, or not even the memory.
    void forget();
    void release();
    // The numbers of Q + H over the coordinates, in this order, are to be filled in: the upper triangle, rows stride()
    // apart. Then factorise().
    T* start(const std::vector<Inside>& order);
    std::int64_t stride() const { return stride_; }
    void factorise(Pool& pool);
    // Further coordinates: their columns of Q over the coordinates of the factor, and Q + H among them.
    void append(const std::vector<Inside>& more, std::vector<double> columns, std::vector<double> corner, Pool& pool);

    std::int64_t size() const { return std::int64_t(in_.size()); }
    const Cholesky<T>& factor() const { return *factor_; }
    // What is added to the diagonal, and the largest number there; what is larger asks for another factor.
    double ridge() const { return ridge_; }
    double largest() const { return largest_; }
    // The coordinates, in order.
    const std::vector<Inside>& coordinates() const { return in_; }
    // The place of one, -1 where it is not there with this curvature.
    std::int64_t place(const Inside& one) const {
        const std::int64_t at = one.k < std::int64_t(place_.size()) ? place_[one.k] : -1;
        return at >= 0 && in_[at].curvature == one.curvature ? at : -1;
    }

private:
    void remember(const std::vector<Inside>& more);

    const Micro& micro_;
    std::vector<Inside> in_;
    std::vector<std::int64_t> place_;  // of each coordinate of the problem, -1; up to the largest that was ever there
    std::int64_t room_ = 0, stride_ = 0, numbers_ = 0;
    double ridge_ = 0, largest_ = 0;
    Aligned<T> matrix_;
    std::unique_ptr<Cholesky<T>> factor_;
};

}  // namespace kdsl
