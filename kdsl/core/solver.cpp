// The stages of a solve; see solver.hpp.
#include "solver.hpp"

#include <algorithm>
#include <cmath>

#include "fresh_gradient.hpp"
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
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// A rise of the objective, relative to it, that is no rounding of the values before and after.
constexpr double kRise = 0.01;
// A change of the objective that rounding does not hide, relative to it.
constexpr double kVisible = 1e-15;

int threads_for(const Problem& problem, const Options& options) {
    const double n = double(problem.size());
    return options.all_threads || n * n * problem.hessian.entry_cost() > kAlone ? options.threads : 1;
}

class Solve {
public:
    Solve(const Problem& problem, const Options& options, bool full, std::vector<double> t, Product known,
          Control& control)
        : problem_(problem),
          options_(options),
          full_(full),
          control_(control),
          pool_(threads_for(problem, options), [&control] { control.check(); }),
          exchange_(problem.classes.decoupled ? nullptr : std::make_unique<Exchange>(problem.classes)),
          gradient_(problem, options, pool_, exchange_.get(), control),
          t_(std::move(t)),
          before_(t_),
          known_(std::move(known)) {}

    Outcome run() {
        try {
            stages();
        } catch (const Stopped& stopped) {
            out_.reason = stopped.reason;
            if (!std::ranges::all_of(t_, [](double t) { return std::isfinite(t); })) t_ = before_;
        }
        const Standing& at = gradient_.standing();
        const bool measured = control_.iterations == gradient_.iterations();  // else t has moved since
        out_.kkt_gap = measured ? at.kkt_gap : kUnknown;
        out_.relative_gap = measured ? at.relative_gap : kUnknown;
        out_.value = measured ? at.value : kUnknown;
        out_.refreshes = gradient_.refreshes();
        out_.work.entries += gradient_.entries();
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
        if (options_.any_start) {
            std::optional<std::vector<double>> better = likely_vertex(problem_, t_, pool_, out_.work.entries);
            if (!better && !full_) {
                better = likely_ends(problem_, t_, micro, pool_, control_, out_.work);
                if (better) gap_ = measure(problem_, t_, gradient_.values(), nullptr).kkt_gap;
            }
            if (better) t_ = std::move(*better);
        }
        const bool carried = gradient_.begin(t_, std::move(known_), precision == Precision::both_double);
        const Standing& at = gradient_.standing();
        double eps = first_eps();
        if (precision != Precision::both_double && (gradient_.satisfied() || (!carried && at.kkt_gap < kWarm * at.size)))
            gradient_.refresh(t_, eps < kSingle * at.size ? kInfinity : eps);
        int fruitless = 0;
        bool refreshed = gradient_.refreshes() > 0;  // since the last rough stage
        while (!gradient_.satisfied()) {
            if (at.kkt_gap <= eps)
                eps = next_eps(eps);
            else if (refreshed && options_.kkt_tolerance >= 0)
                eps = std::min(eps, kAlmost * options_.kkt_tolerance);
            if (precision == Precision::rough && gradient_.refreshes() > 0 && eps < kSingle * at.size)
                precision = Precision::single;
            if (precision == Precision::single && refreshed && eps < kSingle * at.size) precision = Precision::mixed;
            const double gap = at.kkt_gap, value = at.value;
            const bool rough = precision == Precision::rough;
            problem_.hessian.set_rough(rough);
            const double fine = kFiner * noise;
            const double doubt = rough ? noise : precision == Precision::single ? kDoubt * fine : 0;
            out_.work.rough += rough;
            const Goal goal{eps, doubt, fine, &gradient_.known()};
            before_ = t_;
            StageResult result = stage->run(t_, gradient_.values(), goal, precision, out_.work);
            const double error = rough ? noise * distance(gradient_.known(), t_) : 0;
            const bool coarse = error > kFaint * eps;
            if (coarse) gradient_.spoil();
            if (result.unbounded && precision == Precision::both_double) {
                out_.reason = Reason::unbounded;
                out_.ray.assign(problem_.size(), 0.0);
                for (std::size_t i = 0; i < result.ray.coordinate.size(); ++i)
                    out_.ray[result.ray.coordinate[i]] += result.ray.speed[i];
                return;
            }
            const bool exact = !coarse || eps < kSingle * at.size || kFiner * error > kFaint * eps;
            gradient_.refresh(t_, eps, exact);
            refreshed = exact;
            if (has_left(value, at.value, precision)) {
                t_ = before_;
                gradient_.refresh(t_, kInfinity, true);
                if (precision == Precision::both_double) throw Stopped{Reason::stalled};
                precision = Precision::both_double;
                refreshed = true;
                continue;
            }
            if (rough) {
                if (at.kkt_gap > kNearly * eps || !result.moved) precision = Precision::single;
            } else if (precision != Precision::both_double) {
                if (at.kkt_gap > std::max(eps, 0.5 * gap) || !result.moved) precision = Precision::both_double;
            } else if (!result.moved || (at.kkt_gap > eps && at.value >= value - kVisible * std::abs(value))) {
                if (++fruitless >= kPatience) throw Stopped{Reason::stalled};
            } else {
                fruitless = 0;
            }
        }
    }

    // Whether a stage went up. Rounding makes Q indefinite, and where no bound holds t it may go on for ever.
    static bool has_left(double before, double after, Precision precision) {
        if (!std::isfinite(after)) return true;
        const bool rose = after - before > kRise * (std::abs(before) + std::abs(after));
        return rose && precision != Precision::both_double;
    }

    // A little less than what is asked for, to leave room for drift, where one stage can get there.
    double first_eps() const {
        const double asked = kAlmost * options_.kkt_tolerance;
        if (asked < kReach * gradient_.standing().size) return 1e-3 * std::min(gradient_.standing().kkt_gap, gap_);
        return asked;
    }

    double next_eps(double eps) const {
        if (options_.kkt_tolerance >= 0) return std::min(0.5 * eps, kAlmost * options_.kkt_tolerance);
        const Standing& at = gradient_.standing();
        const double excess = std::max(at.relative_gap, at.beyond) / options_.tolerance;
        return std::min(eps, at.kkt_gap) * std::clamp(0.5 / excess, 0.01, 0.5);
    }

    const Problem& problem_;
    const Options& options_;
    bool full_;
    Control& control_;
    Pool pool_;
    std::unique_ptr<Exchange> exchange_;
    FreshGradient gradient_;
    std::vector<double> t_, before_;  // before_: where the stage that is going on began
    Product known_;
    double gap_ = kInfinity;  // m - M at 0, where the gradient is that of h, and likely ends were chosen in its place
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
Outcome solve_by_rows(const Problem& problem, const Options& options, std::vector<double> t, Product known,
                      Control& control) {
    RowStore<K> store(problem.hessian, kForRows * options.memory, choose_micro());
    const Problem stored{problem.h, problem.classes, store, problem.constant};
    Outcome out = Solve(stored, options, false, std::move(t), std::move(known), control).run();
    out.work.entries = store.computed();
    return out;
}

}  // namespace

Outcome solve(const Problem& problem, const Options& options, std::vector<double> t, Product known, Control& control) {
    const Strategy strategy = chosen(problem, options);
    if (strategy == Strategy::stored_rows) {
        const bool single = problem.hessian.has_single();
        Outcome out = single ? solve_by_rows<float>(problem, options, std::move(t), std::move(known), control)
                             : solve_by_rows<double>(problem, options, std::move(t), std::move(known), control);
        out.strategy = "stored_rows";
        return out;
    }
    const bool full = strategy == Strategy::full;
    Outcome out = Solve(problem, options, full, std::move(t), std::move(known), control).run();
    out.strategy = full ? "full" : "working_set";
    return out;
}

}  // namespace kdsl
