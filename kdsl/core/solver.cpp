// The stages of a solve; see solver.hpp.
#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stages.hpp"
#include "start.hpp"
#include "stored_hessian.hpp"

namespace kdsl {

namespace {

// Below this size a Gram matrix in double precision costs nothing worth saving.
constexpr std::int64_t kSmall = 500;
// Up to this size the whole Gram matrix is stored where memory allows, and where its entries are dear.
constexpr std::int64_t kFull = 1200, kFullDear = 6000;
// An entry of Q that takes more nanoseconds than this is stored where memory allows, else computed when needed.
constexpr double kDear = 1.0;
// Nanoseconds that all of Q takes one thread, below which to wake others costs more than they take off it.
constexpr double kAlone = 3e5;
// Of the memory that rows may take, and the bytes for each coordinate that make storing them worth while.
constexpr double kForRows = 0.5, kFewRows = 8 * 64;
// Of what is asked for: where stages end, to leave room for drift.
constexpr double kAlmost = 0.8;
// A gap above this times the size of the gradient can be reached with a gradient in single precision.
constexpr double kSingle = 1e-5;
// A first stage in single precision gets to this times the size of the gradient at the start, which is the largest.
constexpr double kReach = 1e-6;
// A start whose gap is below this times the size of the gradient is a warm one, worth an exact gradient.
constexpr double kWarm = 1e-2;
// Stages at the highest precision that fail to lower the objective before the solve is called stalled.
constexpr int kPatience = 3;
// Points may be rounded from this size on; a stage that ends within a few times what is asked for is followed by another
// of rounded points, else by one of others.
constexpr std::int64_t kManyRough = 2000;
constexpr double kWorthRounding = 0.3, kWorthRoundingMany = 0.2;  // nanoseconds of an entry, or where so many are summed:
constexpr std::int64_t kVeryMany = 40000;
constexpr double kNearly = 4;
// Rows that are kept are rounded where the error is less: they are to last for the whole solve.
constexpr double kLasting = 1e-5;
// Of what is asked for: less than this is what rounding hardly changes.
constexpr double kFaint = 0.1;
// Errors of single precision to those of rounded points.
constexpr double kFiner = 0.01;
// Times these is what m - M gets to before the gradient is computed afresh.
constexpr double kDoubt = 10;
// A change of the objective that rounding does not hide, relative to it.
constexpr double kVisible = 1e-15;

// A violation below this times the size of the gradient is what rounding makes of none.
constexpr double kRounding = 1e-13;
// The gradient is left as a stage kept it where this many times its drift would change nothing.
constexpr double kDrift = 8;
// Coordinates whose gradient is computed afresh to learn the drift of all.
constexpr std::size_t kSample = 256;
// The drift of a coordinate is at most so many times the root of its mean square in the sample, or so many times the
// largest there; m - M is shown by computing afresh at most this part of the coordinates that matter.
constexpr double kDeviations = 6, kBeyond = 1.5, kWorthSparing = 0.5;

int threads_for(const Problem& problem, const Options& options) {
    const double n = double(problem.size());
    return options.all_threads || n * n * problem.hessian.entry_cost() > kAlone ? options.threads : 1;
}

class Solve {
public:
    Solve(const Problem& problem, const Options& options, bool full, std::vector<double> t, Control& control)
        : problem_(problem),
          options_(options),
          full_(full),
          control_(control),
          pool_(threads_for(problem, options), [&control] { control.check(); }),
          exchange_(problem.classes.decoupled ? nullptr : std::make_unique<Exchange>(problem.classes)),
          all_(problem.size()),
          t_(std::move(t)),
          known_(problem.size()),
          f_(problem.size()) {
        std::iota(all_.begin(), all_.end(), 0);
    }

    Outcome run() {
        try {
            stages();
        } catch (const Stopped& stopped) {
            out_.reason = stopped.reason;
        }
        out_.t = std::move(t_);
        out_.iterations = control_.iterations;
        out_.threads = pool_.size();
        return std::move(out_);
    }

private:
    void stages() {
        const Micro& micro = choose_micro();
        const std::unique_ptr<Stage> stage =
            full_ ? full_stage(problem_, options_, micro, pool_, control_, exchange_.get())
                  : working_set_stage(problem_, options_, micro, pool_, control_, exchange_.get());
        Precision precision =
            problem_.size() <= kSmall || !problem_.hessian.has_single() ? Precision::both_double : Precision::single;
        problem_.hessian.prepare(pool_);
        const double noise = problem_.size() < kManyRough ? 0 : problem_.hessian.roughness(pool_);
        // Where all of Q is stored, every entry is computed once: not worth correcting.
        const double dear = problem_.size() < kVeryMany ? kWorthRounding : kWorthRoundingMany;
        const bool lasting = noise < kLasting || !problem_.hessian.keeps_entries();
        const bool worth = !full_ && lasting && problem_.hessian.entry_cost() > dear;
        if (noise > 0 && worth && precision == Precision::single) precision = Precision::rough;
        problem_.hessian.set_rough(precision == Precision::rough);
        if (options_.any_start)
            if (std::optional<std::vector<double>> better = likely_vertex(problem_, t_, pool_, out_.entries))
                t_ = std::move(*better);
        begin(precision == Precision::both_double);
        double eps = first_eps();
        if (precision != Precision::both_double && (satisfied() || out_.kkt_gap < kWarm * size_))
            refresh(eps < kSingle * size_ ? kInfinity : eps);
        int fruitless = 0;
        bool refreshed = out_.refreshes > 0;  // since the last rough stage
        while (!satisfied()) {
            if (out_.kkt_gap <= eps)
                eps = next_eps(eps);
            else if (refreshed && options_.kkt_tolerance >= 0)
                eps = std::min(eps, kAlmost * options_.kkt_tolerance);
            if (precision == Precision::rough && out_.refreshes > 0 && eps < kSingle * size_)
                precision = Precision::single;
            if (precision == Precision::single && refreshed && eps < kSingle * size_) precision = Precision::mixed;
            const double gap = out_.kkt_gap, value = out_.value;
            const bool rough = precision == Precision::rough;
            problem_.hessian.set_rough(rough);
            const double fine = kFiner * noise;
            const double doubt = rough ? noise : precision == Precision::single ? kDoubt * fine : 0;
            StageResult result = stage->run(t_, f_, {eps, doubt, fine, &known_}, precision);
            const double error = rough ? noise * distance(known_, t_) : 0;
            const bool coarse = error > kFaint * eps;
            if (coarse) stale_.assign(problem_.size(), 1);
            out_.outer += result.outer;
            out_.halved += result.halved;
            out_.newton_steps += result.newtons.steps;
            out_.factorisations += result.newtons.factors;
            out_.rough += rough;
            out_.entries += result.entries;
            if (result.unbounded && precision == Precision::both_double) {
                out_.reason = Reason::unbounded;
                out_.ray.assign(problem_.size(), 0.0);
                for (std::size_t i = 0; i < result.ray.coordinate.size(); ++i)
                    out_.ray[result.ray.coordinate[i]] += result.ray.speed[i];
                return;
            }
            const bool exact = !coarse || eps < kSingle * size_ || kFiner * error > kFaint * eps;
            refresh(eps, exact);
            refreshed = exact;
            if (rough) {
                if (out_.kkt_gap > kNearly * eps || !result.moved) precision = Precision::single;
            } else if (precision != Precision::both_double) {
                if (out_.kkt_gap > std::max(eps, 0.5 * gap) || !result.moved) precision = Precision::both_double;
            } else if (!result.moved || (out_.kkt_gap > eps && out_.value >= value - kVisible * std::abs(value))) {
                if (++fruitless >= kPatience) throw Stopped{Reason::stalled};
            } else {
                fruitless = 0;
            }
        }
    }

    // The gradient at the start, in single precision where the first stage keeps no more.
    void begin(bool exact) {
        const auto [rows, coefficient] = support();
        if (!rows.empty()) problem_.hessian.accumulate(rows, coefficient, all_, exact, f_.data(), pool_);
        out_.entries += double(rows.size()) * double(all_.size());
        take(measure(problem_, t_, f_, exchange_.get()));
    }

    // The coordinates that are not 0, and their values.
    std::pair<Indices, std::vector<double>> support() const {
        std::pair<Indices, std::vector<double>> out;
        for (std::int64_t k = 0; k < problem_.size(); ++k)
            if (t_[k] != 0) out.first.push_back(k), out.second.push_back(t_[k]);
        return out;
    }

    // f afresh, where it matters: `f_` is what the last stage kept roughly in step. Coordinates that violate nothing by
    // a margin well above its drift are left as they are. The drift is what is seen where f is computed afresh; if that
    // asks for a wider margin, the coordinates in between follow. Errors of a rough stage end in single precision.
    void refresh(double eps, bool exact = true) {
        ++out_.refreshes;
        problem_.hessian.set_rough(false);
        known_ = t_;
        const auto [rows, coefficient] = support();
        const auto renew_all = [&](const Indices& some) { renew(some, gradient(rows, coefficient, some, exact)); };
        const double least = eps == kInfinity ? eps : 10 * eps;
        fresh_.assign(problem_.size(), 0);
        const Measure rough = measure(problem_, t_, f_, exchange_.get());
        take(rough);
        while (true) {
            const double margin = std::max(least, kDrift * drift_), wide = std::max(least, kDrift * stale_drift_);
            const Indices near = within(rough, margin, wide);
            if (exact && !near.empty() && satisfied() && sampled(near, margin, renew_all)) return;
            renew_all(without_fresh(near));
            if (near.empty() || (kDrift * drift_ <= margin && kDrift * stale_drift_ <= wide)) break;
        }
        take(measure(problem_, t_, f_, exchange_.get()));
    }

    // Whether the tolerance is met whatever the drift of f, as a sample of the coordinates that matter shows it, is at
    // the others; those where it could make a difference to m - M, if they are few, and those that are stale are computed
    // afresh as well.
    template <class Renew>
    bool sampled(const Indices& near, double margin, Renew renew_all) {
        const std::size_t step = std::max<std::size_t>(1, near.size() / kSample);
        Indices some, seen;
        for (std::size_t k = 0; k < near.size(); ++k) {
            const bool chosen = k % step == step / 2;
            if (chosen && !is_stale(near[k])) seen.push_back(near[k]);
            if (chosen || is_stale(near[k])) some.push_back(near[k]);
        }
        std::vector<double> before;
        for (const std::int64_t k : seen) before.push_back(f_[k]);
        renew_all(some);
        double square = 0, most = 0;
        for (std::size_t i = 0; i < seen.size(); ++i) {
            const double error = std::abs(f_[seen[i]] - before[i]);
            square += error * error;
            most = std::max(most, error);
        }
        const Drift drift{std::max(kDeviations * std::sqrt(square / double(std::max<std::size_t>(seen.size(), 1))),
                                   kBeyond * most), &fresh_};
        if (drift.most > margin) return false;
        take(measure(problem_, t_, f_, exchange_.get(), drift));
        if (satisfied() || options_.kkt_tolerance < 0) return satisfied();
        const Indices decisive = without_fresh(decisive_among(near, drift));
        if (double(decisive.size()) > kWorthSparing * double(near.size())) return false;
        renew_all(decisive);
        take(measure(problem_, t_, f_, exchange_.get(), drift));
        return satisfied();
    }

    // Those whose drift could carry m - M beyond the tolerance, of whose interval a part to either side is left.
    Indices decisive_among(const Indices& near, Drift drift) const {
        const Measure now = measure(problem_, t_, f_, exchange_.get());
        Indices out;
        std::int64_t c = 0;
        for (const std::int64_t k : near) {
            while (k >= problem_.classes.begin[c + 1]) ++c;
            const double reach = kAlmost * options_.kkt_tolerance * (problem_.classes.is_free(c) ? 1 : 0.5);
            const double off = f_[k] - now.multiplier[c];
            const Separable::Sides sides = problem_.h.sides(k, t_[k]);
            if (off - drift.at(k) + sides.above < -reach || off + drift.at(k) + sides.below > reach) out.push_back(k);
        }
        return out;
    }

    Indices without_fresh(const Indices& some) const {
        Indices out;
        std::ranges::copy_if(some, std::back_inserter(out), [this](std::int64_t k) { return !fresh_[k]; });
        return out;
    }

    void renew(const Indices& some, const std::vector<double>& now) {
        for (const std::int64_t k : some) {
            double& drift = is_stale(k) ? stale_drift_ : drift_;
            drift = std::max(drift, std::abs(now[k] - f_[k]));
            f_[k] = now[k];
            fresh_[k] = 1;
            if (is_stale(k)) stale_[k] = 0;
        }
    }

    std::vector<double> gradient(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                                 bool exact) {
        std::vector<double> f(problem_.size(), 0.0);
        problem_.hessian.accumulate(rows, coefficient, cols, exact, f.data(), pool_);
        out_.entries += double(rows.size()) * double(cols.size());
        return f;
    }

    bool is_stale(std::int64_t k) const { return !stale_.empty() && stale_[k] != 0; }

    // What may matter if f is off by an eighth of the margin, or of the wide one where it is stale.
    Indices within(const Measure& rough, double margin, double wide) const {
        Indices near;
        for (std::int64_t c = 0; c < problem_.classes.size(); ++c)
            for (std::int64_t k = problem_.classes.begin[c]; k < problem_.classes.begin[c + 1]; ++k) {
                const Separable::Sides sides = problem_.h.sides(k, t_[k]);
                const double rest = rough.multiplier[c] - f_[k], by = is_stale(k) ? wide : margin;
                const bool matters = by == kInfinity || sides.above - rest < by || rest - sides.below < by;
                if (!fresh_[k] && matters) near.push_back(k);
            }
        return near;
    }

    void take(const Measure& m) {
        out_.kkt_gap = m.kkt_gap;
        out_.value = m.value;
        out_.relative_gap = m.gap / std::max(1.0, std::abs(m.value));
        beyond_ = m.beyond > kRounding * m.size ? m.beyond : 0;
        size_ = m.size;
        control_.gap = m.kkt_gap;
        control_.check();
    }

    // A little less than what is asked for, to leave room for drift, where one stage can get there.
    double first_eps() const {
        const double asked = kAlmost * options_.kkt_tolerance;
        if (asked < kReach * size_) return 1e-3 * out_.kkt_gap;
        return asked;
    }

    bool satisfied() const {
        if (options_.kkt_tolerance >= 0) return out_.kkt_gap <= options_.kkt_tolerance;
        return out_.relative_gap <= options_.tolerance && beyond_ <= options_.tolerance;
    }

    double next_eps(double eps) const {
        if (options_.kkt_tolerance >= 0) return std::min(0.5 * eps, kAlmost * options_.kkt_tolerance);
        const double excess = std::max(out_.relative_gap, beyond_) / options_.tolerance;
        return std::min(eps, out_.kkt_gap) * std::clamp(0.5 / excess, 0.01, 0.5);
    }

    const Problem& problem_;
    const Options& options_;
    bool full_;
    Control& control_;
    Pool pool_;
    std::unique_ptr<Exchange> exchange_;
    Indices all_;
    std::vector<double> t_, known_, f_;    // known_: where f was computed afresh last, 0 at first
    double beyond_ = 0, size_ = 0;
    double drift_ = 0, stale_drift_ = 0;  // the largest error seen in a gradient that a stage kept, or a rough one
    std::vector<char> stale_;             // where it has not been computed afresh since a rough stage
    std::vector<char> fresh_;             // where it has been in the last refresh
    Outcome out_;
};

// All of Q is stored where it is small, or dear and not to be had by rows, if it fits (in double precision if it comes
// to that); rows of it where they are dear.
Strategy chosen(const Problem& problem, const Options& options) {
    const RowSource* const source = problem.hessian.row_source();
    if (options.strategy == Strategy::stored_rows && source == nullptr) return Strategy::working_set;
    if (options.strategy != Strategy::automatic) return options.strategy;
    const double n = double(problem.size());
    const bool dear = problem.hessian.entry_cost() > kDear;
    const bool kept = source != nullptr && dear && kForRows * options.memory > kFewRows * n;
    const bool fits = 12 * n * n <= options.memory;
    if (kept && (n > double(kFullDear) || source->whole() || !fits)) return Strategy::stored_rows;
    return (n <= double(kFull) || dear) && fits ? Strategy::full : Strategy::working_set;
}

template <class K>
Outcome solve_by_rows(const Problem& problem, const Options& options, std::vector<double> t, Control& control) {
    RowStore<K> store(problem.hessian, kForRows * options.memory, choose_micro());
    const Problem stored{problem.h, problem.classes, store, problem.constant};
    Outcome out = Solve(stored, options, false, std::move(t), control).run();
    out.entries = store.computed();
    return out;
}

}  // namespace

Outcome solve(const Problem& problem, const Options& options, std::vector<double> t, Control& control) {
    const Strategy strategy = chosen(problem, options);
    if (strategy == Strategy::stored_rows) {
        const bool single = problem.hessian.has_single();
        Outcome out = single ? solve_by_rows<float>(problem, options, std::move(t), control)
                             : solve_by_rows<double>(problem, options, std::move(t), control);
        out.strategy = "stored_rows";
        return out;
    }
    const bool full = strategy == Strategy::full;
    Outcome out = Solve(problem, options, full, std::move(t), control).run();
    out.strategy = full ? "full" : "working_set";
    return out;
}

}  // namespace kdsl
