// A sampled gradient, and the pieces that it lets be passed first; see start.hpp.
#include "start.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>

#include "dense.hpp"

namespace kdsl {

namespace {

constexpr std::int64_t kFewest = 500;   // coordinates of a class that are worth choosing from,
constexpr std::int64_t kClasses = 8;    // and classes in which there may be so many
constexpr std::int64_t kSample = 512;   // of a class at most,
constexpr std::int64_t kOneIn = 16;     // and at most one in so many
constexpr std::int64_t kManyEnds = 2000;             // coordinates from which on a sample's answer is asked for,
constexpr std::int64_t kAsked = 1024, kOneOf = 10;   // of so many at most, and at most one in so many,
constexpr std::int64_t kSteps = 20;                  // in at most so many steps for each,
constexpr double kCrude = 0.1;                       // to this part of m - M at the start
constexpr double kMost = 0.9;                        // of the coordinates are inside a piece where ends are far,
constexpr double kAtEnds = 0.5;                      // and of those of the sample that move, at ends in its answer

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

std::vector<Place> places_of(const Separable& h, const std::vector<double>& gradient, std::int64_t first,
                             std::int64_t last) {
    std::vector<Place> out;
    for (std::int64_t k = first; k < last; ++k)
        for (std::int64_t p = h.offsets[k]; p < h.offsets[k + 1]; ++p) out.push_back({gradient[k] + h.slope[p], p, k});
    return out;
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

// Whether most coordinates are at 0 inside a piece, all pieces being linear and short of infinity.
bool ends_are_far(const Problem& problem, const std::vector<double>& t) {
    const Separable& h = problem.h;
    std::int64_t inside = 0;
    for (std::int64_t k = 0; k < problem.size(); ++k) {
        if (t[k] != 0) return false;
        for (std::int64_t p = h.offsets[k]; p < h.offsets[k + 1]; ++p) {
            if (h.curvature[p] != 0 || std::isinf(h.right[p] - h.left[p])) return false;
            inside += h.left[p] < 0 && h.right[p] > 0;
        }
    }
    return double(inside) > kMost * double(problem.size());
}

bool is_at_end(const Separable& h, std::int64_t k, double t) {
    for (std::int64_t p = h.offsets[k]; p < h.offsets[k + 1]; ++p)
        if (t == h.left[p] || t == h.right[p]) return true;
    return false;
}

// The gradient at the answer for a sample of the coordinates, the others being 0; empty where few of those that move
// end at an end.
std::vector<double> gradient_of_sample(const Problem& problem, const Micro& micro, Pool& pool, Control& control,
                                       Work& work) {
    const std::int64_t n = problem.size();
    Indices all(n), some;
    std::iota(all.begin(), all.end(), 0);
    std::mt19937 random(0);
    std::sample(all.begin(), all.end(), std::back_inserter(some), std::min(kAsked, n / kOneOf), random);
    const std::int64_t stride = block_stride(std::int64_t(some.size()));
    const Aligned<float> room = aligned<float>(some.size() * std::size_t(stride));
    GramBlock<float> block(problem.hessian, some, room.get(), stride, pool);
    StandingFactor<float> standing(micro);
    Dense<float, float> dense(problem.h, problem.classes, some, block, standing, micro, pool, nullptr);
    const auto [least, most] = std::ranges::minmax(problem.h.slope);
    const double eps = kCrude * (most - least);
    std::vector<double> t(n, 0.0), g(n, 0.0), coefficient;
    const AtEnd count{[&] {
        work.entries += block.take_computed();
        work.newtons += standing.take_made();
    }};
    dense.run(t, std::vector<double>(some.size()), eps, eps, kSteps * std::int64_t(some.size()), control);
    Indices rows;
    std::int64_t at_ends = 0;
    for (const std::int64_t k : some) {
        if (t[k] != 0) rows.push_back(k), coefficient.push_back(t[k]);
        at_ends += is_at_end(problem.h, k, t[k]);
    }
    if (double(at_ends) <= kAtEnds * double(rows.size())) return {};
    problem.hessian.accumulate(rows, coefficient, all, false, g.data(), pool);
    work.entries += double(rows.size()) * double(n);
    return g;
}

}  // namespace

std::optional<std::vector<double>> likely_ends(const Problem& problem, const std::vector<double>& t, const Micro& micro,
                                               Pool& pool, Control& control, Work& work) {
    const Classes& classes = problem.classes;
    const Separable& h = problem.h;
    const bool many = problem.size() >= kManyEnds && problem.hessian.has_single() && !problem.hessian.keeps_entries();
    if (!many || !classes.decoupled || classes.size() > kClasses || !ends_are_far(problem, t)) return std::nullopt;
    const std::vector<double> g = gradient_of_sample(problem, micro, pool, control, work);
    if (g.empty() || !std::ranges::all_of(g, [](double x) { return std::isfinite(x); })) return std::nullopt;
    std::vector<double> out(t.size());
    for (std::int64_t k = 0; k < problem.size(); ++k) out[k] = h.left[h.offsets[k]];
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        const std::int64_t first = classes.begin[c], last = classes.begin[c + 1];
        std::vector<Place> places = places_of(h, g, first, last);
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
    Indices rows;
    std::vector<double> coefficient;
    std::mt19937 random(0);
    for (std::int64_t c = 0; c < classes.size(); ++c) {
        const std::int64_t first = classes.begin[c], count = classes.begin[c + 1] - first;
        const double sum = sum_of(t, first, first + count);
        if (!asks(problem, c, sum)) {
            for (std::int64_t k = first; k < first + count; ++k)
                if (t[k] != 0) rows.push_back(k), coefficient.push_back(t[k]);
            continue;
        }
        asking.push_back(c);
        const std::int64_t some = std::min(kSample, count / kOneIn);
        for (std::int64_t i = 0; i < some; ++i) {
            rows.push_back(first + std::int64_t(random() % std::uint32_t(count)));
            coefficient.push_back(sum / double(some));
        }
    }
    if (asking.empty()) return std::nullopt;
    Indices all(problem.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> g(problem.size(), 0.0);
    problem.hessian.accumulate(rows, coefficient, all, !problem.hessian.has_single(), g.data(), pool);
    entries += double(rows.size()) * double(problem.size());
    if (!std::ranges::all_of(g, [](double x) { return std::isfinite(x); })) return std::nullopt;
    for (const std::int64_t c : asking) {
        const std::int64_t first = classes.begin[c], last = classes.begin[c + 1];
        double left = sum_of(t, first, last);
        for (std::int64_t k = first; k < last; ++k) {
            out[k] = h.left[h.offsets[k]];
            left -= out[k];
        }
        std::vector<Place> places = places_of(h, g, first, last);
        raise(places, h, left, out);
    }
    return out;
}

}  // namespace kdsl
