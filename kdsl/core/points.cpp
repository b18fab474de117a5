// Scaling and packing of points; see points.hpp.
#include "points.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace kdsl {

namespace {

constexpr double kLog2E = 1.4426950408889634074;

double scale_of(const KernelSpec& kernel) {
    switch (kernel.kind) {
        case Kind::linear: return 1.0;
        case Kind::polynomial:
        case Kind::sigmoid: return std::sqrt(kernel.gamma);
        case Kind::gaussian: return std::sqrt(2 * kernel.gamma * kLog2E);
        case Kind::laplacian: return kernel.gamma * kLog2E;
    }
    return 1.0;
}

}  // namespace

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

double largest_sum(const KernelSpec& kernel, const PointSource& source) {
    const double scale = scale_of(kernel);
    const double* values = source.sparse() ? source.value : source.dense;
    double largest = 0;
    for (std::int64_t i = 0; i < source.count; ++i) {
        const std::int64_t first = source.sparse() ? source.start[i] : i * source.features;
        const std::int64_t last = source.sparse() ? source.start[i + 1] : (i + 1) * source.features;
        double size = 0;
        for (std::int64_t e = first; e < last; ++e) {
            const double x = scale * values[e];
            size += kernel.kind == Kind::laplacian ? std::abs(x) : x * x;
        }
        if (!std::isfinite(size))
            throw std::invalid_argument("point " + std::to_string(i + 1) +
                                        " has a feature that is not a finite number");
        largest = std::max(largest, size);
    }
    return largest + std::abs(kernel.offset);
}

template <class T>
Points<T>::Points(const KernelSpec& kernel, const PointSource& source)
    : count_(source.count),
      features_(source.features),
      sparse_(source.sparse()),
      panel_offset_(kernel.kind == Kind::polynomial || kernel.kind == Kind::sigmoid ? T(kernel.offset) : T(0)),
      row_bias_(source.count),
      panel_bias_(source.count) {
    const double scale = scale_of(kernel);
    const double* values = sparse_ ? source.value : source.dense;
    const std::int64_t stored = sparse_ ? source.start[count_] : count_ * features_;
    std::vector<T>& scaled = sparse_ ? value_ : dense_;
    scaled.resize(stored);
    for (std::int64_t e = 0; e < stored; ++e) scaled[e] = T(scale * values[e]);
    if (sparse_) {
        start_.assign(source.start, source.start + count_ + 1);
        feature_.assign(source.feature, source.feature + stored);
    }
    for (std::int64_t i = 0; i < count_; ++i) {
        const std::int64_t first = sparse_ ? start_[i] : i * features_;
        const std::int64_t last = sparse_ ? start_[i + 1] : (i + 1) * features_;
        double square = 0, absolute = 0;
        for (std::int64_t e = first; e < last; ++e) {
            square += double(scaled[e]) * double(scaled[e]);
            absolute += std::abs(double(scaled[e]));
        }
        panel_bias_[i] = panel_offset_;
        if (kernel.kind == Kind::gaussian) row_bias_[i] = panel_bias_[i] = T(-0.5 * square);
        if (kernel.kind == Kind::laplacian && sparse_) panel_bias_[i] = T(-absolute);
    }
}

template <class T>
void Points<T>::pack(const std::int64_t* index, std::int64_t count, T* panel, T* bias) const {
    constexpr std::int64_t P = kPanel<T>;
    for (std::int64_t k = 0; k < P; ++k) {
        const std::int64_t i = k < count ? index[k] : -1;
        bias[k] = i < 0 ? panel_offset_ : panel_bias_[i];
        if (sparse_) {
            if (i >= 0)
                for (std::int64_t e = start_[i]; e < start_[i + 1]; ++e) panel[feature_[e] * P + k] = value_[e];
        } else {
            for (std::int64_t j = 0; j < features_; ++j) panel[j * P + k] = i < 0 ? T(0) : dense_[i * features_ + j];
        }
    }
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
