// Active coordinates and working sets; see selection.hpp.
#include "selection.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

namespace kdsl {

namespace {

constexpr double kKeep = 0.5;  // of a working set kept from the last one
constexpr std::int64_t kFewClasses = 64;
constexpr std::int64_t kBins = 1024;  // of the violations, so that few have to be put in order
constexpr std::int64_t kVector = 8;   // numbers that a pass may write beyond its last
constexpr double kHuge = 1e290;
constexpr double kNear = 0.7;  // of the least violation taken the last time is where candidates are first looked for

}  // namespace

Selection::Selection(const Problem& problem, const Micro& micro, Exchange* exchange)
    : problem_(problem),
      micro_(micro),
      exchange_(exchange),
      below_(problem.size()),
      above_(problem.size()),
      class_of_(problem.size()),
      is_active_(problem.size()),
      chosen_(problem.size(), 0),
      age_(problem.size(), 0),
      rise_(problem.classes.size()),
      fall_(problem.classes.size()),
      riser_(problem.classes.size()),
      faller_(problem.classes.size()) {
    const Classes& classes = problem.classes;
    for (std::int64_t c = 0; c < classes.size(); ++c)
        std::fill(class_of_.begin() + classes.begin[c], class_of_.begin() + classes.begin[c + 1], c);
}

void Selection::restart(const std::vector<double>& t) {
    free_ = 0;
    std::fill(is_active_.begin(), is_active_.end(), 0);
    std::fill(below_.begin(), below_.end(), -kInfinity);
    std::fill(above_.begin(), above_.end(), kInfinity);
    set_.clear();
    for (Side& side : sides_) side.least = 0;
    activate_all(t);
}

void Selection::activate_all(const std::vector<double>& t) {
    for (std::int64_t k = 0; k < problem_.size(); ++k)
        if (!is_active_[k]) moved(k, t[k]);
    active_.resize(above_.size());
    std::iota(active_.begin(), active_.end(), 0);
    std::fill(is_active_.begin(), is_active_.end(), 1);
}

void Selection::moved(std::int64_t k, double t) {
    const Separable::Sides sides = problem_.h.sides(k, t);
    free_ += int(sides.below == sides.above) - int(below_[k] == above_[k]);
    below_[k] = sides.below;
    above_[k] = sides.above;
}

void Selection::put_aside(std::int64_t k, std::vector<Aside>& list) {
    list.push_back({k, below_[k], above_[k]});
    below_[k] = -kInfinity, above_[k] = kInfinity;
}

void Selection::readmit(std::vector<Aside>& list) {
    for (const Aside& one : list) below_[one.k] = one.below, above_[one.k] = one.above;
    list.clear();
}

void Selection::set_aside(std::int64_t first, std::int64_t last, Indices& kept) {
    auto next = std::ranges::lower_bound(set_, first < last ? active_[first] : 0);
    for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t k = active_[i];
        if (next != set_.end() && *next == k) {
            kept.push_back(next++ - set_.begin());
            continue;
        }
        put_aside(k, aside_);
    }
}

void Selection::readmit() { readmit(aside_); }

double Selection::extremes(const std::vector<double>& f) {
    const Classes& classes = problem_.classes;
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        const std::int64_t first = classes.begin[c], count = classes.begin[c + 1] - first;
        const Extremes<double> best = micro_.extremes(&f[first], &above_[first], &below_[first], count);
        rise_[c] = best.rise, riser_[c] = best.riser < 0 ? -1 : first + best.riser;
        fall_[c] = best.fall, faller_[c] = best.faller < 0 ? -1 : first + best.faller;
    }
    double gap = -kInfinity;
    up_ = fall_;
    down_ = rise_;
    const double v = exchange_ == nullptr ? 0.0 : exchange_->solve(rise_, fall_);
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        if (classes.is_free(c)) up_[c] = down_[c] = 0.0;
        gap = std::max(gap, classes.is_free(c) ? std::max(-rise_[c], fall_[c]) : fall_[c] - rise_[c]);
        if (exchange_ != nullptr && !classes.is_free(c)) {
            up_[c] = std::max(up_[c], exchange_->multiplier(c) + v);
            down_[c] = std::min(down_[c], exchange_->multiplier(c) - v);
        }
    }
    return std::max(gap, 2 * v);
}

const Indices& Selection::choose(const std::vector<double>& f, std::int64_t room) {
    added_.clear();
    const bool few = problem_.classes.size() <= kFewClasses;
    if (few) {
        for (std::int64_t c = 0; c < problem_.classes.size(); ++c) add(riser_[c]), add(faller_[c]);
        keep(std::int64_t(kKeep * double(room)));
        candidates(f.data(), room);
    } else {
        whole_classes(f.data(), room);
    }
    collect();
    crowded_ = few && std::int64_t(set_.size()) >= room;
    return set_;
}

void Selection::add(std::int64_t k) {
    if (k >= 0 && !chosen_[k]) chosen_[k] = 1, added_.push_back(k);
}

// Of the last set, while there are fewer than `most`: the free ones, then the others, the newest of each first.
void Selection::keep(std::int64_t most) {
    order_.clear();
    for (std::size_t i = 0; i < set_.size(); ++i) {
        const std::int64_t k = set_[i];
        const std::uint64_t held = above_[k] != below_[k], age = std::uint32_t(age_[k]);
        if (!chosen_[k] && !is_aside(k)) order_.push_back(held << 63 | age << 32 | i);
    }
    const std::int64_t some = std::clamp<std::int64_t>(most - taken(), 0, std::int64_t(order_.size()));
    std::nth_element(order_.begin(), order_.begin() + some, order_.end());
    for (std::int64_t i = 0; i < some; ++i) add(set_[order_[i] & 0xffffffff]);
}

// The worst risers and fallers, as many of each, until the set is full.
void Selection::candidates(const double* f, std::int64_t room) {
    const std::int64_t each = (room - taken()) / 2;
    for (const std::int64_t k : added_) put_aside(k, held_);
    gather(f, kNear * sides_[0].least, kNear * sides_[1].least);
    if (std::min(sides_[0].count, sides_[1].count) < each) gather(f, 0, 0);
    readmit(held_);
    for (Side& side : sides_) take_worst(side, each);
}

// Those that violate by more, into sides_.
void Selection::gather(const double* f, double rising_above, double falling_above) {
    const Classes& classes = problem_.classes;
    Side &risers = sides_[0], &fallers = sides_[1];
    for (Side& side : sides_) {
        side.violation.resize(above_.size() + kVector);
        side.who.resize(above_.size() + kVector);
        side.count = 0;
    }
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        const std::int64_t first = classes.begin[c], count = classes.begin[c + 1] - first;
        risers.count += micro_.greater(f + first, &above_[first], -1, up_[c], rising_above, first, count,
                                       &risers.violation[risers.count], &risers.who[risers.count]);
        fallers.count += micro_.greater(f + first, &below_[first], 1, -down_[c], falling_above, first, count,
                                        &fallers.violation[fallers.count], &fallers.who[fallers.count]);
    }
}

// `some` of a side at most; of those that are as bad as the last to be taken the first.
void Selection::take_worst(Side& side, std::int64_t some) {
    some = std::min(some, side.count);
    side.least = 0;
    if (some <= 0) return;
    double least = 0;
    std::int64_t equal = some;
    if (some < side.count) {
        const double* v = side.violation.data();
        const double most = *std::max_element(v, v + side.count);
        const double scale = most > 1 / kHuge && most < kHuge ? double(kBins - 1) / most : 0;
        const auto bin = [scale](double x) { return x < kHuge ? std::int64_t(x * scale) : kBins - 1; };
        std::array<std::int64_t, kBins> counts{};
        for (std::int64_t j = 0; j < side.count; ++j) ++counts[bin(v[j])];
        std::int64_t last = kBins - 1, before = 0;  // the bin of the last to be taken, and how many are in higher ones
        while (before + counts[last] < some) before += counts[last--];
        crowd_.clear();
        for (std::int64_t j = 0; j < side.count; ++j)
            if (bin(v[j]) == last) crowd_.push_back(v[j]);
        const auto nth = crowd_.begin() + (some - before - 1);
        std::nth_element(crowd_.begin(), nth, crowd_.end(), std::greater<>());
        least = *nth;
        for (std::int64_t j = 0; j < side.count; ++j) equal -= v[j] > least;
        side.least = least;
    }
    for (std::int64_t j = 0; j < side.count; ++j) {
        const std::int64_t k = side.who[j];
        const double v = side.violation[j];
        if (v < least || (v == least && --equal < 0) || chosen_[k]) continue;
        age_[k] = 0;
        add(k);
    }
}

// With many classes, as with simplex rows: the worst classes, each whole where there is room.
void Selection::whole_classes(const double* f, std::int64_t room) {
    const Classes& classes = problem_.classes;
    std::vector<std::pair<double, std::int64_t>> order;
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        const double gap = classes.is_free(c) ? std::max(-rise_[c], fall_[c]) : up_[c] - down_[c];
        if (gap > 0) order.emplace_back(-gap, c);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [gap, c] : order) {
        const std::int64_t count = classes.begin[c + 1] - classes.begin[c];
        if (!added_.empty() && taken() + count > room) break;
        if (count > room) return worst_of_class(c, f, room);
        for (std::int64_t k = classes.begin[c]; k < classes.begin[c + 1]; ++k) add(k);
    }
}

// Half of the room for those that are to rise most, and half for those that are to fall.
void Selection::worst_of_class(std::int64_t c, const double* f, std::int64_t room) {
    const std::int64_t first = problem_.classes.begin[c], count = problem_.classes.begin[c + 1] - first;
    std::vector<std::pair<double, std::int64_t>> order(static_cast<std::size_t>(count));
    for (const bool rising : {true, false}) {
        for (std::int64_t k = first; k < first + count; ++k)
            order[k - first] = {rising ? f[k] + above_[k] : -(f[k] + below_[k]), k};
        const std::int64_t some = std::max<std::int64_t>(room / 2, 1);
        std::nth_element(order.begin(), order.begin() + (some - 1), order.end());
        for (std::int64_t i = 0; i < some; ++i) add(order[i].second);
    }
}

// The chosen coordinates in their order: the product gathers the last bits of eight bytes in the highest one.
static_assert(std::endian::native == std::endian::little);
void Selection::collect() {
    set_.clear();
    const std::int64_t n = std::int64_t(chosen_.size());
    for (std::int64_t first = 0; first < n; first += 64) {
        std::uint64_t bits = 0;
        for (std::int64_t k = first; k < std::min(first + 64, n); k += 8) {
            std::uint64_t eight = 0;
            std::memcpy(&eight, &chosen_[k], std::size_t(std::min<std::int64_t>(8, n - k)));
            bits |= (eight * 0x0102040810204080u >> 56) << (k - first);
        }
        for (; bits != 0; bits &= bits - 1) {
            const std::int64_t k = first + std::countr_zero(bits);
            chosen_[k] = 0, ++age_[k], set_.push_back(k);
        }
    }
}

void Selection::idle(const std::vector<double>& f, Indices& leaving, Indices& staying) const {
    leaving.resize(active_.size());
    staying.resize(active_.size());
    std::int64_t left = 0, stayed = 0;
    for (const std::int64_t k : active_) {
        const std::int64_t c = class_of_[k];
        const bool idle = (f[k] + above_[k] > up_[c]) & (f[k] + below_[k] < down_[c]);
        leaving[left] = staying[stayed] = k;
        left += idle;
        stayed += !idle;
    }
    leaving.resize(left);
    staying.resize(stayed);
}

void Selection::keep_only(Indices staying) {
    std::fill(is_active_.begin(), is_active_.end(), 0);
    for (const std::int64_t k : staying) is_active_[k] = 1;
    for (const std::int64_t k : active_)
        if (!is_active_[k]) below_[k] = -kInfinity, above_[k] = kInfinity;
    active_ = std::move(staying);
}

Indices Selection::dropped() const {
    Indices out;
    for (std::int64_t k = 0; k < problem_.size(); ++k)
        if (!is_active_[k]) out.push_back(k);
    return out;
}

}  // namespace kdsl
