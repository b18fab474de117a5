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
constexpr int kBetweenExchanges = 8;
constexpr std::int64_t kBeforeNewton = 10;   // steps for each coordinate before a Newton step is thought of
constexpr int kNewtonSteps = 20;             // in a row, while coordinates keep meeting their break points
constexpr std::int64_t kMostNewton = 2000;   // free coordinates

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
      micro_(micro),
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
double Dense<T, K>::choose(double eps) {
    const Segment* worst = nullptr;
    double gap = -kInfinity;
    for (const Segment& s : segments_) {
        const double violation = s.free ? std::max(-double(s.extremes.rise), double(s.extremes.fall))
                                        : double(s.extremes.fall) - double(s.extremes.rise);
        if (violation > gap) gap = violation, worst = &s;
    }
    direction_.clear();
    // Pairs do most of the work; what descends over several classes is asked for now and then, and before the end.
    if (exchange_ != nullptr && (!(gap > eps) || ++since_exchange_ >= kBetweenExchanges)) {
        since_exchange_ = 0;
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
    std::int64_t since_newton = 0, patience = kBeforeNewton * n_;
    for (std::int64_t steps = 0;; ++steps) {
        const double gap = choose(eps);
        control.gap = gap;
        if (!(gap > eps) || direction_.coordinate.empty()) return {DenseEnd::converged, gap, {}};
        if (steps >= limit) return {DenseEnd::limit, gap, {}};
        if (steps % kBetweenChecks == kBetweenChecks - 1) control.check();
        if (++since_newton > patience) {
            since_newton = 0;
            if (patience < 2 * newton_cost()) {
                patience = 2 * newton_cost();
            } else {
                if (!newton(t, control)) patience *= 2;
                continue;
            }
        }
        double slope = 0;
        for (std::size_t a = 0; a < direction_.coordinate.size(); ++a)
            slope += direction_.speed[a] * double(f_[direction_.coordinate[a]]);
        bool any = false;
        if (move(t, slope, curvature(), any) == StepEnd::unbounded)
            return {DenseEnd::unbounded, gap, {touched_, direction_.speed}};
        if (!any) return {DenseEnd::stuck, gap, {}};
        ++control.iterations;
    }
}

template <class T, class K>
void Dense<T, K>::gradient(std::vector<double>& f) const {
    for (std::int64_t i = 0; i < n_; ++i) f[set_[i]] = double(f_[i]);
}

// The exact step along direction_, whose f'd and d'Qd are given: t, the sides and f follow.
template <class T, class K>
StepEnd Dense<T, K>::move(std::vector<double>& t, double slope, double curvature, bool& any) {
    const auto& k = direction_.coordinate;
    double size = 0;
    touched_.clear();
    moved_.clear();
    for (std::size_t a = 0; a < k.size(); ++a) {
        const double d = direction_.speed[a];
        size += d * d * std::abs(double(gram_[k[a] * stride_ + k[a]]));
        touched_.push_back(set_[k[a]]);
        moved_.push_back(t[set_[k[a]]]);
    }
    const double floor = std::max(kFloor<K> * size, kTiny);
    if (exact_step(h_, touched_, direction_.speed, slope, curvature, floor, moved_) == StepEnd::unbounded)
        return StepEnd::unbounded;
    any = false;
    for (std::size_t a = 0; a < k.size(); ++a) {
        const double from = t[touched_[a]];
        t[touched_[a]] = moved_[a];
        moved_[a] -= from;
        any = any || moved_[a] != 0;
        refresh_sides(k[a], t[touched_[a]]);
    }
    if (any)
        for (std::size_t a = 0; a < k.size(); a += 2) {
            const bool two = a + 1 < k.size();
            update(k[a], moved_[a], two ? k[a + 1] : k[a], two ? moved_[a + 1] : 0.0);
        }
    return StepEnd::taken;
}

// Steps of the usual kind that cost as much as one Newton step; fills free_.
template <class T, class K>
std::int64_t Dense<T, K>::newton_cost() {
    free_.clear();
    for (std::int64_t i = 0; i < n_; ++i)
        if (above_[i] == below_[i]) free_.push_back(i);
    const double m = double(free_.size());
    return std::int64_t((m * m * m / 12 + double(n_) * m) / (double(n_) + 50)) + 1;
}

// Newton steps on the free coordinates until one ends inside its pieces; false where none helped.
template <class T, class K>
bool Dense<T, K>::newton(std::vector<double>& t, Control& control) {
    bool helped = false;
    for (int repeat = 0; repeat < kNewtonSteps; ++repeat) {
        newton_cost();
        const std::int64_t m = std::int64_t(free_.size());
        if (m < 2 || m > kMostNewton) return helped;
        control.check();
        std::vector<double> matrix(m * m), gradient(m);
        for (std::int64_t a = 0; a < m; ++a) {
            const K* row = gram_ + free_[a] * stride_;
            for (std::int64_t b = a; b < m; ++b) matrix[a * m + b] = double(row[free_[b]]);
            matrix[a * m + a] = double(diagonal_[free_[a]]);
            gradient[a] = double(f_[free_[a]]) + double(above_[free_[a]]);
        }
        std::int64_t r = 0;
        const std::vector<double> rows = free_rows(r);
        const std::vector<double> d = newton_direction(matrix, gradient, rows, r, micro_);
        direction_.clear();
        double slope = 0, bend = 0, fall = 0;
        for (std::int64_t a = 0; a < m; ++a)
            if (d[a] != 0) {
                direction_.add(free_[a], d[a]);
                slope += d[a] * double(f_[free_[a]]);
                fall += d[a] * gradient[a];
            }
        for (std::int64_t a = 0; a < m; ++a) {
            const K* row = gram_ + free_[a] * stride_;
            double image = 0;
            for (std::int64_t b = 0; b < m; ++b) image += double(row[free_[b]]) * d[b];
            bend += d[a] * image;
        }
        bool any = false;
        if (!(fall < 0) || move(t, slope, bend, any) == StepEnd::unbounded || !any) return helped;
        ++control.iterations;
        helped = true;
        bool all_inside = true;
        for (const std::int64_t i : direction_.coordinate) all_inside = all_inside && above_[i] == below_[i];
        if (all_inside) return true;
    }
    return helped;
}

// For each free coordinate its column of the rows: D_c where classes are coupled, else 1 in the place of its class.
template <class T, class K>
std::vector<double> Dense<T, K>::free_rows(std::int64_t& r) const {
    const std::int64_t m = std::int64_t(free_.size());
    std::vector<std::int64_t> place(m, -1), cls(m);
    r = 0;
    std::int64_t a = 0;
    for (const Segment& s : segments_) {
        const std::int64_t first = a;
        for (; a < m && free_[a] < s.begin + s.count; ++a) cls[a] = s.cls, place[a] = s.free ? -1 : r;
        r += a > first && !s.free;
    }
    if (exchange_ != nullptr) r = classes_.rank;
    std::vector<double> rows(m * r, 0.0);
    for (a = 0; a < m; ++a) {
        if (exchange_ != nullptr)
            std::copy_n(&classes_.direction[cls[a] * r], r, &rows[a * r]);
        else if (place[a] >= 0)
            rows[a * r + place[a]] = 1.0;
    }
    return rows;
}

template class Dense<float, float>;
template class Dense<double, float>;
template class Dense<double, double>;

}  // namespace kdsl
