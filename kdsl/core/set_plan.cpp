// Sizes of working sets; see set_plan.hpp.
#include "set_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sums.hpp"

namespace kdsl {

namespace {

// For each entry of a set's block: that in double precision, the factor of a Newton step with room to grow, and the block
// of the single precision before.
constexpr double kBytes = 24;
constexpr std::int64_t kMany = 3000, kVeryMany = 40000;  // coordinates, from which working sets are larger
constexpr std::int64_t kLargest = 3072;  // coordinates in a working set that is to hold all free ones
constexpr std::int64_t kLarge = 2048;    // coordinates in one that cannot
// Coordinates in one that holds all free ones after sets of kLarge did not, as many rounds of them as this times the cube
// of how much larger it is.
constexpr std::int64_t kMost = 9216;
constexpr double kPatience = 3, kPatienceDear = 63;
constexpr std::int64_t kSettled = 50;  // free coordinates to each by which their number may change from round to round
constexpr double kInner = 0.1;         // of the gap is where the inner solver stops,
constexpr double kInnerLarge = 0.14;   // sooner where a set holds more than usual of cheap entries: its pairs are dear

// Nanoseconds: entries of a block that cost less are cheap, and computed by the thread that works on them, since what
// another processor has computed has to be fetched from its cache.
constexpr double kFetched = 0.4;
// Nanoseconds: sets of dearer entries hold all free coordinates only where smaller ones get nowhere.
constexpr double kDear = 0.3;
constexpr double kProgress = 0.6;  // of m - M is what some rounds get it down to where they get somewhere
// Nanoseconds of a step inside a set, beside its passes and of these for each column.
constexpr double kStep = 100, kColumn = 0.22;
// Of the active coordinates may be brought up to date late, while no more are free than Newton steps, which want all
// threads, are quick with. A set that takes longer than that is halved, unless it is small.
constexpr double kLate = 0.3;
constexpr std::int64_t kApart = 512;
// Halves may have more coordinates together where so many steps for each do not do.
constexpr double kMore = 1.5, kStiff = 2;

}  // namespace

SetPlan::SetPlan(const Problem& problem, const Options& options, int threads)
    : n_(problem.size()),
      threads_(threads),
      entry_(problem.hessian.entry_cost()),
      coupled_(!problem.classes.decoupled),
      cheap_(entry_ < kFetched),
      dear_(entry_ > kDear && !problem.hessian.keeps_entries()) {
    const std::int64_t most = std::max<std::int64_t>(std::int64_t(std::sqrt(options.memory / kBytes)), 64);
    q_ = options.working_set > 0 ? options.working_set : n_ < kMany ? 512 : n_ < kVeryMany ? 1024 : 2048;
    usual_ = q_ = std::max<std::int64_t>(2, std::min({q_, n_, most}));
    largest_ = options.working_set > 0 || dear_ ? q_ : std::max(q_, std::min({kLargest, n_, most}));
    most_ = options.working_set > 0 ? q_ : std::max(q_, std::min({kMost, n_, most}));
}

void SetPlan::look(double gap, std::int64_t free) {
    const std::int64_t all = free + free / 4;
    const double scale = double(all) / double(kLarge);
    if (dear_ && gap < kProgress * mark_) mark_ = gap, crowded_ = 0;
    if (all > largest_ && all <= most_) crowded_ += 1 / ((dear_ ? kPatienceDear : kPatience) * scale * scale * scale);
    if (crowded_ > 1) largest_ = most_;
    fits_ = all <= largest_;
    settled_ = fits_ && std::abs(free - free_) * kSettled <= free;
    free_ = free;
    q_ = fits_ ? std::max(q_, all) : std::min(largest_, kLarge);
    apart_ = long_ && !settled_ && rest_ == 0;
    if (rest_ > 0) --rest_;
}

std::int64_t SetPlan::room() const {
    return apart_ && stiff_ && !fits_ ? std::min(std::int64_t(kMore * double(q_)), most_) : q_;
}

double SetPlan::share(std::size_t set) const {
    return cheap_ && std::int64_t(set) > usual_ ? kInnerLarge : kInner;
}

void SetPlan::worked(std::size_t set, std::int64_t steps, std::size_t rows, std::size_t active) {
    const double n = double(set);
    const double block = n * n * entry_, pairs = double(steps) * (kStep + kColumn * n);
    own_ = block + pairs;
    rows_ = double(rows);
    stiff_ = double(steps) > kStiff * n;
    long_ = threads_ > 1 && !coupled_ && std::int64_t(set) >= kApart &&
            (cheap_ ? block : 0) + pairs > kLate * rows_ * double(active) * entry_;
}

std::int64_t SetPlan::late(std::int64_t parts) const {
    if (long_ || free_ > kLarge) return 0;
    const double part = rows_ * entry_ * double(Sums::kColumns);
    return std::int64_t(std::min(own_ / part * double(threads_ - 1), kLate * double(parts)));
}

}  // namespace kdsl
