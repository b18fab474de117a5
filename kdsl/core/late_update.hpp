// An update of the gradient that leaves some of the columns for later.
//
// Solves   which columns wait, and what is done with them meanwhile.
// Given    the sums by which the gradient of all active coordinates changes after a working set.
// How      some parts of the sums are left, other ones each time; their coordinates are set aside (selection.hpp) and
//          the parts taken by idle threads while one thread solves on the next set. The coordinates of the last set
//          among them, which the next is to keep, have the gradient that they had at its end instead.
#pragma once

#include <memory>
#include <utility>

#include "selection.hpp"
#include "sums.hpp"

namespace kdsl {

class LateUpdate {
public:
    // The gradient of the whole problem is f; both have to outlive this object.
    explicit LateUpdate(Selection& selection) : selection_(selection) {}

    // Parts that are left.
    std::int64_t parts() const { return late_; }

    // Takes all but `late` parts of the sums, by which f changes since working on `set` left it the gradient `near`.
    void begin(std::unique_ptr<Sums> sums, std::int64_t late, const Indices& set, const std::vector<double>& near,
               std::vector<double>& f, Pool& pool) {
        sums_ = std::move(sums);
        late_ = late;
        const std::int64_t all = sums_->parts();
        turn_ %= all;
        const std::int64_t columns = std::int64_t(selection_.active().size());
        const auto column = [columns](std::int64_t part) { return std::min(part * Sums::kColumns, columns); };
        Indices kept;
        selection_.set_aside(column(turn_), column(std::min(turn_ + late_, all)), kept);
        selection_.set_aside(0, column(std::max<std::int64_t>(turn_ + late_ - all, 0)), kept);
        for (const std::int64_t i : kept) {
            ahead_.emplace_back(set[i], near[i] - f[set[i]]);
            f[set[i]] = near[i];
        }
        pool.run(all - late_, [&](std::int64_t i, int worker) { sums_->take((turn_ + late_ + i) % all, worker); });
    }

    // One of the parts that are left; several workers may at once.
    void take(std::int64_t i, int worker) { sums_->take((turn_ + i) % sums_->parts(), worker); }

    // To be called when all of them are taken.
    void end(std::vector<double>& f) {
        for (const auto& [k, by] : ahead_) f[k] -= by;
        ahead_.clear();
        turn_ += late_;
        late_ = 0;
        sums_.reset();
        selection_.readmit();
    }

private:
    Selection& selection_;
    std::unique_ptr<Sums> sums_;
    std::int64_t late_ = 0, turn_ = 0;                     // of the sums parts turn_ to turn_ + late_ - 1, around
    std::vector<std::pair<std::int64_t, double>> ahead_;  // whose gradient has more than the others', and by how much
};

}  // namespace kdsl
