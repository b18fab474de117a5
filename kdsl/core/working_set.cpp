// The stage for problems whose Gram matrix is too large to store; see stages.hpp.
//
// Solves   the Problem to m - M <= eps with memory for the block of Q of one working set.
// How      Joachims' decomposition (1999) with large working sets and nothing cached: the block of the working set is
//          computed, dense.hpp solves on it, or on two halves of it at once (twin_sets.hpp), and the gradient of all
//          active coordinates is updated by rows of Q that are computed and forgotten; where many coordinates violate,
//          that of a few is brought up to date by other threads while this one solves on the next set, which does
//          without them. How large a set is and who works on it, set_plan.hpp says, and selection.hpp what it consists
//          of and what may be dropped; the gradient of what was dropped is caught up at the end. Where a duality gap is
//          asked for, the stage ends as soon as its own gradient shows that it is reached.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "late_update.hpp"
#include "measure.hpp"
#include "selection.hpp"
#include "set_plan.hpp"
#include "stages.hpp"
#include "twin_sets.hpp"

namespace kdsl {

namespace {

constexpr std::int64_t kSteps = 20;    // inner steps for each coordinate of a working set, at most
constexpr int kShrinkEvery = 4;        // outer iterations
constexpr double kAgain = 0.01;        // of the gap at which coordinates were dropped is where all are looked at again
constexpr std::int64_t kOuter = 5000;  // working sets, at most, before the gradient is computed afresh
constexpr double kEnd = 0.75;          // of what a stage is to get to is where sets end that may be its last,
constexpr double kEndOfGap = 0.5;      // and where a duality gap is asked for, to which m - M is only a guide
constexpr double kClose = 0.5;         // of the tolerance is where a stage ends by its own gradient
constexpr double kFar = 0.3;           // of the tolerance is what a move may leave to single precision

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
          selection_(problem, micro, exchange),
          late_(selection_),
          plan_(problem, options, pool.size()),
          n_(problem.size()),
          standing_(StandingFactor<float>(micro), StandingFactor<double>(micro)) {}

    StageResult run(std::vector<double>& t, std::vector<double>& f, Goal goal, Precision precision,
                    Work& work) override {
        StageResult out;
        double eps = goal.eps;
        selection_.restart(t);
        keep_factors_of(precision);
        const std::int64_t before = control_.iterations, last = work.outer + kOuter;
        std::vector<double> reference;  // t to which the gradient of dropped coordinates belongs
        int since_shrunk = 0, stuck = 0;
        look_ = kInfinity;
        plan_.restart();
        const auto take_late = [this](std::int64_t i, int worker) { late_.take(i, worker); };
        for (;; ++work.outer) {
            control_.check();
            double gap = selection_.extremes(f);
            if (goal.noise > 0) eps = std::max(goal.eps, goal.noise * distance(*goal.known, t));
            const auto over = [&] { return !(gap > eps) || stuck > 1 || work.outer >= last; };
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
                catch_up(t, f, reference, precision, work);
                since_shrunk = done ? -2 * kShrinkEvery : kShrinkEvery;
                stuck = 0;
                continue;
            }
            if (++since_shrunk >= kShrinkEvery) {
                since_shrunk = 0;
                if (selection_.all_active()) shrunk_at_ = gap;
                shrink(t, f, reference, precision, work);
            }
            plan_.look(gap, selection_.free());
            const Indices& set = selection_.choose(f, plan_.room());
            const double least = (options_.kkt_tolerance >= 0 ? kEnd : kEndOfGap) * eps;
            const double inner = std::max(least, plan_.share(set.size()) * gap);
            const Means means{precision, kFar * eps / goal.fine};
            const std::int64_t moved = moved_;
            DenseResult result;
            if (plan_.apart() && (selection_.crowded() || !plan_.fits())) {
                with(precision, [&]<class T, class K>() { result = together<T, K>(set, t, f, inner, means, work); });
            } else {
                before_.resize(set.size()), near_.resize(set.size());
                for (std::size_t i = 0; i < set.size(); ++i) before_[i] = t[set[i]], near_[i] = f[set[i]];
                const double end = plan_.settled() ? least : inner;
                const auto descent = [&] {
                    with(precision, [&]<class T, class K>() { result = descend<T, K>(set, t, inner, end, work); });
                };
                const std::int64_t steps = control_.iterations;
                pool_.run_beside(descent, late_.parts(), take_late);
                late_.end(f);
                update(set, control_.iterations - steps, t, f, means, work);
            }
            if (result.end == DenseEnd::unbounded && precision == Precision::both_double) {
                out.unbounded = true;
                out.ray = std::move(result.ray);
                return out;
            }
            stuck = moved_ > moved ? 0 : stuck + 1;
        }
        out.moved = control_.iterations > before;
        return out;
    }

private:
    // How the gradient is brought up to date: in double precision where t went `far`.
    struct Means {
        Precision precision;
        double far;

        bool exact(const Change& change) const {
            return precision == Precision::both_double ||
                   (precision != Precision::rough && change.square > far * far);
        }
    };

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

    // task<T, K>() in the precision of the gradient inside sets and of their blocks.
    template <class Task>
    static void with(Precision precision, Task task) {
        if (is_single(precision))
            task.template operator()<float, float>();
        else if (precision == Precision::mixed)
            task.template operator()<double, float>();
        else
            task.template operator()<double, double>();
    }

    template <class T, class K>
    DenseResult descend(const Indices& set, std::vector<double>& t, double eps, double goal, Work& work) {
        const std::int64_t size = std::int64_t(set.size()), stride = block_stride(size);
        K* const gram = room<K>(size * stride);
        Pool& pool = late_.parts() > 0 ? alone_ : pool_;
        GramBlock<K> block(problem_.hessian, set, gram, stride, plan_.by_itself(set.size()) ? alone_ : pool);
        StandingFactor<K>& standing = std::get<StandingFactor<K>>(standing_);
        Dense<T, K> dense(problem_.h, problem_.classes, set, block, standing, micro_, pool, exchange_);
        const AtEnd count{[&] {
            work.entries += block.take_computed();
            work.newtons += standing.take_made();
        }};
        const DenseResult result = dense.run(t, near_, eps, goal, kSteps * size + 1000, control_);
        dense.gradient(near_);
        return result;
    }

    // The set in two halves at once, and the gradient of the active coordinates.
    template <class T, class K>
    DenseResult together(const Indices& set, std::vector<double>& t, std::vector<double>& f, double eps, Means means,
                         Work& work) {
        const std::int64_t half = std::int64_t(set.size() + 1) / 2, steps = control_.iterations;
        TwinSets<T, K> twins(problem_, set, t, f, room<K>(2 * half * block_stride(half)), micro_, pool_, control_);
        DenseResult result = twins.both(t, eps);
        const Change first = twins.change(0, t);
        plan_.undone(twins.tell(first, means.precision == Precision::both_double));
        note(first, t, work);
        const std::unique_ptr<Sums> sums = sums_over(first, f, means);
        const auto on = [&] {
            const DenseResult second = twins.second(t, eps);
            if (second.end == DenseEnd::unbounded) result = second;
        };
        pool_.run_beside(on, sums ? sums->parts() : 0, [&](std::int64_t part, int worker) { sums->take(part, worker); });
        if (!sums) accumulate(first, f, means);
        const Change second = twins.change(1, t);
        note(second, t, work);
        accumulate(second, f, means);
        plan_.worked(set.size(), control_.iterations - steps, first.rows.size() + second.rows.size(),
                     selection_.active().size());
        work.entries += twins.entries();
        work.newtons += twins.take_newtons();
        ++work.halved;
        return result;
    }

    // A factor serves entries of one kind.
    void keep_factors_of(Precision precision) {
        if ((precision == Precision::rough) != (kind_ == Precision::rough)) std::get<0>(standing_).forget();
        if (precision == Precision::both_double) std::get<0>(standing_).release();
        kind_ = precision;
    }

    // Room for as many numbers, at once for the largest set there can be: pages come when they are used.
    template <class K>
    K* room(std::int64_t numbers) {
        Room<K>& room = std::get<Room<K>>(rooms_);
        if (numbers > room.size) {
            room.size = std::max(numbers, plan_.largest() * (plan_.largest() + 63));
            room.numbers = aligned<K>(std::size_t(room.size));
        }
        return room.numbers.get();
    }

    // Brings the gradient of the active coordinates to the t of a set that was worked on.
    void update(const Indices& set, std::int64_t steps, const std::vector<double>& t, std::vector<double>& f, Means means,
                Work& work) {
        const Change change = change_of(set, before_, t);
        note(change, t, work);
        plan_.worked(set.size(), steps, change.rows.size(), selection_.active().size());
        const std::int64_t parts = (std::int64_t(selection_.active().size()) + Sums::kColumns - 1) / Sums::kColumns;
        const std::int64_t late = selection_.crowded() ? plan_.late(parts) : 0;
        std::unique_ptr<Sums> sums = late > 0 ? sums_over(change, f, means) : nullptr;
        if (sums == nullptr) return accumulate(change, f, means);
        late_.begin(std::move(sums), late, set, near_, f, pool_);
    }

    // What has moved, for those who keep account of it.
    void note(const Change& change, const std::vector<double>& t, Work& work) {
        for (const std::int64_t k : change.rows) selection_.moved(k, t[k]);
        moved_ += std::int64_t(change.rows.size());
        work.entries += double(change.rows.size()) * double(selection_.active().size());
    }

    void accumulate(const Change& change, std::vector<double>& f, Means means) {
        if (change.rows.empty()) return;
        problem_.hessian.accumulate(change.rows, change.by, selection_.active(), means.exact(change), f.data(), pool_);
    }
    // The same to be taken by idle threads, nullptr where that cannot be.
    std::unique_ptr<Sums> sums_over(const Change& change, std::vector<double>& f, Means means) {
        const bool may = is_single(means.precision) && !means.exact(change) && pool_.size() > 1;
        if (!may || change.rows.empty()) return nullptr;
        return problem_.hessian.sums(change.rows, change.by, selection_.active(), f.data(), pool_);
    }

    // f of `cols` moves from the gradient at t = `from` to that at t = `to`.
    void shift(const std::vector<double>& from, const std::vector<double>& to, const Indices& cols,
               std::vector<double>& f, Precision precision, Work& work) {
        Indices rows;
        std::vector<double> change;
        for (std::int64_t k = 0; k < n_; ++k)
            if (to[k] != from[k]) rows.push_back(k), change.push_back(to[k] - from[k]);
        if (rows.empty() || cols.empty()) return;
        problem_.hessian.accumulate(rows, change, cols, precision == Precision::both_double, f.data(), pool_);
        work.entries += double(rows.size()) * double(cols.size());
    }

    void shrink(const std::vector<double>& t, std::vector<double>& f, std::vector<double>& reference,
                Precision precision, Work& work) {
        Indices staying, leaving;
        selection_.idle(f, leaving, staying);
        const double active = double(staying.size() + leaving.size());
        if (double(staying.size()) > 0.8 * active || std::int64_t(staying.size()) < plan_.room()) return;
        if (selection_.all_active())
            reference = t;
        else
            shift(t, reference, leaving, f, precision, work);
        selection_.keep_only(std::move(staying));
    }

    void catch_up(const std::vector<double>& t, std::vector<double>& f, const std::vector<double>& reference,
                  Precision precision, Work& work) {
        shift(reference, t, selection_.dropped(), f, precision, work);
        selection_.activate_all(t);
    }

    const Problem& problem_;
    const Options& options_;
    const Micro& micro_;
    Pool &pool_, alone_;
    Control& control_;
    Exchange* exchange_;
    Selection selection_;
    LateUpdate late_;
    SetPlan plan_;
    std::int64_t n_;
    double shrunk_at_ = kInfinity;  // m - M when the first of the coordinates now missing were dropped
    double look_ = kInfinity;       // m - M at which the duality gap is worth computing
    std::vector<double> before_;    // t of the set, before it was worked on,
    std::vector<double> near_;      // and its gradient, before and after
    std::int64_t moved_ = 0;        // coordinates, in all sets
    template <class K>
    struct Room {
        Aligned<K> numbers;
        std::int64_t size = 0;
    };
    std::tuple<Room<float>, Room<double>> rooms_;
    std::tuple<StandingFactor<float>, StandingFactor<double>> standing_;
    Precision kind_ = Precision::single;  // of the last stage
};

}  // namespace

std::unique_ptr<Stage> working_set_stage(const Problem& problem, const Options& options, const Micro& micro,
                                         Pool& pool, Control& control, Exchange* exchange) {
    return std::make_unique<WorkingSetStage>(problem, options, micro, pool, control, exchange);
}

}  // namespace kdsl
