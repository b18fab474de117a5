// What is left of dense points less their usual features; see thin_points.hpp.
#include "thin_points.hpp"

#include <numeric>

namespace kdsl {

namespace {

// Points that are looked at beforehand.
constexpr std::int64_t kSample = 256;
// With fewer features their products are not what takes long.
constexpr std::int64_t kFewest = 64;
// Of all features may be left: each takes twice as long as one of dense points does.
constexpr double kThin = 0.35;
constexpr std::int64_t kTaken = 128;  // points in one task

// For each feature the value that more than half of the points `step` apart have (Boyer, Moore 1991); where none has,
// what there is in the `middle`: a point that is far from all others is not to be subtracted from them.
std::vector<double> majority(const PointSource& points, std::int64_t step, const std::vector<double>& middle) {
    std::vector<double> value(std::size_t(points.features), 0.0);
    std::vector<std::int64_t> votes(value.size(), 0);
    for (std::int64_t i = 0; i < points.count; i += step) {
        const double* const x = points.dense + i * points.features;
        for (std::size_t f = 0; f < value.size(); ++f) {
            if (votes[f] == 0) value[f] = x[f];
            votes[f] += x[f] == value[f] ? 1 : -1;
        }
    }
    std::vector<std::int64_t> others(value.size(), 0);
    for (std::int64_t i = 0; i < points.count; i += step)
        for (std::size_t f = 0; f < value.size(); ++f)
            others[f] += points.dense[i * points.features + std::int64_t(f)] != value[f];
    const std::int64_t looked = (points.count + step - 1) / step;
    for (std::size_t f = 0; f < value.size(); ++f)
        if (2 * others[f] >= looked) value[f] = middle.empty() ? 0.0 : middle[f];
    return value;
}

// What is left of one point, with room for all of its features; returns how many there are.
std::int64_t left_of(const double* x, const std::vector<double>& centre, std::int32_t* feature, double* value) {
    std::int64_t count = 0;
    for (std::size_t f = 0; f < centre.size(); ++f) {
        const double less = x[f] - centre[f];
        feature[count] = std::int32_t(f);
        value[count] = less;
        count += less != 0;
    }
    return count;
}

}  // namespace

std::optional<ThinPoints> ThinPoints::of(const KernelSpec& kernel, const PointSource& points,
                                         const std::vector<double>& middle, int threads) {
    if (points.sparse() || points.features < kFewest || points.count == 0) return std::nullopt;
    const std::int64_t step = (points.count + kSample - 1) / kSample;
    const bool differences = kernel.kind == Kind::gaussian || kernel.kind == Kind::laplacian;
    std::vector<double> centre(std::size_t(points.features), 0.0);
    if (differences) centre = majority(points, step, middle);
    std::int64_t left = 0, all = 0;
    for (std::int64_t i = 0; i < points.count; i += step, all += points.features)
        for (std::int64_t f = 0; f < points.features; ++f) left += points.dense[i * points.features + f] != centre[f];
    if (double(left) > kThin * double(all)) return std::nullopt;
    return ThinPoints(points, std::move(centre), threads);
}

ThinPoints::ThinPoints(const PointSource& points, std::vector<double> centre, int threads)
    : centre_(std::move(centre)), start_(std::size_t(points.count) + 1, 0) {
    const std::int64_t features = points.features, tasks = (points.count + kTaken - 1) / kTaken;
    struct Part {
        std::vector<std::int32_t> feature;
        std::vector<double> value;
    };
    std::vector<Part> parts(tasks);
    Pool pool(int(std::clamp<std::int64_t>(threads, 1, tasks)), [] {});
    pool.run(tasks, [&](std::int64_t task, int) {
        Part& part = parts[task];
        std::vector<std::int32_t> feature(std::size_t(features) + 1);
        std::vector<double> value(feature.size());
        for (std::int64_t i = task * kTaken; i < std::min(points.count, (task + 1) * kTaken); ++i) {
            const std::int64_t count = left_of(points.dense + i * features, centre_, feature.data(), value.data());
            part.feature.insert(part.feature.end(), feature.begin(), feature.begin() + count);
            part.value.insert(part.value.end(), value.begin(), value.begin() + count);
            start_[i + 1] = count;
        }
    });
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    feature_.resize(std::size_t(start_.back()));
    value_.resize(feature_.size());
    pool.run(tasks, [&](std::int64_t task, int) {
        const std::int64_t first = start_[task * kTaken];
        std::copy(parts[task].feature.begin(), parts[task].feature.end(), feature_.begin() + first);
        std::copy(parts[task].value.begin(), parts[task].value.end(), value_.begin() + first);
    });
}

PointSource ThinPoints::source() const {
    PointSource s;
    s.count = std::int64_t(start_.size()) - 1;
    s.features = std::int64_t(centre_.size());
    s.start = start_.data();
    s.feature = feature_.data();
    s.value = value_.data();
    return s;
}

}  // namespace kdsl
