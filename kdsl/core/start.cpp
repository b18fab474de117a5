// A sampled gradient, and the coordinates that it lets rise first; see start.hpp.
#include "start.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace kdsl {

namespace {

constexpr std::int64_t kFewest = 500;   // coordinates of a class that are worth choosing from,
constexpr std::int64_t kClasses = 8;    // and classes in which there may be so many
constexpr std::int64_t kSample = 512;   // of a class at most,
constexpr std::int64_t kOneIn = 16;     // and at most one in so many

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

// A coordinate with its gradient, in the order in which they rise.
using Place = std::pair<double, std::int64_t>;

// The first coordinates rise from the lower bound to the upper, and the last of them as far as `left` is left.
void raise(std::vector<Place>& places, const Separable& h, double left, std::vector<double>& t) {
    for (auto first = places.begin(), last = places.end(); first != last && left > 0;) {
        const auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last);
        const auto room = [&h](const Place& one) { return h.right[h.offsets[one.second]] - h.left[h.offsets[one.second]]; };
        double before = 0;  // what those ahead of the middle take
        for (auto one = first; one != middle; ++one) before += room(*one);
        if (before > left) {
            last = middle;
            continue;
        }
        for (auto one = first; one != middle; ++one) t[one->second] = h.right[h.offsets[one->second]];
        left -= before;
        const std::int64_t k = middle->second, p = h.offsets[k];
        t[k] = room(*middle) <= left ? h.right[p] : h.left[p] + left;
        left -= room(*middle);
        first = middle + 1;
    }
}

}  // namespace

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
            g[k] += h.slope[h.offsets[k]];
            left -= out[k];
        }
        std::vector<Place> places(std::size_t(last - first));
        for (std::int64_t k = first; k < last; ++k) places[k - first] = {g[k], k};
        raise(places, h, left, out);
    }
    return out;
}

}  // namespace kdsl
