// A sampled gradient, and the pieces that it lets be passed first; see start.hpp.
#include "start.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>

#include "sample_answer.hpp"

namespace kdsl {

namespace {

constexpr std::int64_t kFewest = 500;   // coordinates of a class that are worth choosing from,
constexpr std::int64_t kClasses = 8;    // and classes in which there may be so many
constexpr std::int64_t kSample = 512;   // of a class at most,
constexpr std::int64_t kOneIn = 16;     // and at most one in so many
constexpr std::int64_t kManyEnds = 2500;  // coordinates from which on a sample's answer is asked for.
constexpr double kMost = 0.9;             // Of the coordinates are to have ends,
constexpr double kMoved = 0.1;            // of the sample are to move,
constexpr double kAtEnds = 0.5;           // and of those that move to end at an end, where the answer is followed;
constexpr double kSurer = 0.6;            // this where most are at an end at 0, as many of which are right already,
constexpr double kChance = 3;             // and more the smaller the sample is, by so much over the root of its size.
constexpr double kCrowded = 0.9;          // Where more than this do, the sample is asked again with wider pieces.

double sum_of(const std::vector<double>& t, std::int64_t first, std::int64_t last) {
    return std::accumulate(t.begin() + first, t.begin() + last, 0.0);
}

// Whether the class is a box, on which h is linear, with 0 in it that its sum does not allow.
bool asks(const Problem& problem, std::int64_t c, double sum) {
    const Separable& h = problem.h;
    const std::int64_t first = problem.classes.begin[c], last = problem.classes.begin[c + 1];
    if (problem.classes.is_free(c) || last - first < kFewest || sum == 0) return false;
    for (std::int64_t k = first; k < last; ++k) {
        const std::int64_t p = h.offsets[k];
        const bool box = h.offsets[k + 1] == p + 1 && h.curvature[p] == 0 && h.left[p] <= 0 && h.right[p] >= 0;
        if (!box || std::isinf(h.right[p] - h.left[p])) return false;
    }
    return true;
}

// A piece of a coordinate with the derivative of the objective on it, in the order in which they are passed.
struct Place {
    double derivative;
    std::int64_t piece, k;

    bool operator<(const Place& other) const {
        return std::tie(derivative, piece) < std::tie(other.derivative, other.piece);
    }
};

void add_places(const Separable& h, std::int64_t k, double gradient, std::vector<Place>& to) {
    for (std::int64_t p = h.offsets[k]; p < h.offsets[k + 1]; ++p) to.push_back({gradient + h.slope[p], p, k});
}

// Coordinates at the lower ends of their pieces rise along the first of these, and along the last of them as far as `left`
// is left.
void raise(std::vector<Place>& places, const Separable& h, double left, std::vector<double>& t) {
    for (auto first = places.begin(), last = places.end(); first != last && left > 0;) {
        const auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last);
        const auto room = [&h](const Place& one) { return h.right[one.piece] - h.left[one.piece]; };
        double before = 0;  // what those ahead of the middle take
        for (auto one = first; one != middle; ++one) before += room(*one);
        if (before > left) {
            last = middle;
            continue;
        }
        for (auto one = first; one != middle; ++one) t[one->k] = std::max(t[one->k], h.right[one->piece]);
        left -= before;
        const double end = room(*middle) <= left ? h.right[middle->piece] : h.left[middle->piece] + left;
        t[middle->k] = std::max(t[middle->k], end);
        left -= room(*middle);
        first = middle + 1;
    }
}

// Whether a coordinate may well have an end of a piece in the answer: all pieces are linear and short of infinity, and 0 is
// not between two of them: whether it leaves such a place, and which way, a sample says less well.
bool has_ends(const Separable& h, std::int64_t k) {
    for (std::int64_t p = h.offsets[k]; p < h.offsets[k + 1]; ++p) {
        const bool between = p > h.offsets[k] && h.left[p] == 0;
        if (h.curvature[p] != 0 || std::isinf(h.right[p] - h.left[p]) || between) return false;
    }
    return true;
}

bool ends_may_be_likely(const Problem& problem, const std::vector<double>& t) {
    std::int64_t with_ends = 0;
    for (std::int64_t k = 0; k < problem.size(); ++k) {
        if (t[k] != 0) return false;
        with_ends += has_ends(problem.h, k);
    }
    return double(with_ends) >= kMost * double(problem.size());
}

bool most_are_inside(const Separable& h) {
    std::int64_t inside = 0;
    for (std::size_t p = 0; p < h.left.size(); ++p) inside += h.left[p] < 0 && h.right[p] > 0;
    return 2 * inside > h.size();
}

// h over pieces that are `by` times as wide, with the same slopes.
Separable widened(Separable h, double by) {
    for (std::vector<double>* const numbers : {&h.left, &h.right, &h.value})
        for (double& x : *numbers) x *= by;
    return h;
}

// The gradient at the answer for a sample of the coordinates; empty where few move, or few of these end at an end. Where
// nearly all do, so few examples weigh too little against the norm: pieces are wider then, by what lies halfway between
// one coordinate and all that it stands for.
std::vector<double> gradient_of_sample(const Problem& problem, const Micro& micro, Pool& pool, Control& control,
                                       Work& work) {
    Sample sample(problem, micro, pool);
    SampleAnswer found = sample.answer(problem.h, control, work);
    const bool few = double(found.rows.size()) < kMoved * sample.size();
    const double asked = most_are_inside(problem.h) ? kAtEnds : kSurer + kChance / std::sqrt(sample.size());
    if (few || found.at_ends < asked) return {};
    if (found.at_ends > kCrowded)
        found = sample.answer(widened(problem.h, std::sqrt(sample.each())), control, work);
    Indices all(problem.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> g(all.size(), 0.0);
    problem.hessian.accumulate(found.rows, found.coefficient, all, false, g.data(), pool);
    work.entries += double(found.rows.size()) * double(problem.size());
    return g;
}

}  // namespace

std::optional<std::vector<double>> likely_ends(const Problem& problem, const std::vector<double>& t, const Micro& micro,
                                               Pool& pool, Control& control, Work& work) {
    const Classes& classes = problem.classes;
    const Separable& h = problem.h;
    const bool many = problem.size() >= kManyEnds && problem.hessian.has_single() && !problem.hessian.keeps_entries();
    if (!many || !classes.decoupled || classes.size() > kClasses || !ends_may_be_likely(problem, t)) return std::nullopt;
    const std::vector<double> g = gradient_of_sample(problem, micro, pool, control, work);
    if (g.empty() || !std::ranges::all_of(g, [](double x) { return std::isfinite(x); })) return std::nullopt;
    std::vector<double> out = t;
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        const std::int64_t first = classes.begin[c], last = classes.begin[c + 1];
        std::vector<Place> places;
        for (std::int64_t k = first; k < last; ++k) {
            if (!has_ends(h, k)) continue;
            out[k] = h.left[h.offsets[k]];
            add_places(h, k, g[k], places);
        }
        if (!classes.is_free(c)) {
            raise(places, h, -sum_of(out, first, last), out);
            continue;
        }
        for (const Place& one : places)
            if (one.derivative < 0) out[one.k] = std::max(out[one.k], h.right[one.piece]);
    }
    return out;
}

std::optional<std::vector<double>> likely_vertex(const Problem& problem, const std::vector<double>& t, Pool& pool,
                                                 double& entries) {
    const Classes& classes = problem.classes;
    const Separable& h = problem.h;
    if (!classes.decoupled || classes.size() > kClasses) return std::nullopt;
    std::vector<double> out = t;
    std::vector<std::int64_t> asking;
    std::vector<double> weight(t.size(), 0.0);  // a coordinate may be drawn twice
    std::mt19937 random(0);
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        const std::int64_t first = classes.begin[c], count = classes.begin[c + 1] - first;
        const double sum = sum_of(t, first, first + count);
        if (!asks(problem, c, sum)) {
            for (std::int64_t k = first; k < first + count; ++k)
                weight[k] = t[k];
            continue;
        }
        asking.push_back(c);
        const std::int64_t some = std::min(kSample, count / kOneIn);
        for (std::int64_t i = 0; i < some; ++i)
            weight[first + std::int64_t(random() % std::uint32_t(count))] += sum / double(some);
    }
    if (asking.empty()) return std::nullopt;
    Indices rows;
    std::vector<double> coefficient;
    for (std::int64_t k = 0; k < problem.size(); ++k)
        if (weight[k] != 0) rows.push_back(k), coefficient.push_back(weight[k]);
    Indices all(problem.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> g(problem.size(), 0.0);
    problem.hessian.accumulate(rows, coefficient, all, !problem.hessian.has_single(), g.data(), pool);
    entries += double(rows.size()) * double(problem.size());
    if (!std::ranges::all_of(g, [](double x) { return std::isfinite(x); })) return std::nullopt;
    for (const std::int64_t c : asking) {
        const std::int64_t first = classes.begin[c], last = classes.begin[c + 1];
        double left = sum_of(t, first, last);
        std::vector<Place> places;
        for (std::int64_t k = first; k < last; ++k) {
            out[k] = h.left[h.offsets[k]];
            left -= out[k];
            add_places(h, k, g[k], places);
        }
        raise(places, h, left, out);
    }
    return out;
}

}  // namespace kdsl
