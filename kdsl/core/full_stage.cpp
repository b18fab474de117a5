// The stage that stores the whole of Q; see stages.hpp and dense.hpp.
#include <numeric>

#include "stages.hpp"

namespace kdsl {

namespace {

class FullStage final : public Stage {
public:
    FullStage(const Problem& problem, const Micro& micro, Pool& pool, Control& control, Exchange* exchange)
        : problem_(problem), micro_(micro), pool_(pool), control_(control), exchange_(exchange), all_(problem.size()) {
        std::iota(all_.begin(), all_.end(), 0);
    }

    StageResult run(std::vector<double>& t, std::vector<double>& f, double eps, Precision precision) override {
        switch (precision) {
            case Precision::single: return with(single_, single_f_, t, f, eps);
            case Precision::mixed: return with(single_, mixed_, t, f, eps);
            case Precision::both_double: return with(double_, double_f_, t, f, eps);
        }
        return {};
    }

private:
    template <class K, class Solver>
    StageResult with(Aligned<K>& gram, std::unique_ptr<Solver>& solver, std::vector<double>& t,
                     std::vector<double>& f, double eps) {
        StageResult out;
        const std::int64_t n = problem_.size(), stride = (n + 31) / 32 * 32;
        if (!gram) {
            gram = aligned<K>(std::size_t(n) * stride);
            problem_.hessian.block(all_, gram.get(), stride, pool_);
            out.entries = double(n) * double(n);
        }
        if (!solver)
            solver = std::make_unique<Solver>(problem_.h, problem_.classes, all_, gram.get(), stride, micro_,
                                              exchange_);
        const std::int64_t before = control_.iterations;
        DenseResult result = solver->run(t, f, eps, std::numeric_limits<std::int64_t>::max(), control_);
        solver->gradient(f);
        out.moved = control_.iterations > before;
        out.unbounded = result.end == DenseEnd::unbounded;
        out.ray = std::move(result.ray);
        return out;
    }

    const Problem& problem_;
    const Micro& micro_;
    Pool& pool_;
    Control& control_;
    Exchange* exchange_;
    Indices all_;
    Aligned<float> single_;
    Aligned<double> double_;
    std::unique_ptr<Dense<float, float>> single_f_;
    std::unique_ptr<Dense<double, float>> mixed_;
    std::unique_ptr<Dense<double, double>> double_f_;
};

}  // namespace

std::unique_ptr<Stage> full_stage(const Problem& problem, const Micro& micro, Pool& pool, Control& control,
                                  Exchange* exchange) {
    return std::make_unique<FullStage>(problem, micro, pool, control, exchange);
}

}  // namespace kdsl
