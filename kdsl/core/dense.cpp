// Sequential minimal optimisation on a stored block; see dense.hpp.
#include "dense.hpp"

#include <algorithm>
#include <cmath>

namespace kdsl {

namespace {

// A curvature d'Qd below this times sum_k d_k^2 Q_kk cannot be told from rounding.
template <class K>
constexpr double kFloor = 4.0 * double(std::numeric_limits<K>::epsilon());

constexpr double kTiny = std::numeric_limits<double>::min();
constexpr std::int64_t kBetweenChecks = 256;

}  // namespace

template <class T, class K>
Dense<T, K>::Dense(const Separable& h, const Classes& classes, const std::vector<std::int64_t>& set, const K* gram,
                   std::int64_t stride, const Micro& micro, Exchange* exchange)
    : h_(h),
      classes_(classes),
      set_(set),
      gram_(gram),
      stride_(stride),
      n_(std::int64_t(set.size())),
      passes_(micro.passes<T, K>()),
      exchange_(exchange),
      f_(aligned<T>(n_)),
      above_(aligned<T>(n_)),
      below_(aligned<T>(n_)),
      diagonal_(aligned<T>(n_)) {
    std::int64_t i = 0;
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        const std::int64_t first = i;
        while (i < n_ && set[i] < classes.begin[c + 1]) ++i;
        if (i > first) segments_.push_back({first, i - first, c, classes.is_free(c), {}});
    }
    if (exchange_ != nullptr) {
        rise_.assign(classes.size(), kInfinity);
        fall_.assign(classes.size(), -kInfinity);
        segment_of_class_.assign(classes.size(), -1);
        for (std::size_t s = 0; s < segments_.size(); ++s) segment_of_class_[segments_[s].cls] = std::int64_t(s);
    }
}

template <class T, class K>
void Dense<T, K>::refresh_sides(std::int64_t i, double t) {
    const Separable::Sides sides = h_.sides(set_[i], t);
    above_[i] = T(sides.above);
    below_[i] = T(sides.below);
    diagonal_[i] = T(double(gram_[i * stride_ + i]) + sides.curvature);
}

template <class T, class K>
void Dense<T, K>::update(std::int64_t a, double da, std::int64_t b, double db) {
    for (Segment& s : segments_)
        s.extremes = passes_.update(&f_[s.begin], gram_ + a * stride_ + s.begin, gram_ + b * stride_ + s.begin, T(da),
                                    T(db), &above_[s.begin], &below_[s.begin], s.count);
}

// Fills direction_ with the way to go and returns m - M.
template <class T, class K>
double Dense<T, K>::choose() {
    const Segment* worst = nullptr;
    double gap = -kInfinity;
    for (const Segment& s : segments_) {
        const double violation = s.free ? std::max(-double(s.extremes.rise), double(s.extremes.fall))
                                        : double(s.extremes.fall) - double(s.extremes.rise);
        if (violation > gap) gap = violation, worst = &s;
    }
    direction_.clear();
    if (exchange_ != nullptr) {
        for (const Segment& s : segments_) {
            rise_[s.cls] = s.extremes.rise;
            fall_[s.cls] = s.extremes.fall;
        }
        const double coupled = 2 * exchange_->solve(rise_, fall_);
        if (coupled > 1.5 * gap && coupled > 0) {
            gap = coupled;
            for (const Exchange::Mover& mover : exchange_->movers()) {
                const Segment& s = segments_[segment_of_class_[mover.cls]];
                direction_.add(s.begin + (mover.rises ? s.extremes.riser : s.extremes.faller),
                               mover.rises ? 2 * mover.weight : -2 * mover.weight);
            }
            return gap;
        }
        gap = std::max(gap, coupled);
    }
    if (worst == nullptr || !(gap > 0)) return gap;
    const Extremes<T>& e = worst->extremes;
    if (worst->free) {
        const bool rises = -double(e.rise) >= double(e.fall);
        direction_.add(worst->begin + (rises ? e.riser : e.faller), rises ? 1.0 : -1.0);
        return gap;
    }
    const std::int64_t i = worst->begin + e.riser;
    std::int64_t j = passes_.second_order(&f_[worst->begin], &below_[worst->begin],
                                          gram_ + i * stride_ + worst->begin, &diagonal_[worst->begin], e.rise,
                                          diagonal_[i], T(kFloor<K>), worst->count);
    if (j < 0) j = e.faller;
    direction_.add(i, 1.0);
    direction_.add(worst->begin + j, -1.0);
    return gap;
}

template <class T, class K>
double Dense<T, K>::curvature() const {
    double sum = 0;
    const auto& k = direction_.coordinate;
    for (std::size_t a = 0; a < k.size(); ++a)
        for (std::size_t b = 0; b < k.size(); ++b)
            sum += direction_.speed[a] * direction_.speed[b] * double(gram_[k[a] * stride_ + k[b]]);
    return sum;
}

template <class T, class K>
DenseResult Dense<T, K>::run(std::vector<double>& t, const std::vector<double>& f, double eps, std::int64_t limit,
                             Control& control) {
    for (std::int64_t i = 0; i < n_; ++i) {
        f_[i] = T(f[set_[i]]);
        refresh_sides(i, t[set_[i]]);
    }
    update(0, 0.0, 0, 0.0);
    limit = std::min(limit, control.remaining());
    std::vector<double> moved;
    std::vector<std::int64_t> touched;
    for (std::int64_t steps = 0;; ++steps) {
        const double gap = choose();
        control.gap = gap;
        if (!(gap > eps) || direction_.coordinate.empty()) return {DenseEnd::converged, gap, {}};
        if (steps >= limit) return {DenseEnd::limit, gap, {}};
        if (steps % kBetweenChecks == kBetweenChecks - 1) control.check();

        const auto& k = direction_.coordinate;
        double slope = 0, size = 0;
        touched.clear();
        moved.clear();
        for (std::size_t a = 0; a < k.size(); ++a) {
            const double d = direction_.speed[a];
            slope += d * double(f_[k[a]]);
            size += d * d * std::abs(double(gram_[k[a] * stride_ + k[a]]));
            touched.push_back(set_[k[a]]);
            moved.push_back(t[set_[k[a]]]);
        }
        const double floor = std::max(kFloor<K> * size, kTiny);
        if (exact_step(h_, touched, direction_.speed, slope, curvature(), floor, moved) == StepEnd::unbounded)
            return {DenseEnd::unbounded, gap, {touched, direction_.speed}};
        bool any = false;
        for (std::size_t a = 0; a < k.size(); ++a) {
            const double from = t[touched[a]];
            t[touched[a]] = moved[a];
            moved[a] -= from;
            any = any || moved[a] != 0;
            refresh_sides(k[a], t[touched[a]]);
        }
        if (!any) return {DenseEnd::stuck, gap, {}};
        ++control.iterations;
        for (std::size_t a = 0; a < k.size(); a += 2) {
            const bool two = a + 1 < k.size();
            update(k[a], moved[a], two ? k[a + 1] : k[a], two ? moved[a + 1] : 0.0);
        }
    }
}

template class Dense<float, float>;
template class Dense<double, float>;
template class Dense<double, double>;

}  // namespace kdsl
