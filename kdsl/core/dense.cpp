// Sequential minimal optimisation on a stored block; see dense.hpp.
#include "dense.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kdsl {

namespace {

// A curvature d'Qd below this times sum_k d_k^2 Q_kk cannot be told from rounding.
template <class K>
constexpr double kFloor = 4.0 * double(std::numeric_limits<K>::epsilon());

constexpr double kTiny = std::numeric_limits<double>::min();
constexpr std::int64_t kBetweenChecks = 256;
constexpr int kBetweenExchanges = 8;
constexpr std::int64_t kFewest = 200;       // steps between two looks at how fast the gap falls
constexpr std::int64_t kMostNewton = 9216;  // free coordinates in a Newton step
constexpr int kPasses = 8;                  // directions for one Newton step, each with more coordinates pinned,
constexpr std::int64_t kCramped = 3;        // of the free coordinates one in so many is sorted by the room that it has
constexpr std::int64_t kPin = 20;           // products of a factorisation to one of a pin in the same time, by 3
constexpr std::int64_t kFew = 500;          // free coordinates, of which any may be pinned
constexpr double kRow = 4;                  // windows of steps that blocked Newton steps in a row may cost
constexpr double kMostPatience = 64;
constexpr std::int64_t kColumns = 512;      // of a product in one task
// Nanoseconds: of a step beside its passes, and of these for each column, where the block is far away as well.
constexpr double kStep = 100, kColumn = 0.22, kColumnFar = 0.41, kFar = 33e6;
// Of a Newton step: what it always takes, for each entry of its matrix, and products of the factorisation in one.
constexpr double kStart = 3e5, kGather = 1.2, kProducts = 150;
constexpr double kUsual = 1.3;  // times that, with what is pinned

// How fast the gap falls: of each window of steps the least counts.
struct Watch {
    std::int64_t window;
    double patience = 1;  // how many times the cost of a Newton step has to be expected without it
    std::int64_t steps = 0;
    double before = kInfinity, least = kInfinity, at_last = kInfinity;

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
    // What a Newton step that did not help much calls for.
    void tried(bool helped) {
        patience = helped && before < 0.5 * at_last ? 1 : std::min(2 * patience, kMostPatience);
        at_last = before;
    }
};

// Whether pinning `some` of m free coordinates, `below` numbers from the last, is quicker than what it spares.
bool worth_pinning(std::int64_t some, std::int64_t below, std::int64_t m) {
    return some * below * below * kPin <= m * m * std::max(m, kFew);
}

}  // namespace

template <class T, class K>
Dense<T, K>::Dense(const Separable& h, const Classes& classes, const std::vector<std::int64_t>& set,
                   GramBlock<K>& block, const Micro& micro, Pool& pool, Exchange* exchange)
    : h_(h),
      classes_(classes),
      set_(set),
      block_(block),
      n_(std::int64_t(set.size())),
      micro_(micro),
      passes_(micro.passes<T, K>()),
      pool_(pool),
      exchange_(exchange),
      f_(aligned<T>(n_)),
      above_(aligned<T>(n_)),
      below_(aligned<T>(n_)),
      diagonal_(aligned<T>(n_)),
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
}

template <class T, class K>
void Dense<T, K>::update(std::int64_t a, double da, std::int64_t b, double db) {
    const K *const row_a = block_.row(a), *const row_b = block_.row(b);
    for (Segment& s : segments_)
        s.extremes = passes_.update(&f_[s.begin], row_a + s.begin, row_b + s.begin, T(da), T(db), &above_[s.begin],
                                    &below_[s.begin], s.count);
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
    Watch watch{std::max(n_, kFewest)};
    for (std::int64_t steps = 0;; ++steps) {
        const double gap = choose(eps);
        control.gap = gap;
        if (!(gap > eps) || direction_.coordinate.empty()) return {DenseEnd::converged, gap, {}};
        if (steps >= limit) return {DenseEnd::limit, gap, {}};
        if (steps % kBetweenChecks == kBetweenChecks - 1) control.check();
        if (const double left = watch.left(gap, goal); left > 0 && left > watch.patience * newton_cost()) {
            if (free_.size() > 1 && std::int64_t(free_.size()) <= kMostNewton) {
                NewtonEnd end = newton(t, control);
                for (double spent = newton_cost(); end == NewtonEnd::blocked && spent < kRow * double(watch.window);)
                    end = newton(t, control), spent += newton_cost();
                watch.tried(end != NewtonEnd::failed);
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
    for (std::int64_t i = 0; i < n_; ++i) f[i] = double(f_[i]);
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

// Steps of the usual kind that cost as much as one Newton step; fills free_.
template <class T, class K>
double Dense<T, K>::newton_cost() {
    free_.clear();
    for (std::int64_t i = 0; i < n_; ++i)
        if (above_[i] == below_[i]) free_.push_back(i);
    const double m = double(free_.size());
    const double factor = m * m * m / (3 * kProducts * double(pool_.size())) * double(sizeof(K) / sizeof(float));
    const double column = double(n_) * double(n_) * double(sizeof(K)) > kFar ? kColumnFar : kColumn;
    return kUsual * (kStart + factor + kGather * m * m) / (kStep + column * double(n_));
}

// A Newton step on the free coordinates, `blocked` where it ends at a break point.
template <class T, class K>
NewtonEnd Dense<T, K>::newton(std::vector<double>& t, Control& control) {
    const std::int64_t m = std::int64_t(free_.size());
    control.check();
    std::vector<Room> room(m);
    for (std::int64_t a = 0; a < m; ++a) {
        const std::int64_t k = set_[free_[a]], p = h_.ahead(k, t[k], true);
        room[a] = {h_.left[p] - t[k], h_.right[p] - t[k], h_.curvature[p]};
    }
    std::vector<double> way(m, 0.0);
    const bool inside = newton_way(room, way);
    const std::vector<double> image = product(way);
    double slope = 0, bend = 0, clear = kInfinity;
    for (std::int64_t a = 0; a < m; ++a) {
        const std::int64_t i = free_[a];
        slope += way[a] * (double(f_[i]) + double(above_[i]));
        bend += way[a] * (image[i] + way[a] * room[a].curvature);
        if (way[a] != 0) clear = std::min(clear, (way[a] > 0 ? room[a].above : room[a].below) / way[a]);
    }
    if (!(slope < 0)) return NewtonEnd::failed;
    const double best = bend > 0 ? -slope / bend : kInfinity;
    const double tau = inside && best > 0.5 ? 1.0 : std::min(best, clear);  // all of it descends if best > 1/2
    if (!(tau > 0) || std::isinf(tau)) return NewtonEnd::failed;
    for (std::int64_t a = 0; a < m; ++a) {
        const std::int64_t i = free_[a], k = set_[i];
        const double end = way[a] > 0 ? room[a].above : room[a].below;
        t[k] += way[a] != 0 && end / way[a] <= tau ? end : tau * way[a];
        refresh_sides(i, t[k]);
    }
    for (std::int64_t i = 0; i < n_; ++i) f_[i] = T(double(f_[i]) + tau * image[i]);
    update(0, 0.0, 0, 0.0);
    ++control.iterations;
    return tau == clear && !inside ? NewtonEnd::blocked : NewtonEnd::taken;
}

// The Newton direction of the free coordinates, those that it would carry out of their pieces pinned at the ends, again
// and again; false where some are still carried out.
template <class T, class K>
bool Dense<T, K>::newton_way(const std::vector<Room>& room, std::vector<double>& way) {
    const std::int64_t m = std::int64_t(free_.size());
    std::int64_t r = 0;
    const std::vector<double> rows = free_rows(r);
    const std::vector<std::int64_t> order = cramped_last(room);
    const std::int64_t stride = (m + 31) / 32 * 32;  // whole lines of the cache
    const Aligned<K> matrix = aligned<K>(std::size_t(m * stride));
    std::vector<double> gradient(m), columns(m * r);
    block_.fetch(free_, pool_);
    pool_.run(m, [&](std::int64_t a, int) {
        const std::int64_t i = free_[order[a]];
        const K* row = block_.at(i);
        for (std::int64_t b = a; b < m; ++b) matrix[a * stride + b] = row[free_[order[b]]];
        matrix[a * stride + a] += K(room[order[a]].curvature);
        gradient[a] = double(f_[i]) + double(above_[i]);
        for (std::int64_t c = 0; c < r; ++c) columns[c * m + a] = rows[order[a] * r + c];
    });
    NewtonSystem<K> system(matrix.get(), m, stride, std::move(columns), r, std::move(gradient), micro_, pool_);
    std::vector<double> d;
    for (int pass = 1;; ++pass) {
        if (!system.direction(d)) return false;
        std::vector<std::int64_t> out;
        std::vector<double> end;
        for (std::int64_t a = 0; a < m; ++a) {
            const std::int64_t k = order[a];
            way[k] = d[a];
            if (d[a] >= room[k].below && d[a] <= room[k].above) continue;
            out.push_back(a);
            end.push_back(std::clamp(d[a], room[k].below, room[k].above));
        }
        if (out.empty()) return true;
        if (pass == kPasses || !worth_pinning(std::int64_t(out.size()), m - out.front(), m)) return false;
        system.pin(out, end);
    }
}

// The places in free_, those with the least room last.
template <class T, class K>
std::vector<std::int64_t> Dense<T, K>::cramped_last(const std::vector<Room>& room) const {
    const std::int64_t m = std::int64_t(room.size()), cramped = m / kCramped;
    std::vector<std::int64_t> order(m);
    std::iota(order.begin(), order.end(), 0);
    const auto more = [&](std::int64_t a, std::int64_t b) {
        const double left = std::min(room[a].above, -room[a].below), right = std::min(room[b].above, -room[b].below);
        return left != right ? left > right : a < b;
    };
    std::nth_element(order.begin(), order.end() - cramped, order.end(), more);
    std::sort(order.begin(), order.end() - cramped);
    std::sort(order.end() - cramped, order.end(), more);
    return order;
}

// Q times a vector of the free coordinates, over the whole set.
template <class T, class K>
std::vector<double> Dense<T, K>::product(const std::vector<double>& way) const {
    std::vector<std::int64_t> rows;
    for (std::size_t a = 0; a < way.size(); ++a)
        if (way[a] != 0) rows.push_back(std::int64_t(a));
    std::vector<double> image(n_, 0.0);
    const std::int64_t count = std::int64_t(rows.size());
    pool_.run((n_ + kColumns - 1) / kColumns, [&](std::int64_t task, int) {
        const std::int64_t first = task * kColumns, width = std::min(kColumns, n_ - first);
        for (std::int64_t a = 0; a < count; a += 4) {
            const K* from[4];
            double by[4];
            for (std::int64_t p = 0; p < 4; ++p) {
                const std::int64_t place = rows[std::min(a + p, count - 1)];
                from[p] = block_.at(free_[place]) + first;
                by[p] = a + p < count ? way[place] : 0.0;
            }
            micro_.combine<K>()(&image[first], from, by, width);
        }
    });
    return image;
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
