// Solving for a sample; see sample_answer.hpp.
#include "sample_answer.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>

namespace kdsl {

namespace {

constexpr std::int64_t kMost = 1024, kOneOf = 10;  // coordinates at most, and at most one in so many,
constexpr std::int64_t kSteps = 20;                // in at most so many steps for each,
constexpr double kCrude = 0.1;                     // to this part of m - M at the start

Indices chosen(std::int64_t n) {
    Indices all(n), some;
    std::iota(all.begin(), all.end(), 0);
    std::mt19937 random(0);
    std::sample(all.begin(), all.end(), std::back_inserter(some), std::min(kMost, n / kOneOf), random);
    return some;
}

bool is_at_end(const Separable& h, std::int64_t k, double t) {
    for (std::int64_t p = h.offsets[k]; p < h.offsets[k + 1]; ++p)
        if (t == h.left[p] || t == h.right[p]) return true;
    return false;
}

}  // namespace

Sample::Sample(const Problem& problem, const Micro& micro, Pool& pool)
    : problem_(problem),
      micro_(micro),
      pool_(pool),
      some_(chosen(problem.size())),
      stride_(block_stride(std::int64_t(some_.size()))),
      room_(aligned<float>(some_.size() * std::size_t(stride_))),
      block_(problem.hessian, some_, room_.get(), stride_, pool),
      standing_(micro) {}

SampleAnswer Sample::answer(const Separable& h, Control& control, Work& work) {
    Dense<float, float> dense(h, problem_.classes, some_, block_, standing_, micro_, pool_, nullptr);
    const auto [least, most] = std::ranges::minmax(h.slope);
    const double eps = kCrude * (most - least);
    std::vector<double> t(problem_.size(), 0.0);
    const AtEnd count{[&] {
        work.entries += block_.take_computed();
        work.newtons += standing_.take_made();
    }};
    dense.run(t, std::vector<double>(some_.size()), eps, eps, kSteps * std::int64_t(some_.size()), control);
    SampleAnswer out;
    std::int64_t at_ends = 0;
    for (const std::int64_t k : some_) {
        if (t[k] == 0) continue;
        out.rows.push_back(k);
        out.coefficient.push_back(t[k]);
        at_ends += is_at_end(h, k, t[k]);
    }
    out.at_ends = out.rows.empty() ? 0.0 : double(at_ends) / double(out.rows.size());
    return out;
}

}  // namespace kdsl
