// Newton steps on the free coordinates of a set; see newton_step.hpp.
#include "newton_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kdsl {

namespace {

using Int = std::int64_t;

constexpr Int kMost = 9216;    // free coordinates
constexpr int kPasses = 8;     // directions for one step, each with more coordinates pinned
constexpr Int kCramped = 3;    // of the free coordinates one in so many is sorted by the room that it has
constexpr Int kFew = 500;      // free coordinates, of which any may be pinned
constexpr Int kColumns = 512;  // of a product in one task
// Nanoseconds of what a step always takes, and more where threads share it; for each entry of its matrix of gathering it,
// of solving with the factor once, and for one more column; for the cube of those that are held. Products of the
// factorisation in a nanosecond.
constexpr double kStart = 1e4, kShared = 5e4, kGather = 0.3, kSolve = 0.1, kSolves = 0.02, kEliminate = 0.1;
constexpr double kProducts = 150;
constexpr double kUsual = 1.3;   // times that, with what is pinned
constexpr double kLarger = 2;    // times the largest number on the diagonal asks for another factor
constexpr double kLittle = 0.1;  // of what a step is to solve may be left

// Whether pinning `some` of m coordinates of a factor, `below` numbers from the last, is quicker than another factor.
bool worth_pinning(Int some, Int below, Int m) {
    return kSolves * double(some * below * below) <= double(m * m * std::max(m, kFew)) / (3 * kProducts);
}

}  // namespace

template <class T, class K>
void NewtonStep<T, K>::look(const std::vector<double>& t, const T* above, const T* below) {
    free_.clear();
    inside_.clear();
    for (Int i = 0; i < Int(set_.size()); ++i) {
        if (above[i] != below[i]) continue;
        const Int k = set_[i], p = h_.ahead(k, t[k], true);
        free_.push_back({i, h_.left[p] - t[k], h_.right[p] - t[k]});
        inside_.push_back({k, h_.curvature[p]});
    }
    const double m = double(free_.size()), threads = double(pool_.size()), size = double(sizeof(K) / sizeof(float));
    const Difference differs = standing_.difference(inside_);
    renewed_ = m * m * (m / (3 * kProducts * threads) * size + kGather) + solving(0, 0);
    brought_ = standing_.has_room(differs.lacking) ? solving(differs.held + 2 * differs.lacking, differs.held) : kInfinity;
}

// Nanoseconds of a direction with as many more columns to go through the factor, under so many conditions.
template <class T, class K>
double NewtonStep<T, K>::solving(Int columns, Int conditions) const {
    const double m = double(free_.size()), size = double(sizeof(K) / sizeof(float)), held = double(conditions);
    return m * m * size * (kSolve + kSolves * double(columns) / double(pool_.size())) + kEliminate * held * held * held;
}

template <class T, class K>
bool NewtonStep<T, K>::possible() const {
    return free_.size() > 1 && Int(free_.size()) <= kMost;
}

template <class T, class K>
double NewtonStep<T, K>::start() const {
    return kStart + (pool_.size() > 1 ? kShared : 0);
}

template <class T, class K>
double NewtonStep<T, K>::cost() const {
    return kUsual * (start() + std::min(renewed_, brought_));
}

template <class T, class K>
Indices NewtonStep<T, K>::places() const {
    Indices out;
    for (const Free& one : free_) out.push_back(one.place);
    return out;
}

template <class T, class K>
NewtonEnd NewtonStep<T, K>::take(std::vector<double>& t, const T* f, const T* above, std::vector<double>& change) {
    const std::size_t m = free_.size();
    const bool stood = stands();
    spent_ = start();
    Way way = direction(f, above);
    change = product(way.by);
    if (stood && !solves(way, change)) {
        standing_.forget();
        brought_ = kInfinity;
        way = direction(f, above);
        change = product(way.by);
    }
    double slope = 0, bend = 0, clear = kInfinity;
    for (std::size_t a = 0; a < m; ++a) {
        const Free& one = free_[a];
        const double by = way.by[a];
        slope += by * (double(f[one.place]) + double(above[one.place]));
        bend += by * (change[one.place] + by * inside_[a].curvature);
        if (by != 0) clear = std::min(clear, (by > 0 ? one.above : one.below) / by);
    }
    const double best = bend > 0 ? -slope / bend : kInfinity;
    const double tau = way.inside && best > 0.5 ? 1.0 : std::min(best, clear);  // all of it descends if best > 1/2
    if (!(slope < 0) || !(tau > 0) || std::isinf(tau)) return NewtonEnd::failed;
    for (std::size_t a = 0; a < m; ++a) {
        const double by = way.by[a], end = by > 0 ? free_[a].above : free_[a].below;
        t[inside_[a].k] += by != 0 && end / by <= tau ? end : tau * by;
    }
    for (double& x : change) x *= tau;
    return tau == clear && !way.inside ? NewtonEnd::blocked : NewtonEnd::taken;
}

// Whether d leaves little of what it is to solve, but for the ridge of the factor.
template <class T, class K>
bool NewtonStep<T, K>::solves(const Way& way, const std::vector<double>& image) const {
    double most = 0;
    for (const double rest : way.rest) most = std::max(most, std::abs(rest));
    for (std::size_t a = 0; a < free_.size(); ++a) {
        if (way.rest[a] == 0) continue;
        const double stiff = inside_[a].curvature + standing_.ridge();
        if (!(std::abs(way.rest[a] + image[free_[a].place] + stiff * way.by[a]) <= kLittle * most)) return false;
    }
    return true;
}

// Those that d would carry out of their pieces are pinned at the ends, unless they are too many.
template <class T, class K>
typename NewtonStep<T, K>::Way NewtonStep<T, K>::direction(const T* f, const T* above) {
    block_.fetch(places(), pool_);
    spent_ += stands() ? brought_ : renewed_;
    if (stands())
        append_to_factor();
    else
        renew_factor();
    const Int n = standing_.size(), m = Int(free_.size());
    Indices at(m), who(n, -1), held;  // the places of the free in the factor; who is where; places of those who are not
    std::vector<double> gradient(n, 0.0);
    for (Int a = 0; a < m; ++a) {
        at[a] = standing_.place(inside_[a]);
        who[at[a]] = a;
        gradient[at[a]] = double(f[free_[a].place]) + double(above[free_[a].place]);
    }
    for (Int i = 0; i < n; ++i)
        if (who[i] < 0) held.push_back(i);
    Int r = 0;
    const std::vector<double> rows = rows_at(at, r);
    NewtonSystem<K> system(standing_.factor(), rows, r, gradient, micro_, pool_);
    if (!held.empty()) system.pin(held, std::vector<double>(held.size(), 0.0));
    Way way{std::vector<double>(m, 0.0), std::vector<double>(m, 0.0)};
    std::vector<char> is_pinned(n, 0);
    Int conditions = r + Int(held.size());
    std::vector<double> d, multipliers;
    for (int pass = 1; system.direction(d, multipliers); ++pass) {
        Indices out;
        std::vector<double> end;
        for (Int i = 0; i < n; ++i) {
            const Int a = who[i];
            if (a < 0) continue;
            const bool solved = !is_pinned[i] && !standing_.factor().is_frozen(i);
            way.by[a] = d[i];
            way.rest[a] = solved ? gradient[i] : 0.0;
            for (Int c = 0; c < r && solved; ++c) way.rest[a] += multipliers[c] * rows[c * n + i];
            if (d[i] >= free_[a].below && d[i] <= free_[a].above) continue;
            out.push_back(i);
            end.push_back(std::clamp(d[i], free_[a].below, free_[a].above));
        }
        way.inside = out.empty();
        if (way.inside || pass == kPasses || !worth_pinning(Int(out.size()), n - out.front(), n)) break;
        for (const Int i : out) is_pinned[i] = 1;
        conditions += Int(out.size());
        spent_ += solving(Int(out.size()), conditions);
        system.pin(out, end);
    }
    return way;
}

// Another factor, of the free coordinates, those with the least room last.
template <class T, class K>
void NewtonStep<T, K>::renew_factor() {
    const Int m = Int(free_.size());
    const Indices order = cramped_last();
    std::vector<Inside> inside(m);
    Indices place(m);
    for (Int a = 0; a < m; ++a) inside[a] = inside_[order[a]], place[a] = free_[order[a]].place;
    K* const matrix = standing_.start(inside);
    const Int stride = standing_.stride();
    pool_.run(m, [&](Int a, int) {
        const K* const row = block_.at(place[a]);
        K* const to = matrix + a * stride;
        for (Int b = a; b < m; ++b) to[b] = row[place[b]];
        to[a] += K(inside[a].curvature);
    });
    standing_.factorise(pool_);
}

// The free coordinates that the factor lacks, with columns over all that it has: some of these may not be in the set.
template <class T, class K>
void NewtonStep<T, K>::append_to_factor() {
    std::vector<Inside> more;
    Indices place, ids;
    for (std::size_t a = 0; a < inside_.size(); ++a)
        if (standing_.place(inside_[a]) < 0)
            more.push_back(inside_[a]), place.push_back(free_[a].place), ids.push_back(inside_[a].k);
    if (more.empty()) return;
    const Int n = standing_.size(), count = Int(more.size()), here = Int(set_.size());
    Indices where(n), absent;  // places in the set, or beyond it among the absent
    for (Int i = 0; i < n; ++i) {
        const Int k = standing_.coordinates()[i].k;
        const auto found = std::ranges::lower_bound(set_, k);
        const bool there = found != set_.end() && *found == k;
        where[i] = there ? found - set_.begin() : here + Int(absent.size());
        if (!there) absent.push_back(k);
    }
    const std::vector<K> beyond = block_.between(absent, ids, pool_);
    std::vector<double> columns(std::size_t(count * n)), corner(std::size_t(count * count));
    for (Int c = 0; c < count; ++c) {
        const K* const row = block_.at(place[c]);
        for (Int i = 0; i < n; ++i)
            columns[c * n + i] = double(where[i] < here ? row[where[i]] : beyond[(where[i] - here) * count + c]);
        for (Int e = 0; e < count; ++e) corner[c * count + e] = double(row[place[e]]);
        corner[c * count + c] += more[c].curvature;
        if (corner[c * count + c] > kLarger * standing_.largest()) return renew_factor();
    }
    standing_.append(more, std::move(columns), std::move(corner), pool_);
}

// The places in free_, those with the least room last.
template <class T, class K>
Indices NewtonStep<T, K>::cramped_last() const {
    const Int m = Int(free_.size()), cramped = m / kCramped;
    Indices order(m);
    std::iota(order.begin(), order.end(), 0);
    const auto more = [&](Int a, Int b) {
        const auto room = [this](Int k) { return std::min(free_[k].above, -free_[k].below); };
        return room(a) != room(b) ? room(a) > room(b) : a < b;
    };
    std::nth_element(order.begin(), order.end() - cramped, order.end(), more);
    std::sort(order.begin(), order.end() - cramped);
    std::sort(order.end() - cramped, order.end(), more);
    return order;
}

// Q times a vector of the free coordinates, over the whole set.
template <class T, class K>
std::vector<double> NewtonStep<T, K>::product(const std::vector<double>& way) const {
    Indices moving;
    for (std::size_t a = 0; a < way.size(); ++a)
        if (way[a] != 0) moving.push_back(Int(a));
    const Int n = Int(set_.size()), count = Int(moving.size());
    std::vector<double> image(n, 0.0);
    pool_.run((n + kColumns - 1) / kColumns, [&](Int task, int) {
        const Int first = task * kColumns, width = std::min(kColumns, n - first);
        for (Int a = 0; a < count; a += 4) {
            const K* from[4];
            double by[4];
            for (Int p = 0; p < 4; ++p) {
                const Int one = moving[std::min(a + p, count - 1)];
                from[p] = block_.at(free_[one].place) + first;
                by[p] = a + p < count ? way[one] : 0.0;
            }
            micro_.combine<K>()(&image[first], from, by, width);
        }
    });
    return image;
}

// For each free coordinate its column of the rows, at its place in the factor: D_c where classes are coupled, else 1 in
// the place of its class. r columns of as many numbers as the factor has.
template <class T, class K>
std::vector<double> NewtonStep<T, K>::rows_at(const Indices& at, Int& r) const {
    const Int m = Int(free_.size()), n = standing_.size();
    Indices cls(m), row(classes_.size(), -1);
    r = 0;
    for (Int a = 0, c = 0; a < m; ++a) {
        while (inside_[a].k >= classes_.begin[c + 1]) ++c;
        cls[a] = c;
        if (row[c] < 0 && !classes_.is_free(c)) row[c] = r++;
    }
    if (!classes_.decoupled) r = classes_.rank;
    std::vector<double> rows(n * r, 0.0);
    for (Int a = 0; a < m; ++a) {
        if (!classes_.decoupled)
            for (Int e = 0; e < r; ++e) rows[e * n + at[a]] = classes_.direction[cls[a] * r + e];
        else if (row[cls[a]] >= 0)
            rows[row[cls[a]] * n + at[a]] = 1.0;
    }
    return rows;
}

template class NewtonStep<float, float>;
template class NewtonStep<double, float>;
template class NewtonStep<double, double>;

}  // namespace kdsl
