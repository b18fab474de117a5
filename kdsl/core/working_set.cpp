// The stage for problems whose Gram matrix is too large to store; see stages.hpp.
//
// Solves   the Problem to m - M <= eps with memory for the block of Q of one working set.
// How      Joachims' decomposition (1999) with large working sets and nothing cached: the block of the working set is
//          computed, dense.hpp solves on it, and the gradient of all active coordinates is updated by rows of Q that
//          are computed and forgotten. A coordinate that violates with no other, either way, is dropped (shrinking)
//          and its gradient caught up at the end. Half of a set is kept from the last, its free coordinates first.
//          Where a duality gap is asked for, the stage ends as soon as its own gradient shows that it is reached.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "measure.hpp"
#include "stages.hpp"

namespace kdsl {

namespace {

constexpr double kKeep = 0.5;          // of a working set kept from the last one
constexpr double kInner = 0.1;         // of the gap is where the inner solver stops
constexpr std::int64_t kSettled = 50;  // free coordinates to each by which their number may change from round to round
constexpr std::int64_t kSteps = 20;    // inner steps for each coordinate of a working set, at most
constexpr int kShrinkEvery = 4;        // outer iterations
constexpr double kAgain = 0.01;         // of the gap at which coordinates were dropped is where all are looked at again
constexpr std::int64_t kFewClasses = 64;
constexpr std::int64_t kOuter = 5000;  // working sets, at most, before the gradient is computed afresh
constexpr std::int64_t kLargest = 3072;  // coordinates in a working set that is to hold all free ones
constexpr std::int64_t kLarge = 2048;    // coordinates in one that cannot
constexpr std::int64_t kMost = 6144;     // in one that holds all free ones for Newton steps to end with, after as many
constexpr double kPatience = 120;        // smaller sets as take about the time of a factorisation (at most so many)
constexpr double kClose = 0.5;          // of the tolerance is where a stage ends by its own gradient
constexpr std::int64_t kMany = 3000;   // coordinates, from which working sets are larger

class WorkingSetStage final : public Stage {
public:
    WorkingSetStage(const Problem& problem, const Options& options, const Micro& micro, Pool& pool, Control& control,
                    Exchange* exchange)
        : problem_(problem),
          options_(options),
          micro_(micro),
          pool_(pool),
          control_(control),
          exchange_(exchange),
          n_(problem.size()),
          rise_(problem.classes.size()),
          fall_(problem.classes.size()),
          below_(n_),
          above_(n_),
          chosen_(n_, 0),
          age_(n_, 0),
          class_of_(n_) {
        const std::int64_t most = std::max<std::int64_t>(std::int64_t(std::sqrt(options.memory / 16)), 64);
        q_ = options.working_set > 0 ? options.working_set : n_ < kMany ? 512 : 1024;
        q_ = std::max<std::int64_t>(2, std::min({q_, n_, most}));
        largest_ = options.working_set > 0 ? q_ : std::max(q_, std::min({kLargest, n_, most}));
        most_ = options.working_set > 0 ? q_ : std::max(q_, std::min({kMost, n_, most}));
        for (std::int64_t c = 0; c < problem.classes.size(); ++c)
            std::fill(class_of_.begin() + problem.classes.begin[c], class_of_.begin() + problem.classes.begin[c + 1],
                      c);
    }

    StageResult run(std::vector<double>& t, std::vector<double>& f, double eps, Precision precision) override {
        StageResult out;
        active_.resize(n_);
        std::iota(active_.begin(), active_.end(), 0);
        for (std::int64_t k = 0; k < n_; ++k) refresh_sides(k, t[k]);
        const std::int64_t before = control_.iterations;
        std::vector<double> reference;  // t to which the gradient of dropped coordinates belongs
        int since_shrunk = 0, stuck = 0;
        previous_.clear();
        look_ = kInfinity;
        for (;; ++out.outer) {
            control_.check();
            const double gap = extremes(f);
            control_.gap = gap;
            const bool done = !(gap > eps) || stuck > 1 || out.outer >= kOuter || is_close(t, f, gap);
            if (done && std::int64_t(active_.size()) == n_) break;
            const bool fell = std::int64_t(active_.size()) < n_ && gap < kAgain * shrunk_at_;
            if (done || fell) {
                catch_up(t, f, reference, precision, out);
                since_shrunk = done ? -2 * kShrinkEvery : kShrinkEvery;
                stuck = 0;
                continue;
            }
            if (++since_shrunk >= kShrinkEvery) {
                since_shrunk = 0;
                if (std::int64_t(active_.size()) == n_) shrunk_at_ = gap;
                shrink(t, f, reference, precision, out);
            }
            grow();
            const Indices set = choose(f);
            const double inner = std::max(0.5 * eps, kInner * gap);
            const double goal = settled_ ? 0.5 * eps : inner;
            DenseResult result = precision == Precision::single ? descend<float, float>(set, t, f, inner, goal, out)
                                 : precision == Precision::mixed ? descend<double, float>(set, t, f, inner, goal, out)
                                                                 : descend<double, double>(set, t, f, inner, goal, out);
            if (result.end == DenseEnd::unbounded && precision == Precision::both_double) {
                out.unbounded = true;
                out.ray = std::move(result.ray);
                return out;
            }
            stuck = update(set, t, f, precision, out) ? 0 : stuck + 1;
            previous_ = set;
        }
        out.moved = control_.iterations > before;
        return out;
    }

private:
    void refresh_sides(std::int64_t k, double t) {
        const Separable::Sides sides = problem_.h.sides(k, t);
        below_[k] = sides.below;
        above_[k] = sides.above;
    }

    // The best riser and faller of each class among the active; m - M; and what a coordinate must pass to be a
    // candidate (`up_`, `down_`).
    double extremes(const std::vector<double>& f) {
        const Classes& classes = problem_.classes;
        const std::int64_t m = classes.size();
        std::fill(rise_.begin(), rise_.end(), kInfinity);
        std::fill(fall_.begin(), fall_.end(), -kInfinity);
        riser_.assign(m, -1);
        faller_.assign(m, -1);
        for (const std::int64_t k : active_) {
            const std::int64_t c = class_of_[k];
            const double up = f[k] + above_[k], down = f[k] + below_[k];
            if (up < rise_[c]) rise_[c] = up, riser_[c] = k;
            if (down > fall_[c]) fall_[c] = down, faller_[c] = k;
        }
        double gap = -kInfinity;
        up_ = fall_;
        down_ = rise_;
        const double v = exchange_ == nullptr ? 0.0 : exchange_->solve(rise_, fall_);
        for (std::int64_t c = 0; c < m; ++c) {
            if (classes.is_free(c)) up_[c] = down_[c] = 0.0;
            gap = std::max(gap, classes.is_free(c) ? std::max(-rise_[c], fall_[c]) : fall_[c] - rise_[c]);
            if (exchange_ != nullptr && !classes.is_free(c)) {
                up_[c] = std::max(up_[c], exchange_->multiplier(c) + v);
                down_[c] = std::min(down_[c], exchange_->multiplier(c) - v);
            }
        }
        return std::max(gap, 2 * v);
    }

    // Whether the duality gap is within the tolerance, by the gradient as it is kept; looked at only when m - M has
    // fallen as far as the last look left to go.
    bool is_close(const std::vector<double>& t, const std::vector<double>& f, double gap) {
        if (options_.kkt_tolerance >= 0 || gap > look_) return false;
        const Classes& classes = problem_.classes;
        double sum = 0, beyond = 0, value = problem_.constant;
        for (const std::int64_t k : active_) {
            const std::int64_t c = class_of_[k];
            const double multiplier = classes.is_free(c)      ? 0.0
                                      : exchange_ != nullptr ? exchange_->multiplier(c)
                                                             : between(rise_[c], fall_[c]);
            const Young young = fenchel_young(problem_.h, k, t[k], multiplier - f[k]);
            sum += young.gap;
            beyond = std::max(beyond, young.beyond);
        }
        for (std::int64_t k = 0; k < n_; ++k) value += 0.5 * t[k] * f[k] + problem_.h.at(k, t[k]);
        const double asked = kClose * options_.tolerance;
        const double excess = std::max(sum / std::max(1.0, std::abs(value)), beyond) / asked;
        look_ = gap * std::clamp(std::sqrt(1 / excess), 0.1, 0.8);
        return excess <= 1;
    }

    // A working set that holds all free coordinates needs far fewer rounds.
    void grow() {
        std::int64_t free = 0;
        for (const std::int64_t k : active_) free += above_[k] == below_[k];
        const std::int64_t all = free + free / 4;
        const double scale = double(all) / double(kMost);
        if (all > largest_ && all <= most_) crowded_ += 1 / (kPatience * scale * scale * scale);
        if (crowded_ > 1) largest_ = most_;
        settled_ = all <= largest_ && std::abs(free - free_) * kSettled <= free;
        free_ = free;
        q_ = all <= largest_ ? std::max(q_, all) : std::min(largest_, kLarge);
    }

    Indices choose(const std::vector<double>& f) {
        Indices set;
        const auto add = [&](std::int64_t k) {
            if (k >= 0 && !chosen_[k]) chosen_[k] = 1, set.push_back(k);
        };
        const Classes& classes = problem_.classes;
        if (classes.size() <= kFewClasses) {
            for (std::int64_t c = 0; c < classes.size(); ++c) add(riser_[c]), add(faller_[c]);
            keep(set);
            candidates(f, set);
        } else {
            whole_classes(set);
        }
        for (const std::int64_t k : set) chosen_[k] = 0, ++age_[k];
        std::sort(set.begin(), set.end());
        return set;
    }

    void keep(Indices& set) {
        const std::int64_t most = std::int64_t(kKeep * double(q_));
        Indices free, other;
        for (const std::int64_t k : previous_)
            if (is_active(k) && !chosen_[k]) (above_[k] == below_[k] ? free : other).push_back(k);
        const auto younger = [&](std::int64_t a, std::int64_t b) { return age_[a] < age_[b]; };
        for (Indices* list : {&free, &other}) {
            std::stable_sort(list->begin(), list->end(), younger);
            for (const std::int64_t k : *list)
                if (std::int64_t(set.size()) < most) chosen_[k] = 1, set.push_back(k);
        }
    }

    // The worst risers and fallers, as many of each, until the set is full; of equals the first.
    void candidates(const std::vector<double>& f, Indices& set) {
        for (std::size_t i = 0; i < 2; ++i) violation_[i].clear(), violator_[i].clear();
        for (const std::int64_t k : active_) {
            if (chosen_[k]) continue;
            const std::int64_t c = class_of_[k];
            const double violation[2] = {up_[c] - (f[k] + above_[k]), f[k] + below_[k] - down_[c]};
            for (std::size_t i = 0; i < 2; ++i)
                if (violation[i] > 0) violation_[i].push_back(violation[i]), violator_[i].push_back(k);
        }
        const std::int64_t room = q_ - std::int64_t(set.size());
        for (std::size_t i = 0; i < 2; ++i) {
            const std::int64_t count = std::int64_t(violator_[i].size()), some = std::min(count, room / 2);
            if (some <= 0) continue;
            double least = 0;
            std::int64_t equal = some;  // that are as bad as the last and have room
            if (some < count) {
                sorted_ = violation_[i];
                std::nth_element(sorted_.begin(), sorted_.begin() + some - 1, sorted_.end(), std::greater<>());
                least = sorted_[some - 1];
                for (const double v : violation_[i]) equal -= v > least;
            }
            for (std::int64_t j = 0; j < count; ++j) {
                const std::int64_t k = violator_[i][j];
                if (violation_[i][j] < least || (violation_[i][j] == least && --equal < 0) || chosen_[k]) continue;
                chosen_[k] = 1, age_[k] = 0, set.push_back(k);
            }
        }
    }

    // With many classes, as with simplex rows: the worst classes, each whole.
    void whole_classes(Indices& set) {
        const Classes& classes = problem_.classes;
        std::vector<std::pair<double, std::int64_t>> order;
        for (std::int64_t c = 0; c < classes.size(); ++c) {
            const double gap = classes.is_free(c) ? std::max(-rise_[c], fall_[c]) : up_[c] - down_[c];
            if (gap > 0) order.emplace_back(-gap, c);
        }
        std::sort(order.begin(), order.end());
        for (const auto& [gap, c] : order) {
            const std::int64_t size = classes.begin[c + 1] - classes.begin[c];
            if (!set.empty() && std::int64_t(set.size()) + size > q_) break;
            for (std::int64_t k = classes.begin[c]; k < classes.begin[c + 1]; ++k)
                if (!chosen_[k]) chosen_[k] = 1, set.push_back(k);
        }
    }

    template <class T, class K>
    DenseResult descend(const Indices& set, std::vector<double>& t, const std::vector<double>& f, double eps,
                        double goal, StageResult& out) {
        const std::int64_t size = std::int64_t(set.size()), stride = (size + 31) / 32 * 32;
        before_.resize(set.size());
        for (std::int64_t i = 0; i < size; ++i) before_[i] = t[set[i]];
        Aligned<K>& gram = room(K());
        if (size * stride > room_[sizeof(K) == 8]) {  // at once for the largest set there can be: pages come when used
            const std::int64_t most = std::max(size * stride, largest_ * ((largest_ + 31) / 32 * 32));
            gram = aligned<K>(std::size_t(most));
            room_[sizeof(K) == 8] = most;
        }
        problem_.hessian.block(set, gram.get(), stride, pool_);
        out.entries += double(size) * double(size);
        Dense<T, K> dense(problem_.h, problem_.classes, set, gram.get(), stride, micro_, pool_, exchange_);
        return dense.run(t, f, eps, goal, kSteps * size + 1000, control_);
    }
    Aligned<float>& room(float) { return single_; }
    Aligned<double>& room(double) { return double_; }

    // Brings the gradient of the active coordinates to the new t; false if nothing moved.
    bool update(const Indices& set, const std::vector<double>& t, std::vector<double>& f, Precision precision,
                StageResult& out) {
        Indices rows;
        std::vector<double> change;
        for (std::size_t i = 0; i < set.size(); ++i) {
            if (t[set[i]] == before_[i]) continue;
            rows.push_back(set[i]);
            change.push_back(t[set[i]] - before_[i]);
            refresh_sides(set[i], t[set[i]]);
        }
        if (rows.empty()) return false;
        problem_.hessian.accumulate(rows, change, active_, precision == Precision::both_double, f.data(), pool_);
        out.entries += double(rows.size()) * double(active_.size());
        return true;
    }

    bool is_active(std::int64_t k) const { return std::binary_search(active_.begin(), active_.end(), k); }

    // f of `cols` moves from the gradient at t = `from` to that at t = `to`.
    void shift(const std::vector<double>& from, const std::vector<double>& to, const Indices& cols,
               std::vector<double>& f, Precision precision, StageResult& out) {
        Indices rows;
        std::vector<double> change;
        for (std::int64_t k = 0; k < n_; ++k)
            if (to[k] != from[k]) rows.push_back(k), change.push_back(to[k] - from[k]);
        if (rows.empty() || cols.empty()) return;
        problem_.hessian.accumulate(rows, change, cols, precision == Precision::both_double, f.data(), pool_);
        out.entries += double(rows.size()) * double(cols.size());
    }

    void shrink(const std::vector<double>& t, std::vector<double>& f, std::vector<double>& reference,
                Precision precision, StageResult& out) {
        Indices staying, leaving;
        for (const std::int64_t k : active_) {
            const std::int64_t c = class_of_[k];
            const bool idle = f[k] + above_[k] > up_[c] && f[k] + below_[k] < down_[c];
            (idle ? leaving : staying).push_back(k);
        }
        if (double(staying.size()) > 0.8 * double(active_.size()) || std::int64_t(staying.size()) < q_) return;
        if (std::int64_t(active_.size()) == n_)
            reference = t;
        else
            shift(t, reference, leaving, f, precision, out);
        active_ = std::move(staying);
    }

    void catch_up(const std::vector<double>& t, std::vector<double>& f, const std::vector<double>& reference,
                  Precision precision, StageResult& out) {
        Indices dropped;
        std::int64_t i = 0;
        for (std::int64_t k = 0; k < n_; ++k) {
            if (i < std::int64_t(active_.size()) && active_[i] == k)
                ++i;
            else
                dropped.push_back(k);
        }
        shift(reference, t, dropped, f, precision, out);
        active_.resize(n_);
        std::iota(active_.begin(), active_.end(), 0);
    }

    const Problem& problem_;
    const Options& options_;
    const Micro& micro_;
    Pool& pool_;
    Control& control_;
    Exchange* exchange_;
    std::int64_t n_, q_, largest_, most_;
    double crowded_ = 0;            // of its patience that rounds with too small a set have used up
    std::int64_t free_ = 0;         // coordinates inside a piece, among the active
    bool settled_ = false;          // the next set has room for all of them, and their number hardly changed
    double shrunk_at_ = kInfinity;  // m - M when the first of the coordinates now missing were dropped
    double look_ = kInfinity;  // m - M at which the duality gap is worth computing
    std::vector<double> rise_, fall_, up_, down_, below_, above_, before_;
    std::vector<std::int64_t> riser_, faller_;
    std::vector<char> chosen_;
    std::vector<std::int32_t> age_;
    Indices class_of_, active_, previous_;
    std::vector<double> violation_[2], sorted_;  // of risers, of fallers
    Indices violator_[2];
    Aligned<float> single_;
    Aligned<double> double_;
    std::int64_t room_[2] = {0, 0};
};

}  // namespace

std::unique_ptr<Stage> working_set_stage(const Problem& problem, const Options& options, const Micro& micro,
                                         Pool& pool, Control& control, Exchange* exchange) {
    return std::make_unique<WorkingSetStage>(problem, options, micro, pool, control, exchange);
}

}  // namespace kdsl
