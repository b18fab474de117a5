// The gradient that a solve goes by; see fresh_gradient.hpp.
#include "fresh_gradient.hpp"

#include <algorithm>
#include <numeric>

namespace kdsl {

namespace {

// A violation below this times the size of the gradient is what rounding makes of none.
constexpr double kRounding = 1e-13;
// The gradient is left as a stage kept it where this many times its drift would change nothing,
constexpr double kDrift = 8;
// and at first, where so many times what m - M was to get to would not.
constexpr double kMargin = 10;
// Coordinates whose gradient is computed afresh to learn the drift of all.
constexpr std::size_t kSample = 256;
// The drift of a coordinate is at most so many times the root of its mean square in the sample, or so many times the
// largest there.
constexpr double kDeviations = 6, kBeyond = 1.5;
// What rounding leaves of a coordinate beside another that was scaled alike, relative to it.
constexpr double kScaled = 4e-15;
// m - M is shown by computing afresh at most this part of the coordinates that matter, those that come within this part of
// what is asked for.
constexpr double kWorthSparing = 0.5, kNearEnds = 0.8;

}  // namespace

FreshGradient::FreshGradient(const Problem& problem, const Options& options, Pool& pool, Exchange* exchange,
                             Control& control)
    : problem_(problem),
      options_(options),
      pool_(pool),
      exchange_(exchange),
      control_(control),
      all_(problem.size()),
      f_(problem.size()),
      known_(problem.size()) {
    std::iota(all_.begin(), all_.end(), 0);
}

bool FreshGradient::begin(const std::vector<double>& t, Product known, bool exact) {
    Support from = support(t);
    const bool carried = carry(known, t, from);
    if (!from.rows.empty()) problem_.hessian.accumulate(from.rows, from.coefficient, all_, exact, f_.data(), pool_);
    entries_ += double(from.rows.size()) * double(all_.size());
    take(measured(t));
    return carried;
}

// Where that leaves less to add, f is set to a known product, scaled, and `from` to what is left. The factor is the one
// that half of the coordinates are below: where bounds grow alike, all multipliers may.
bool FreshGradient::carry(const Product& known, const std::vector<double>& t, Support& from) {
    std::vector<double> ratios;
    for (const std::int64_t k : from.rows)
        if (!known.t.empty() && known.t[k] != 0) ratios.push_back(t[k] / known.t[k]);
    if (ratios.empty()) return false;
    const auto middle = ratios.begin() + std::ptrdiff_t(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    const double factor = *middle;
    if (!std::isfinite(factor)) return false;
    Support rest;
    for (std::int64_t k = 0; k < problem_.size(); ++k) {
        const double off = t[k] - factor * known.t[k];
        if (std::abs(off) > kScaled * std::abs(t[k])) rest.rows.push_back(k), rest.coefficient.push_back(off);
    }
    if (rest.rows.size() >= from.rows.size()) return false;
    from = std::move(rest);
    for (std::int64_t k = 0; k < problem_.size(); ++k) {
        known_[k] = factor * known.t[k];
        f_[k] = factor * known.f[k];
    }
    return true;
}

FreshGradient::Support FreshGradient::support(const std::vector<double>& t) const {
    Support out;
    for (std::int64_t k = 0; k < problem_.size(); ++k)
        if (t[k] != 0) out.rows.push_back(k), out.coefficient.push_back(t[k]);
    return out;
}

// The drift is what is seen where f is computed afresh; if that asks for a wider margin, the coordinates in between follow.
void FreshGradient::refresh(const std::vector<double>& t, double eps, bool exact) {
    ++refreshes_;
    problem_.hessian.set_rough(false);
    known_ = t;
    const Support from = support(t);
    const double least = eps == kInfinity ? eps : kMargin * eps;
    fresh_.assign(problem_.size(), 0);
    const Measure rough = measured(t);
    take(rough);
    while (true) {
        const double margin = std::max(least, kDrift * drift_), wide = std::max(least, kDrift * stale_drift_);
        const Indices near = within(t, rough, margin, wide);
        const bool may_sample = exact && !near.empty() && problem_.hessian.is_even();
        if (may_sample && satisfied() && sampled(t, from, near, margin)) return;
        renew(from, without_fresh(near), exact);
        if (near.empty() || (kDrift * drift_ <= margin && kDrift * stale_drift_ <= wide)) break;
    }
    take(measured(t));
}

// Whether the tolerance is met whatever the drift is, as a sample of those that matter shows it, where f is not computed
// afresh. With the sample those that are stale are.
bool FreshGradient::sampled(const std::vector<double>& t, const Support& from, const Indices& near, double margin) {
    const std::size_t step = std::max<std::size_t>(1, near.size() / kSample);
    Indices some, seen;
    for (std::size_t k = 0; k < near.size(); ++k) {
        const bool chosen = k % step == step / 2;
        if (chosen && !is_stale(near[k])) seen.push_back(near[k]);
        if (chosen || is_stale(near[k])) some.push_back(near[k]);
    }
    if (seen.empty()) return false;
    std::vector<double> before;
    for (const std::int64_t k : seen) before.push_back(f_[k]);
    renew(from, some, true);
    double square = 0, most = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const double error = std::abs(f_[seen[i]] - before[i]);
        square += error * error / double(seen.size());
        most = std::max(most, error);
    }
    const Drift drift{std::max(kDeviations * std::sqrt(square), kBeyond * most), &fresh_};
    if (drift.most > margin) return false;
    take(measured(t, drift));
    if (satisfied() || options_.kkt_tolerance < 0) return satisfied();
    const Indices decisive = decisive_among(t, near, drift);
    if (double(decisive.size()) > kWorthSparing * double(near.size())) return false;
    renew(from, decisive, true);
    take(measured(t, drift));
    return satisfied();
}

// Those whose drift could carry m - M beyond the tolerance, or close to it.
Indices FreshGradient::decisive_among(const std::vector<double>& t, const Indices& near, Drift drift) const {
    const Measure now = measured(t);
    Indices out;
    std::int64_t c = 0;
    for (const std::int64_t k : near) {
        while (k >= problem_.classes.begin[c + 1]) ++c;
        if (fresh_[k]) continue;
        const double reach = kNearEnds * options_.kkt_tolerance * (problem_.classes.is_free(c) ? 1 : 0.5);
        const double off = f_[k] - now.multiplier[c];
        const Separable::Sides sides = problem_.h.sides(k, t[k]);
        if (off - drift.most + sides.above < -reach || off + drift.most + sides.below > reach) out.push_back(k);
    }
    return out;
}

Indices FreshGradient::without_fresh(const Indices& some) const {
    Indices out;
    std::ranges::copy_if(some, std::back_inserter(out), [this](std::int64_t k) { return !fresh_[k]; });
    return out;
}

void FreshGradient::renew(const Support& from, const Indices& some, bool exact) {
    std::vector<double> now(problem_.size(), 0.0);
    problem_.hessian.accumulate(from.rows, from.coefficient, some, exact, now.data(), pool_);
    entries_ += double(from.rows.size()) * double(some.size());
    for (const std::int64_t k : some) {
        double& drift = is_stale(k) ? stale_drift_ : drift_;
        drift = std::max(drift, std::abs(now[k] - f_[k]));
        f_[k] = now[k];
        fresh_[k] = 1;
        if (is_stale(k)) stale_[k] = 0;
    }
}

// What may matter if f is off by an eighth of the margin, or of the wide one where it is stale.
Indices FreshGradient::within(const std::vector<double>& t, const Measure& rough, double margin, double wide) const {
    Indices near;
    for (std::int64_t c = 0; c < problem_.classes.size(); ++c)
        for (std::int64_t k = problem_.classes.begin[c]; k < problem_.classes.begin[c + 1]; ++k) {
            const Separable::Sides sides = problem_.h.sides(k, t[k]);
            const double rest = rough.multiplier[c] - f_[k], by = is_stale(k) ? wide : margin;
            const bool matters = by == kInfinity || sides.above - rest < by || rest - sides.below < by;
            if (!fresh_[k] && matters) near.push_back(k);
        }
    return near;
}

Measure FreshGradient::measured(const std::vector<double>& t, Drift drift) const {
    return measure(problem_, t, f_, exchange_, drift);
}

void FreshGradient::take(const Measure& m) {
    standing_.kkt_gap = m.kkt_gap;
    standing_.value = m.value;
    standing_.relative_gap = m.gap / std::max(1.0, std::abs(m.value));
    standing_.beyond = m.beyond > kRounding * m.size ? m.beyond : 0;
    standing_.size = m.size;
    iterations_ = control_.iterations;
    control_.gap = m.kkt_gap;
    control_.check();
}

}  // namespace kdsl
