// Two halves of a working set; see twin_sets.hpp.
#include "twin_sets.hpp"

namespace kdsl {

namespace {

constexpr std::int64_t kSteps = 20;  // for each coordinate of a half, at most

}  // namespace

template <class T, class K>
TwinSets<T, K>::TwinSets(const Problem& problem, const Indices& set, const std::vector<double>& t,
                         const std::vector<double>& f, K* room, const Micro& micro, Pool& pool, Control& control)
    : problem_(problem), pool_(pool), alone_(1, {}), control_(control), t_(t) {
    for (std::size_t i = 0; i < set.size(); ++i) {
        Half& half = halves_[i % 2];
        half.set.push_back(set[i]);
        half.before.push_back(t[set[i]]);
        half.start.push_back(f[set[i]]);
    }
    for (Half& half : halves_) {
        const std::int64_t size = std::int64_t(half.set.size());
        half.near = half.start;
        half.block = std::make_unique<GramBlock<K>>(problem.hessian, half.set, room, block_stride(size), pool);
        half.standing = std::make_unique<StandingFactor<K>>(micro);
        half.dense = std::make_unique<Dense<T, K>>(problem.h, problem.classes, half.set, *half.block, *half.standing,
                                                   micro, alone_, nullptr);
        room += size * block_stride(size);
    }
}

template <class T, class K>
DenseResult TwinSets<T, K>::descend(Half& half, std::vector<double>& t, double eps, std::int64_t limit,
                                    Control& control) {
    const DenseResult result = half.dense->run(t, half.near, eps, eps, limit, control);
    half.dense->gradient(half.near);
    return result;
}

template <class T, class K>
DenseResult TwinSets<T, K>::both(std::vector<double>& t, double eps) {
    const std::int64_t limit = std::min(kSteps * std::int64_t(halves_[0].set.size()), control_.remaining() / 2);
    Control quiet = control_.quiet();
    DenseResult first, second;
    pool_.run_beside([&] { first = descend(halves_[0], t, eps, limit, control_); }, 1,
                     [&](std::int64_t, int) { second = descend(halves_[1], t_, eps, limit, quiet); });
    control_.iterations += quiet.iterations;
    for (const std::int64_t k : halves_[1].set) t[k] = t_[k];
    return first.end == DenseEnd::unbounded ? first : second;
}

template <class T, class K>
double TwinSets<T, K>::tell(const Change& first, bool exact) {
    Half& half = halves_[1];
    const std::size_t n = half.set.size();
    std::vector<double> told(problem_.size(), 0.0);
    problem_.hessian.accumulate(first.rows, first.by, half.set, exact, told.data(), pool_);
    double fall = 0, cross = 0;  // of the objective by what this half has done alone; of that, what the other has done too
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t k = half.set[i];
        const double by = t_[k] - half.before[i];
        fall -= by * 0.5 * (half.start[i] + half.near[i]) + problem_.h.at(k, t_[k]) - problem_.h.at(k, half.before[i]);
        cross += by * told[k];
    }
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t k = half.set[i];
        if (!(cross < fall)) half.near[i] = half.start[i], t_[k] = half.before[i];
        half.near[i] += told[k];
    }
    return cross / fall;
}

template <class T, class K>
DenseResult TwinSets<T, K>::second(std::vector<double>& t, double eps) {
    const std::int64_t limit = kSteps * std::int64_t(halves_[1].set.size());
    const DenseResult result = descend(halves_[1], t_, eps, limit, control_);
    for (const std::int64_t k : halves_[1].set) t[k] = t_[k];
    return result;
}

template class TwinSets<float, float>;
template class TwinSets<double, float>;
template class TwinSets<double, double>;

}  // namespace kdsl
