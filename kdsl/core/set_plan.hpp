// How large the next working set is, how far it is worked on, and by whom.
//
// Given    what a kernel value costs, how many coordinates are free, and how the last sets went.
// How      by counts and by what steps and kernel values usually take, never by a clock: the same input gives the same
//          bits. A set that holds all free coordinates needs far fewer rounds, and where sets that cannot hold them get
//          nowhere for long, one as large as that is taken, for Newton steps to end with. Sets whose pairs take long are
//          worked on in two halves at once (twin_sets.hpp); others leave threads to spare, which may bring a part of the
//          gradient up to date late (late_update.hpp).
#pragma once

#include "problem.hpp"

namespace kdsl {

class SetPlan {
public:
    SetPlan(const Problem& problem, const Options& options, int threads);

    // A stage begins.
    void restart() { mark_ = kInfinity; }
    // m - M and the number of free coordinates, before each set.
    void look(double gap, std::int64_t free);
    // Coordinates for which the next set has room,
    std::int64_t room() const;
    // and how many the largest has had or will have, as long as free coordinates do not crowd it.
    std::int64_t largest() const { return largest_; }
    // Whether the next set is to be solved in two halves at once.
    bool apart() const { return apart_; }
    // Sets have room for all free coordinates,
    bool fits() const { return fits_; }
    // and their number hardly changed.
    bool settled() const { return settled_; }
    // Of m - M is what a set of so many is to get to.
    double share(std::size_t set) const;
    // Whether a block of so many is best computed by the thread that works on it.
    bool by_itself(std::size_t set) const { return cheap_ && std::int64_t(set) <= usual_; }

    // A set was worked on, in so many steps, and so many of its rows, of `active` columns each, changed the gradient.
    void worked(std::size_t set, std::int64_t steps, std::size_t rows, std::size_t active);
    // Of what the second of two halves did, the first had done so much as well.
    void undone(double part) { rest_ = part < kUndone ? 0 : kRest; }
    // So many of all parts of the sums over the last set's rows may be taken by others during the next set; 0 where
    // they will have no time.
    std::int64_t late(std::int64_t parts) const;

private:
    static constexpr double kUndone = 0.4;
    static constexpr int kRest = 4;  // sets

    std::int64_t n_;
    int threads_;
    double entry_;                 // nanoseconds of a kernel value
    bool coupled_;                 // by rows that halves do not keep one by one
    bool cheap_;                   // entries of blocks,
    bool dear_;                    // or of large ones
    std::int64_t q_, usual_, largest_, most_;
    double mark_ = kInfinity;      // m - M when it had fallen last to a part of itself
    double crowded_ = 0;           // of the patience that rounds with too small a set have used up
    std::int64_t free_ = 0;        // coordinates inside a piece, among the active
    bool fits_ = true, settled_ = false, apart_ = false;
    bool long_ = false;            // the last set took longer than what can be late of its sums,
    bool stiff_ = false;           // or many steps for each coordinate
    int rest_ = 0;                 // sets that are not to be halved
    double own_ = 0, rows_ = 0;    // nanoseconds of the last set, and the rows that followed
};

}  // namespace kdsl
