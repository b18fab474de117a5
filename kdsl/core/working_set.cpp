// The stage for problems whose Gram matrix is too large to store; see stages.hpp.
//
// Solves   the Problem to m - M <= eps with memory for the block of Q of one working set.
// How      Joachims' decomposition (1999) with large working sets and nothing cached: the block of the working set is
//          computed, dense.hpp solves on it, and the gradient of all active coordinates is updated by rows of Q that
//          are computed and forgotten; where many coordinates violate, that of a few is brought up to date by other
//          threads while this one solves on the next set, which does without them. What a set consists of, and what
//          may be dropped, selection.hpp says; the gradient of what was dropped is caught up at the end. Where a
//          duality gap is asked for, the stage ends as soon as its own gradient shows that it is reached.
#include <algorithm>
#include <cmath>

#include "late_update.hpp"
#include "measure.hpp"
#include "selection.hpp"
#include "stages.hpp"

namespace kdsl {

namespace {

constexpr double kInner = 0.1;         // of the gap is where the inner solver stops,
constexpr double kInnerLarge = 0.14;   // sooner where a set holds more than usual of cheap entries: its pairs are dear
constexpr std::int64_t kSettled = 50;  // free coordinates to each by which their number may change from round to round
constexpr std::int64_t kSteps = 20;    // inner steps for each coordinate of a working set, at most
constexpr int kShrinkEvery = 4;        // outer iterations
constexpr double kAgain = 0.01;         // of the gap at which coordinates were dropped is where all are looked at again
constexpr std::int64_t kOuter = 5000;  // working sets, at most, before the gradient is computed afresh
constexpr std::int64_t kLargest = 3072;  // coordinates in a working set that is to hold all free ones
constexpr std::int64_t kLarge = 2048;    // coordinates in one that cannot
constexpr std::int64_t kMost = 6144;     // in one that holds all free ones for Newton steps to end with, after as many
constexpr double kPatience = 170, kPatienceDear = 1700;  // smaller sets (at most so many)
constexpr double kClose = 0.5;          // of the tolerance is where a stage ends by its own gradient
constexpr double kFar = 0.3;           // of the tolerance is what a move may leave to single precision
constexpr std::int64_t kMany = 3000, kVeryMany = 40000;  // coordinates, from which working sets are larger

// Nanoseconds: entries of a block that cost less are cheap, and computed by the thread that works on them, since what
// another processor has computed has to be fetched from its cache.
constexpr double kFetched = 0.4;
// Nanoseconds: sets of dearer entries hold all free coordinates only where smaller ones get nowhere.
constexpr double kDear = 0.3;
constexpr double kProgress = 0.6;  // of m - M is what some rounds get it down to where they get somewhere
// Nanoseconds of a step inside a set, beside its passes and of these for each column.
constexpr double kStep = 100, kColumn = 0.22;
// Of the active coordinates may be brought up to date late, while no more are free than Newton steps, which want all
// threads, are quick with.
constexpr double kLate = 0.3;

bool is_single(Precision precision) { return precision == Precision::single || precision == Precision::rough; }

class WorkingSetStage final : public Stage {
public:
    WorkingSetStage(const Problem& problem, const Options& options, const Micro& micro, Pool& pool, Control& control,
                    Exchange* exchange)
        : problem_(problem),
          options_(options),
          micro_(micro),
          pool_(pool),
          alone_(1, [&control] { control.check(); }),
          control_(control),
          exchange_(exchange),
          cheap_(problem.hessian.entry_cost() < kFetched),
          dear_(problem.hessian.entry_cost() > kDear && !problem.hessian.keeps_entries()),
          patience_(dear_ ? kPatienceDear : kPatience),
          selection_(problem, micro, exchange),
          late_(selection_),
          n_(problem.size()) {
        const std::int64_t most = std::max<std::int64_t>(std::int64_t(std::sqrt(options.memory / 16)), 64);
        q_ = options.working_set > 0 ? options.working_set : n_ < kMany ? 512 : n_ < kVeryMany ? 1024 : 2048;
        usual_ = q_ = std::max<std::int64_t>(2, std::min({q_, n_, most}));
        largest_ = options.working_set > 0 || dear_ ? q_ : std::max(q_, std::min({kLargest, n_, most}));
        most_ = options.working_set > 0 ? q_ : std::max(q_, std::min({kMost, n_, most}));
    }

    StageResult run(std::vector<double>& t, std::vector<double>& f, Goal goal, Precision precision) override {
        StageResult out;
        double eps = goal.eps;
        selection_.restart(t);
        const std::int64_t before = control_.iterations;
        std::vector<double> reference;  // t to which the gradient of dropped coordinates belongs
        int since_shrunk = 0, stuck = 0;
        look_ = mark_ = kInfinity;
        const auto take_late = [this](std::int64_t i, int worker) { late_.take(i, worker); };
        for (;; ++out.outer) {
            control_.check();
            double gap = selection_.extremes(f);
            if (goal.noise > 0) eps = std::max(goal.eps, goal.noise * distance(*goal.known, t));
            const auto over = [&] { return !(gap > eps) || stuck > 1 || out.outer >= kOuter; };
            const auto deep = [&] { return !selection_.all_active() && gap < kAgain * shrunk_at_; };
            if (late_.parts() > 0 && (over() || deep() || since_shrunk + 1 >= kShrinkEvery)) {
                pool_.run(late_.parts(), take_late);
                late_.end(f);
                gap = selection_.extremes(f);
            }
            control_.gap = gap;
            const bool done = over() || (late_.parts() == 0 && is_close(t, f, gap)), fell = deep();
            if (done && selection_.all_active()) break;
            if (done || fell) {
                catch_up(t, f, reference, precision, out);
                since_shrunk = done ? -2 * kShrinkEvery : kShrinkEvery;
                stuck = 0;
                continue;
            }
            if (++since_shrunk >= kShrinkEvery) {
                since_shrunk = 0;
                if (selection_.all_active()) shrunk_at_ = gap;
                shrink(t, f, reference, precision, out);
            }
            grow(gap);
            const Indices& set = selection_.choose(f, q_);
            const double share = cheap_ && std::int64_t(set.size()) > usual_ ? kInnerLarge : kInner;
            const double inner = std::max(0.5 * eps, share * gap);
            const double end = settled_ ? 0.5 * eps : inner;
            before_.resize(set.size()), near_.resize(set.size());
            for (std::size_t i = 0; i < set.size(); ++i) before_[i] = t[set[i]], near_[i] = f[set[i]];
            DenseResult result;
            const auto work = [&] {
                result = is_single(precision) ? descend<float, float>(set, t, inner, end, out)
                         : precision == Precision::mixed ? descend<double, float>(set, t, inner, end, out)
                                                         : descend<double, double>(set, t, inner, end, out);
            };
            const std::int64_t steps = control_.iterations;
            pool_.run_beside(work, late_.parts(), take_late);
            steps_ = control_.iterations - steps;
            late_.end(f);
            if (result.end == DenseEnd::unbounded && precision == Precision::both_double) {
                out.unbounded = true;
                out.ray = std::move(result.ray);
                return out;
            }
            stuck = update(set, t, f, precision, kFar * eps / goal.fine, out) ? 0 : stuck + 1;
        }
        out.moved = control_.iterations > before;
        return out;
    }

private:
    // Whether the duality gap is within the tolerance, by the gradient as it is kept; looked at only when m - M has
    // fallen as far as the last look left to go.
    bool is_close(const std::vector<double>& t, const std::vector<double>& f, double gap) {
        if (options_.kkt_tolerance >= 0 || gap > look_) return false;
        const Classes& classes = problem_.classes;
        double sum = 0, beyond = 0, value = problem_.constant;
        for (const std::int64_t k : selection_.active()) {
            const std::int64_t c = selection_.class_of(k);
            const double multiplier = classes.is_free(c)      ? 0.0
                                      : exchange_ != nullptr ? exchange_->multiplier(c)
                                                             : between(selection_.rise(c), selection_.fall(c));
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
    void grow(double gap) {
        const std::int64_t free = selection_.free();
        const std::int64_t all = free + free / 4;
        const double scale = double(all) / double(kMost);
        if (dear_ && gap < kProgress * mark_) mark_ = gap, crowded_ = 0;
        if (all > largest_ && all <= most_) crowded_ += 1 / (patience_ * scale * scale * scale);
        if (crowded_ > 1) largest_ = most_;
        settled_ = all <= largest_ && std::abs(free - free_) * kSettled <= free;
        free_ = free;
        q_ = all <= largest_ ? std::max(q_, all) : std::min(largest_, kLarge);
    }

    template <class T, class K>
    DenseResult descend(const Indices& set, std::vector<double>& t, double eps, double goal, StageResult& out) {
        const std::int64_t size = std::int64_t(set.size());
        const std::int64_t stride = (size + 31) / 64 * 64 + 32;  // never whole pages, whose rows drive each other out
        Aligned<K>& gram = room(K());
        if (size * stride > room_[sizeof(K) == 8]) {  // at once for the largest set there can be: pages come when used
            const std::int64_t most = std::max(size * stride, largest_ * (largest_ + 63));
            gram = aligned<K>(std::size_t(most));
            room_[sizeof(K) == 8] = most;
        }
        Pool& pool = late_.parts() > 0 ? alone_ : pool_;
        GramBlock<K> block(problem_.hessian, set, gram.get(), stride, cheap_ && size <= usual_ ? alone_ : pool);
        Dense<T, K> dense(problem_.h, problem_.classes, set, block, micro_, pool, exchange_);
        const DenseResult result = dense.run(t, near_, eps, goal, kSteps * size + 1000, control_);
        dense.gradient(near_);
        out.entries += block.take_computed();
        return result;
    }
    Aligned<float>& room(float) { return single_; }
    Aligned<double>& room(double) { return double_; }

    // Brings the gradient of the active coordinates to the new t, in double precision where t went far; false if nothing
    // moved.
    bool update(const Indices& set, const std::vector<double>& t, std::vector<double>& f, Precision precision,
                double far, StageResult& out) {
        Indices rows;
        std::vector<double> change;
        double square = 0;
        for (std::size_t i = 0; i < set.size(); ++i) {
            if (t[set[i]] == before_[i]) continue;
            rows.push_back(set[i]);
            change.push_back(t[set[i]] - before_[i]);
            square += change.back() * change.back();
            selection_.moved(set[i], t[set[i]]);
        }
        if (rows.empty()) return false;
        const Indices& active = selection_.active();
        out.entries += double(rows.size()) * double(active.size());
        std::unique_ptr<Sums> sums;
        const bool exact =
            precision == Precision::both_double || (precision != Precision::rough && square > far * far);
        if (is_single(precision) && !exact && pool_.size() > 1 && selection_.crowded() && selection_.free() <= kLarge)
            sums = problem_.hessian.sums(rows, change, active, f.data(), pool_);
        if (sums == nullptr) {
            problem_.hessian.accumulate(rows, change, active, exact, f.data(), pool_);
            return true;
        }
        const std::int64_t late = spare(double(rows.size()), double(set.size()), double(sums->parts()));
        late_.begin(std::move(sums), late, set, near_, f, pool_);
        return true;
    }

    // So many of all parts of sums over `rows` as the other threads can take while one solves on a set like the last.
    std::int64_t spare(double rows, double set, double parts) const {
        const double entry = problem_.hessian.entry_cost();
        const double own = set * set * entry + double(steps_) * (kStep + kColumn * set);
        const double part = rows * entry * double(Sums::kColumns);
        return std::int64_t(std::min(own / part * double(pool_.size() - 1), kLate * parts));
    }

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
        selection_.idle(f, leaving, staying);
        const double active = double(staying.size() + leaving.size());
        if (double(staying.size()) > 0.8 * active || std::int64_t(staying.size()) < q_) return;
        if (selection_.all_active())
            reference = t;
        else
            shift(t, reference, leaving, f, precision, out);
        selection_.keep_only(std::move(staying));
    }

    void catch_up(const std::vector<double>& t, std::vector<double>& f, const std::vector<double>& reference,
                  Precision precision, StageResult& out) {
        shift(reference, t, selection_.dropped(), f, precision, out);
        selection_.activate_all();
    }

    const Problem& problem_;
    const Options& options_;
    const Micro& micro_;
    Pool &pool_, alone_;
    Control& control_;
    Exchange* exchange_;
    bool cheap_;                    // entries of blocks,
    bool dear_;                     // or of large ones
    double patience_;
    Selection selection_;
    LateUpdate late_;
    std::int64_t n_, q_, usual_, largest_, most_;
    double mark_ = kInfinity;       // m - M when it had fallen last to a part of itself
    double crowded_ = 0;            // of its patience that rounds with too small a set have used up
    std::int64_t free_ = 0;         // coordinates inside a piece, among the active
    bool settled_ = false;          // the next set has room for all of them, and their number hardly changed
    double shrunk_at_ = kInfinity;  // m - M when the first of the coordinates now missing were dropped
    double look_ = kInfinity;       // m - M at which the duality gap is worth computing
    std::vector<double> before_;    // t of the set, before it was worked on,
    std::vector<double> near_;      // and its gradient, before and after
    std::int64_t steps_ = 0;        // inside the last set
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
