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
constexpr std::int64_t kFewest = 200;  // steps between two looks at how fast the gap falls, as many as coordinates,
constexpr double kOften = 0.5;         // or this part of a Newton step's cost, where there is a factor for it
constexpr double kRow = 4;             // windows of steps that blocked Newton steps in a row may cost
// Nanoseconds: of a step beside its passes, and of these for each column, where the block is far away as well.
constexpr double kStep = 100, kColumn = 0.22, kColumnFar = 0.41, kFar = 33e6;

// How fast the gap falls: of each window of steps the least counts.
struct Watch {
    std::int64_t window;
    std::int64_t steps = 0;
    double before = kInfinity, least = kInfinity;

    // The steps that are left to `goal` at the rate of the last window; 0 inside one.
    double left(double gap, double goal) {
        least = std::min(least, gap);
        if (++steps < window) return 0;
        const double fall = std::log(before / least);
        const double left = fall > 0 ? double(window) * std::log(least / goal) / fall : kInfinity;
        before = least;
        least = kInfinity;
        steps = 0;
        return left;
    }
};

}  // namespace

template <class T, class K>
Dense<T, K>::Dense(const Separable& h, const Classes& classes, const std::vector<std::int64_t>& set,
                   GramBlock<K>& block, StandingFactor<K>& standing, const Micro& micro, Pool& pool,
                   Exchange* exchange)
    : h_(h),
      set_(set),
      block_(block),
      n_(std::int64_t(set.size())),
      passes_(micro.passes<T, K>()),
      exchange_(exchange),
      step_(kStep + (double(n_) * double(n_) * double(sizeof(K)) > kFar ? kColumnFar : kColumn) * double(n_)),
      record_(standing.record),
      newton_(h, classes, set, block, standing, micro, pool),
      f_(aligned<T>(n_)),
      above_(aligned<T>(n_)),
      below_(aligned<T>(n_)),
      diagonal_(aligned<T>(n_)),
      around_(n_),
      own_(n_) {
    for (std::int64_t k = 0; k < n_; ++k) own_[k] = block.diagonal(k);
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
    diagonal_[i] = T(own_[i] + sides.curvature);
    around_[i] = h_.around(set_[i], t);
}

template <class T, class K>
void Dense<T, K>::update(std::int64_t a, double da, std::int64_t b, double db) {
    const K *const row_a = block_.row(a), *const row_b = block_.row(b);
    for (Segment& s : segments_)
        s.extremes = passes_.update(&f_[s.begin], row_a + s.begin, row_b + s.begin, T(da), T(db), &above_[s.begin],
                                    &below_[s.begin], s.count);
}

// Adds the coordinate at `place` of a segment to direction_. There is none where t has left all numbers.
template <class T, class K>
void Dense<T, K>::go(std::int64_t begin, std::int64_t place, double speed) {
    if (place >= 0) direction_.add(begin + place, speed);
}

// Fills direction_ with the way to go and returns m - M; it is left empty where there is none.
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
                go(s.begin, mover.rises ? s.extremes.riser : s.extremes.faller,
                   mover.rises ? 2 * mover.weight : -2 * mover.weight);
            }
            if (direction_.coordinate.size() < exchange_->movers().size()) direction_.clear();
            return gap;
        }
        gap = std::max(gap, coupled);
    }
    if (worst == nullptr || !(gap > 0)) return gap;
    const Extremes<T>& e = worst->extremes;
    if (worst->free) {
        const bool rises = -double(e.rise) >= double(e.fall);
        go(worst->begin, rises ? e.riser : e.faller, rises ? 1.0 : -1.0);
        return gap;
    }
    if (e.riser < 0 || e.faller < 0) return gap;
    const std::int64_t i = worst->begin + e.riser;
    std::int64_t j = passes_.second_order(&f_[worst->begin], &below_[worst->begin],
                                          block_.row(i) + worst->begin, &diagonal_[worst->begin], e.rise,
                                          diagonal_[i], T(kFloor<K>), worst->count);
    if (j < 0) j = e.faller;
    direction_.add(i, 1.0);
    direction_.add(worst->begin + j, -1.0);
    return gap;
}

template <class T, class K>
double Dense<T, K>::curvature() {
    double sum = 0;
    const auto& [k, speed] = direction_;
    for (std::size_t a = 0; a < k.size(); ++a) {
        const K* const row = block_.row(k[a]);  // whose own entry is rounded as the others are, which own_ is not
        sum += speed[a] * speed[a] * double(row[k[a]]);
        for (std::size_t b = a + 1; b < k.size(); ++b) sum += 2 * speed[a] * speed[b] * double(row[k[b]]);
    }
    return sum;
}

template <class T, class K>
DenseResult Dense<T, K>::run(std::vector<double>& t, const std::vector<double>& f, double eps, double goal,
                             std::int64_t limit, Control& control) {
    for (std::int64_t i = 0; i < n_; ++i) {
        f_[i] = T(f[i]);
        refresh_sides(i, t[set_[i]]);
    }
    update(0, 0.0, 0, 0.0);
    limit = std::min(limit, control.remaining());
    Watch watch{window(t)};
    for (std::int64_t steps = 0;; ++steps) {
        const double gap = choose(eps);
        control.gap = gap;
        if (!(gap > eps) || direction_.coordinate.empty()) return {DenseEnd::converged, gap, {}};
        if (steps >= limit) return {DenseEnd::limit, gap, {}};
        if (steps % kBetweenChecks == kBetweenChecks - 1) control.check();
        record_.since += step_;
        if (const double left = watch.left(gap, goal); left > 0 && newton_pays(left * step_, t)) {
            control.check();
            NewtonEnd end = newton(t);
            double spent = newton_.spent();
            const double most = kRow * step_ * double(watch.window);
            const auto again = [&] { return end == NewtonEnd::blocked && spent < most && newton_cost(t) < kInfinity; };
            for (; steps + 1 < limit && again(); ++steps) {
                control.check();
                ++control.iterations;
                end = newton(t);
                spent += newton_.spent();
            }
            control.iterations += end != NewtonEnd::failed;
            record_.tried(end == NewtonEnd::taken, watch.before, spent);
            continue;
        }
        if (short_step(t)) {
            ++control.iterations;
            continue;
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
    for (std::int64_t i = 0; i < n_; ++i) f[i] = double(f_[i]);
}

// The exact step of a pair, the first rising, where it ends inside the pieces that it begins in, which most do; false
// and nothing done where it does not.
template <class T, class K>
bool Dense<T, K>::short_step(std::vector<double>& t) {
    if (direction_.coordinate.size() != 2 || exchange_ != nullptr) return false;
    const std::int64_t i = direction_.coordinate[0], j = direction_.coordinate[1];
    const Separable::Piece up = around_[i].over, down = around_[j].under;
    const K* const row = block_.row(i);
    const double curvature = double(row[i]) - 2 * double(row[j]) + double(block_.row(j)[j]);
    const double floor = std::max(kFloor<K> * (std::abs(own_[i]) + std::abs(own_[j])), kTiny);
    double &rising = t[set_[i]], &falling = t[set_[j]];
    const double slope = double(f_[i]) - double(f_[j]) + up.derivative(rising) - down.derivative(falling);
    const double bend = up.curvature + down.curvature + std::max(curvature, floor);
    if (!(bend > floor)) return false;  // it may have no end
    const double tau = -slope / bend;
    const double high = rising + tau, low = falling - tau;
    const auto inside = [](double from, double to, double room, double end) {
        return to != from && (std::isinf(end) || room > kSnap * std::max(std::abs(end), std::abs(from)));
    };
    if (!(tau > 0) || !inside(rising, high, up.right - high, up.right)) return false;
    if (!inside(falling, low, low - down.left, down.left)) return false;
    const double by = high - rising, back = low - falling;
    rising = high, falling = low;
    around_[i].under = up, around_[j].over = down;
    above_[i] = below_[i] = T(up.derivative(high));
    above_[j] = below_[j] = T(down.derivative(low));
    diagonal_[i] = T(own_[i] + up.curvature), diagonal_[j] = T(own_[j] + down.curvature);
    update(i, by, j, back);
    return true;
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
        size += d * d * std::abs(own_[k[a]]);
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

// Nanoseconds of a Newton step; infinite where there is none.
template <class T, class K>
double Dense<T, K>::newton_cost(const std::vector<double>& t) {
    newton_.look(t, &above_[0], &below_[0]);
    return newton_.possible() ? newton_.cost() : kInfinity;
}

// Steps between two looks at how fast the gap falls.
template <class T, class K>
std::int64_t Dense<T, K>::window(const std::vector<double>& t) {
    const double usual = double(n_);
    const double often = newton_.has_factor() ? kOften * newton_cost(t) / step_ : kInfinity;
    return std::max(std::int64_t(newton_.stands() ? std::min(usual, often) : usual), kFewest);
}

// Whether a Newton step is quicker than what is left for pairs, and it is time for one.
template <class T, class K>
bool Dense<T, K>::newton_pays(double left, const std::vector<double>& t) {
    return record_.since >= record_.patience * record_.cost && left > newton_cost(t);
}

// A Newton step on the coordinates that newton_cost() has found.
template <class T, class K>
NewtonEnd Dense<T, K>::newton(std::vector<double>& t) {
    std::vector<double> change;
    const NewtonEnd end = newton_.take(t, &f_[0], &above_[0], change);
    ++record_.made.steps;
    if (end == NewtonEnd::failed) return end;
    for (const std::int64_t i : newton_.places()) refresh_sides(i, t[set_[i]]);
    for (std::int64_t i = 0; i < n_; ++i) f_[i] = T(double(f_[i]) + change[i]);
    update(0, 0.0, 0, 0.0);
    return end;
}

template class Dense<float, float>;
template class Dense<double, float>;
template class Dense<double, double>;

}  // namespace kdsl
