// Points held in one precision, scaled so that a kernel needs one accumulated sum (micro.hpp), and packed in panels.
//
//   linear      <x, z>                          points as they are
//   polynomial  gamma <x, z> + offset           points times sqrt(gamma), the offset in the bias of a panel
//   sigmoid     the same
//   gaussian    -gamma log2(e) ||x - z||^2      points times sqrt(2 gamma log2(e)), the biases -||x||^2 / 2
//   laplacian   -gamma log2(e) ||x - z||_1      points times gamma log2(e)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "aligned.hpp"
#include "micro.hpp"
#include "pool.hpp"

namespace kdsl {

struct KernelSpec {
    Kind kind;
    double gamma, offset;
    int degree;
};

// Points as the caller holds them: dense rows, or compressed sparse rows.
struct PointSource {
    std::int64_t count = 0, features = 0;
    const double* dense = nullptr;           // count x features
    const std::int64_t* start = nullptr;     // CSR: count + 1
    const std::int32_t* feature = nullptr;
    const double* value = nullptr;
    const double* centre = nullptr;          // is subtracted from dense points where it is not nullptr

    bool sparse() const { return dense == nullptr; }
    // sum += by * point i, and <point i, v>.
    void add(std::int64_t i, double by, double* sum) const;
    double dot(std::int64_t i, const double* v) const;
};

// The kernel as a function of sums over points of two sets, in which the largest sums of a point with itself are these.
inline Form form_of(const KernelSpec& kernel, double rows, double cols) {
    const double farthest = 0.5 * (std::sqrt(rows) + std::sqrt(cols)) * (std::sqrt(rows) + std::sqrt(cols));
    const bool near = kernel.kind == Kind::gaussian && farthest < kFarthest;
    return {near ? Kind::gaussian_near : kernel.kind, kernel.degree};
}

// What the features are multiplied by, so that the kernel needs one sum.
double scale_of(const KernelSpec& kernel);

// How far points reach: the largest of their norms, and of the absolute values of their features.
struct Extent {
    double norm = 0, norm1 = 0, feature = 0;
};
// Throws std::invalid_argument, naming the first point, where a feature is not a finite number.
Extent extent_of(const PointSource& source, int threads = 1);

// The largest value that the kernel's sum may take on such points, and so bounds the kernel's values.
double largest_sum(const KernelSpec& kernel, const Extent& extent);

// As many features of a panel's points as there are points, on their way into the panel.
template <class T>
class Square {
public:
    static constexpr std::int64_t P = std::int64_t(kPanel<T>);

    T* at(std::int64_t point) { return values_ + point * P; }
    // The first features of the first points, feature-major; the lanes of further points become 0.
    void transpose(const Micro& micro, std::int64_t features, std::int64_t points, T* panel) {
        std::fill(at(points), values_ + P * P, T(0));
        if (features == P) return micro.panels<T>().transpose(values_, P, panel, P);
        for (std::int64_t j = 0; j < features; ++j)
            for (std::int64_t k = 0; k < P; ++k) panel[j * P + k] = at(k)[j];
    }

private:
    alignas(64) T values_[P * P];
};

// A panel of points whose features lie together at point(k); those of a point at nullptr, and of further points, are 0.
template <class T, class Point>
void pack_panel(Point point, std::int64_t features, std::int64_t count, const Micro& micro, T* panel) {
    constexpr std::int64_t P = Square<T>::P;
    Square<T> square;
    for (std::int64_t first = 0; first < features; first += P) {
        const std::int64_t some = std::min(P, features - first);
        for (std::int64_t k = 0; k < count; ++k)
            if (const T* const from = point(k))
                std::copy_n(from + first, some, square.at(k));
            else
                std::fill_n(square.at(k), some, T(0));
        square.transpose(micro, some, count, panel + first * P);
    }
}

template <class T>
class Points {
public:
    // `pool` shares the work.
    Points(const KernelSpec& kernel, const PointSource& source, Pool* pool = nullptr);

    // The largest sum of a point with itself: ||x||^2 as scaled, ||x||_1 for the Laplacian kernel.
    double largest() const { return largest_; }
    std::int64_t features() const { return features_; }
    std::int64_t count() const { return count_; }
    bool sparse() const { return sparse_; }

    // Up to kPanel<T> points, feature-major; an index of -1 (and room left over) packs a zero point.
    void pack(const std::int64_t* index, std::int64_t count, const Micro& micro, T* panel, T* bias) const;
    // Undoes the nonzeros of a sparse panel, so that it can be packed again without being cleared.
    void unpack(const std::int64_t* index, std::int64_t count, T* panel) const;

    const T* row(std::int64_t i) const { return dense_.get() + i * features_; }
    T row_bias(std::int64_t i) const { return row_bias_[i]; }
    const T* row_biases() const { return row_bias_.data(); }
    std::int64_t nonzeros(std::int64_t i) const { return start_[i + 1] - start_[i]; }
    const std::int32_t* feature(std::int64_t i) const { return feature_.data() + start_[i]; }
    const T* value(std::int64_t i) const { return value_.data() + start_[i]; }

private:
    double take(const KernelSpec& kernel, const PointSource& source, std::int64_t i);

    std::int64_t count_, features_;
    bool sparse_;
    T panel_offset_;
    double largest_ = 0;
    Aligned<T> dense_;
    std::vector<T> value_, row_bias_, panel_bias_;
    std::vector<std::int64_t> start_;
    std::vector<std::int32_t> feature_;
};

// How points are held whose features are of type T.
template <class T>
struct PointsIn {
    using type = Points<T>;
};
template <class T>
using PointsOf = typename PointsIn<T>::type;

}  // namespace kdsl
