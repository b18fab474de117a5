// Scaling and packing of points; see points.hpp.
#include "points.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

namespace kdsl {

namespace {

constexpr double kLog2E = 1.4426950408889634074;
constexpr std::int64_t kTaken = 128;  // points scaled in one task

// sum f(x_e), in four parts that do not wait for one another.
template <class T, class F>
double sum_over(const T* x, std::int64_t n, F f) {
    double part[4] = {0, 0, 0, 0};
    std::int64_t e = 0;
    for (; e + 4 <= n; e += 4)
        for (int q = 0; q < 4; ++q) part[q] += f(double(x[e + q]));
    for (; e < n; ++e) part[0] += f(double(x[e]));
    return (part[0] + part[1]) + (part[2] + part[3]);
}

template <class T>
double size_of(Kind kind, const T* x, std::int64_t n) {
    if (kind == Kind::laplacian) return sum_over(x, n, [](double v) { return std::abs(v); });
    return sum_over(x, n, [](double v) { return v * v; });
}

}  // namespace

double scale_of(const KernelSpec& kernel) {
    switch (kernel.kind) {
        case Kind::linear: return 1.0;
        case Kind::polynomial:
        case Kind::sigmoid: return std::sqrt(kernel.gamma);
        case Kind::gaussian:
        case Kind::gaussian_near: return std::sqrt(2 * kernel.gamma * kLog2E);
        case Kind::laplacian: return kernel.gamma * kLog2E;
    }
    return 1.0;
}

void PointSource::add(std::int64_t i, double by, double* sum) const {
    if (sparse())
        for (std::int64_t e = start[i]; e < start[i + 1]; ++e) sum[feature[e]] += by * value[e];
    else
        for (std::int64_t f = 0; f < features; ++f) sum[f] += by * dense[i * features + f];
}

double PointSource::dot(std::int64_t i, const double* v) const {
    double sum = 0;
    if (sparse())
        for (std::int64_t e = start[i]; e < start[i + 1]; ++e) sum += value[e] * v[feature[e]];
    else
        for (std::int64_t f = 0; f < features; ++f) sum += dense[i * features + f] * v[f];
    return sum;
}

namespace {

// Features that one task looks at.
constexpr std::int64_t kLooked = 1 << 18;

// Of points begin to end - 1.
Extent extent_of(const PointSource& source, std::int64_t begin, std::int64_t end) {
    const double* values = source.sparse() ? source.value : source.dense;
    Extent out;
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = source.sparse() ? source.start[i] : i * source.features;
        const std::int64_t count = (source.sparse() ? source.start[i + 1] : (i + 1) * source.features) - first;
        constexpr int kParts = 8;  // that do not wait for one another
        double square[kParts] = {}, sum[kParts] = {}, most[kParts] = {};
        const auto add = [&](std::int64_t e, int part) {
            const double v = source.centre == nullptr ? values[first + e] : values[first + e] - source.centre[e];
            square[part] += v * v;
            sum[part] += std::abs(v);
            most[part] = std::max(most[part], std::abs(v));
        };
        std::int64_t e = 0;
        for (; e + kParts <= count; e += kParts)
            for (int part = 0; part < kParts; ++part) add(e + part, part);
        for (; e < count; ++e) add(e, 0);
        for (int part = 1; part < kParts; ++part) {
            square[0] += square[part];
            sum[0] += sum[part];
            most[0] = std::max(most[0], most[part]);
        }
        if (!std::isfinite(square[0]))
            throw std::invalid_argument("point " + std::to_string(i + 1) +
                                        (std::isfinite(sum[0]) ? " has features whose squares add up to more than a number can be"
                                                               : " has a feature that is not a finite number"));
        out.norm = std::max(out.norm, std::sqrt(square[0]));
        out.norm1 = std::max(out.norm1, sum[0]);
        out.feature = std::max(out.feature, most[0]);
    }
    return out;
}

}  // namespace

Extent extent_of(const PointSource& source, int threads) {
    const std::int64_t some = std::max<std::int64_t>(1, kLooked / std::max<std::int64_t>(1, source.features));
    const std::int64_t tasks = (source.count + some - 1) / some;
    if (tasks <= 1) return extent_of(source, 0, source.count);
    std::vector<Extent> part(tasks);
    std::vector<std::exception_ptr> error(tasks);
    Pool pool(int(std::clamp<std::int64_t>(threads, 1, tasks)), [] {});
    pool.run(tasks, [&](std::int64_t task, int) {
        try {
            part[task] = extent_of(source, task * some, std::min(source.count, (task + 1) * some));
        } catch (const std::invalid_argument&) {
            error[task] = std::current_exception();
        }
    });
    Extent out;
    for (std::int64_t task = 0; task < tasks; ++task) {
        if (error[task]) std::rethrow_exception(error[task]);
        out.norm = std::max(out.norm, part[task].norm);
        out.norm1 = std::max(out.norm1, part[task].norm1);
        out.feature = std::max(out.feature, part[task].feature);
    }
    return out;
}

double largest_sum(const KernelSpec& kernel, const Extent& extent) {
    const double scale = scale_of(kernel);
    const double size = kernel.kind == Kind::laplacian ? scale * extent.norm1 : scale * scale * extent.norm * extent.norm;
    return size + std::abs(kernel.offset);
}

template <class T>
Points<T>::Points(const KernelSpec& kernel, const PointSource& source, Pool* pool)
    : count_(source.count),
      features_(source.features),
      sparse_(source.sparse()),
      panel_offset_(kernel.kind == Kind::polynomial || kernel.kind == Kind::sigmoid ? T(kernel.offset) : T(0)),
      row_bias_(source.count),
      panel_bias_(source.count) {
    if (sparse_) {
        start_.assign(source.start, source.start + count_ + 1);
        feature_.assign(source.feature, source.feature + source.start[count_]);
        value_.resize(source.start[count_]);
    } else {
        dense_ = aligned<T>(std::size_t(count_ * features_));
    }
    const std::int64_t tasks = (count_ + kTaken - 1) / kTaken;
    std::vector<double> largest(tasks, 0.0);
    const std::function<void(std::int64_t, int)> task = [&](std::int64_t k, int) {
        for (std::int64_t i = k * kTaken; i < std::min(count_, (k + 1) * kTaken); ++i)
            largest[k] = std::max(largest[k], take(kernel, source, i));
    };
    if (pool != nullptr)
        pool->run(tasks, task);
    else
        for (std::int64_t k = 0; k < tasks; ++k) task(k, 0);
    for (const double one : largest) largest_ = std::max(largest_, one);
}

template <class T>
double Points<T>::take(const KernelSpec& kernel, const PointSource& source, std::int64_t i) {
    const double scale = scale_of(kernel);
    const std::int64_t first = sparse_ ? source.start[i] : i * features_;
    const std::int64_t count = sparse_ ? source.start[i + 1] - first : features_;
    const double* from = (sparse_ ? source.value : source.dense) + first;
    T* to = (sparse_ ? value_.data() : dense_.get()) + first;
    if (const double* const centre = source.centre)
        for (std::int64_t e = 0; e < count; ++e) to[e] = T(scale * (from[e] - centre[e]));
    else
        for (std::int64_t e = 0; e < count; ++e) to[e] = T(scale * from[e]);
    const double size = size_of(kernel.kind, to, count);
    panel_bias_[i] = panel_offset_;
    if (kernel.kind == Kind::gaussian) row_bias_[i] = panel_bias_[i] = T(-0.5 * size);
    if (kernel.kind == Kind::laplacian && sparse_) panel_bias_[i] = T(-size);
    return size;
}

template <class T>
void Points<T>::pack(const std::int64_t* index, std::int64_t count, const Micro& micro, T* panel, T* bias) const {
    constexpr std::int64_t P = kPanel<T>;
    for (std::int64_t k = 0; k < P; ++k) {
        const std::int64_t i = k < count ? index[k] : -1;
        bias[k] = i < 0 ? panel_offset_ : panel_bias_[i];
        if (sparse_ && i >= 0)
            for (std::int64_t e = start_[i]; e < start_[i + 1]; ++e) panel[feature_[e] * P + k] = value_[e];
    }
    if (!sparse_)
        pack_panel(
            [&](std::int64_t k) { return index[k] < 0 ? nullptr : row(index[k]); }, features_, count, micro, panel);
}

template <class T>
void Points<T>::unpack(const std::int64_t* index, std::int64_t count, T* panel) const {
    constexpr std::int64_t P = kPanel<T>;
    for (std::int64_t k = 0; k < count; ++k)
        if (index[k] >= 0)
            for (std::int64_t e = start_[index[k]]; e < start_[index[k] + 1]; ++e) panel[feature_[e] * P + k] = T(0);
}

template class Points<float>;
template class Points<double>;

}  // namespace kdsl
