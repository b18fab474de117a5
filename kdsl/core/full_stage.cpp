// The stage that stores the whole of Q; see stages.hpp and dense.hpp.
#include <numeric>

#include "stages.hpp"
#include "stored_hessian.hpp"

namespace kdsl {

namespace {

// Up to this size one pass over a row of Q is quicker than working sets taken from it.
constexpr std::int64_t kAtOnce = 1200;
// Steps for each coordinate, at most, before the gradient is computed afresh and progress is judged.
constexpr std::int64_t kSteps = 200;

class FullStage final : public Stage {
public:
    FullStage(const Problem& problem, const Options& options, const Micro& micro, Pool& pool, Control& control,
              Exchange* exchange)
        : problem_(problem),
          options_(options),
          micro_(micro),
          pool_(pool),
          control_(control),
          exchange_(exchange),
          all_(problem.size()) {
        std::iota(all_.begin(), all_.end(), 0);
    }

    StageResult run(std::vector<double>& t, std::vector<double>& f, Goal goal, Precision precision,
                    Work& work) override {
        switch (precision) {
            case Precision::rough:  // not where every entry is computed once
            case Precision::single: return with(single_, single_f_, t, f, goal, precision, work);
            case Precision::mixed: return with(single_, mixed_, t, f, goal, precision, work);
            case Precision::both_double: return with(double_, double_f_, t, f, goal, precision, work);
        }
        return {};
    }

private:
    // The Gram matrix in one precision, or where it is large, working sets taken from it.
    template <class K>
    struct Stored {
        Aligned<K> gram;
        std::unique_ptr<GramBlock<K>> block;
        std::unique_ptr<StandingFactor<K>> standing;
        std::unique_ptr<StoredHessian<K>> hessian;
        std::unique_ptr<Problem> problem;
        std::unique_ptr<Stage> stage;
    };

    template <class T, class K>
    StageResult with(Stored<K>& stored, std::unique_ptr<Dense<T, K>>& solver, std::vector<double>& t,
                     std::vector<double>& f, Goal goal, Precision precision, Work& work) {
        StageResult out;
        const std::int64_t n = problem_.size(), stride = (n + 31) / 32 * 32;
        if (!stored.gram) {
            stored.gram = aligned<K>(std::size_t(n) * stride);
            if (n <= kAtOnce) {
                stored.block =
                    std::make_unique<GramBlock<K>>(problem_.hessian, all_, stored.gram.get(), stride, pool_);
                stored.standing = std::make_unique<StandingFactor<K>>(micro_);
            }
        }
        if (n > kAtOnce) {
            if (!stored.stage) {
                problem_.hessian.block(all_, stored.gram.get(), stride, pool_);
                work.entries += double(n) * double(n);
                stored.hessian = std::make_unique<StoredHessian<K>>(stored.gram.get(), n, stride, micro_);
                stored.problem = std::make_unique<Problem>(
                    Problem{problem_.h, problem_.classes, *stored.hessian, problem_.constant});
                stored.stage = working_set_stage(*stored.problem, options_, micro_, pool_, control_, exchange_);
            }
            const AtEnd restore{[&work, computed = work.entries] { work.entries = computed; }};  // what is read is not
            return stored.stage->run(t, f, goal, precision, work);
        }
        if (!solver)
            solver = std::make_unique<Dense<T, K>>(problem_.h, problem_.classes, all_, *stored.block, *stored.standing,
                                                   micro_, pool_, exchange_);
        const AtEnd count{[&] {
            work.entries += stored.block->take_computed();
            work.newtons += stored.standing->take_made();
        }};
        const std::int64_t before = control_.iterations;
        DenseResult result = solver->run(t, f, goal.eps, goal.eps, kSteps * (n + kAtOnce), control_);
        solver->gradient(f);
        out.moved = control_.iterations > before;
        out.unbounded = result.end == DenseEnd::unbounded;
        out.ray = std::move(result.ray);
        return out;
    }

    const Problem& problem_;
    const Options& options_;
    const Micro& micro_;
    Pool& pool_;
    Control& control_;
    Exchange* exchange_;
    Indices all_;
    Stored<float> single_;
    Stored<double> double_;
    std::unique_ptr<Dense<float, float>> single_f_;
    std::unique_ptr<Dense<double, float>> mixed_;
    std::unique_ptr<Dense<double, double>> double_f_;
};

}  // namespace

std::unique_ptr<Stage> full_stage(const Problem& problem, const Options& options, const Micro& micro, Pool& pool,
                                  Control& control, Exchange* exchange) {
    return std::make_unique<FullStage>(problem, options, micro, pool, control, exchange);
}

}  // namespace kdsl
