// Expansions at new points; see expansion.hpp.
#include "expansion.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

namespace kdsl {

namespace {

// Rows whose sum is taken in the precision of the terms: a multiple of those that a micro-kernel holds in registers, or
// tiles.
template <class T>
constexpr std::int64_t kRowStep = std::is_same_v<T, Limbs> ? kTileRows : 24;
template <class T>
constexpr std::int64_t kMostRows = 240 / kRowStep<T> * kRowStep<T>;
// Bytes of rows and of panels that stay in the cache together. Tiles are as quick with rows that are farther away.
template <class T>
constexpr std::int64_t kRowBytes = std::int64_t(1) << (std::is_same_v<T, Limbs> ? 19 : 17);
constexpr std::int64_t kPanelBytes = std::int64_t(1) << 18;
// New points of so many features are looked at beforehand: exponents that cannot leave their range cost less. Points
// in one task of that.
constexpr std::int64_t kFewFeatures = 100, kLooked = 512;
constexpr std::int64_t kMostPanels = 8;  // in one task,
constexpr std::int64_t kTasks = 16;      // of which each worker has at least so many

double size_of_one(Kind kind, double x) { return kind == Kind::laplacian ? std::abs(x) : x * x; }

// |x - centre|^2, in sums that do not wait for one another.
template <class From>
double square_of(const From* x, const double* centre, std::int64_t features) {
    constexpr std::int64_t kSums = 8;
    double sums[kSums] = {};
    std::int64_t j = 0;
    for (; j + kSums <= features; j += kSums)
        for (std::int64_t k = 0; k < kSums; ++k) {
            const double d = double(x[j + k]) - centre[j + k];
            sums[k] += d * d;
        }
    for (; j < features; ++j) sums[0] += (double(x[j]) - centre[j]) * (double(x[j]) - centre[j]);
    return std::accumulate(sums, sums + kSums, 0.0);
}

// Whether single precision holds the kernel's values, and sums of this size lose at most a thousandth of a value of
// the kernel: n rounded terms are off by about sqrt(n) roundings of the largest sum, by five times that hardly ever.
bool fits_single(const KernelSpec& kernel, std::int64_t features, double largest) {
    const double sum = largest + std::abs(kernel.offset);
    if (kernel.kind == Kind::linear) return sum < 1e12;
    if (kernel.kind == Kind::polynomial) {
        const double value = std::pow(sum, kernel.degree);
        return sum < 1e12 && value < 1e12 && value > 1e-12;
    }
    return 5 * std::sqrt(double(features) + 4) * 0x1p-24 * sum < 1e-3;
}

}  // namespace

// The panels of one task, the sums of some rows over one of them, values that several sums share, and what they add up to:
// for each vector of coefficients a number for each point.
template <class T>
struct Expansion::Room {
    std::int64_t many, stride, length;  // from one panel to the next, and from one vector's results to the next
    Aligned<T> panel;
    Aligned<Bias<T>> bias;
    Aligned<Value<T>> sum, values;
    std::vector<double> value;

    Room(std::int64_t features, std::int64_t panels, std::int64_t many)
        : many(many),
          stride(std::max<std::int64_t>(features, 1) * std::int64_t(kPanel<T>)),
          length(panels * std::int64_t(kPanel<T>)),
          panel(aligned<T>(std::size_t(panels * stride))),
          bias(aligned<Bias<T>>(std::size_t(panels) * kPanel<T>)),
          sum(aligned<Value<T>>(std::size_t(many + 1) * kPanel<T>)),
          values(aligned<Value<T>>(many > 1 ? std::size_t(kMostRows<T> + kTileRows) * kPanel<T> : 1)),
          value(std::size_t(many * length)) {
        std::memset(panel.get(), 0, std::size_t(panels * stride) * sizeof(T));
    }
};

Expansion::Expansion(const KernelSpec& kernel, const PointSource& points, std::vector<double> centre,
                     const Micro& micro, int threads)
    : kernel_(kernel), points_(points), centre_(std::move(centre)), micro_(micro) {
    if (!LimbPoints::serve(kernel, points, micro)) thin_ = ThinPoints::of(kernel, points, centre_, threads);
    if (thin_) {
        centre_ = thin_->centre();
        points_ = thin_->source();
        return;
    }
    if (points.sparse()) centre_.clear();  // what is left of sparse points would be dense
    centre_.resize(std::size_t(points.features), 0.0);
    for (double& c : centre_) c = double(float(c));  // the same in both precisions
    points_.centre = points.sparse() ? nullptr : centre_.data();
}

template <class T>
const PointsOf<T>& Expansion::support(Pool& pool) {
    std::unique_ptr<PointsOf<T>>& wanted = std::get<std::unique_ptr<PointsOf<T>>>(support_);
    const std::lock_guard<std::mutex> lock(preparing_);
    if (wanted) return *wanted;
    if constexpr (std::is_same_v<T, Limbs>)
        wanted = std::make_unique<LimbPoints>(kernel_, points_, micro_, &pool);
    else
        wanted = std::make_unique<Points<T>>(kernel_, points_, &pool);
    return *wanted;
}

template <class T, class From>
void Expansion::pack_dense(const From* const* from, std::int64_t count, T* panel, double* size) const {
    using Wider = std::common_type_t<T, From>;
    constexpr std::int64_t P = kPanel<T>;
    const std::int64_t features = points_.features;
    const T scale = T(scale_of(kernel_));
    double sum[P] = {};
    Square<T> square;
    for (std::int64_t first = 0; first < features; first += P) {
        const std::int64_t some = std::min(P, features - first);
        Wider centre[P];
        std::copy_n(&centre_[first], some, centre);
        for (std::int64_t k = 0; k < count; ++k)
            for (std::int64_t j = 0; j < some; ++j) square.at(k)[j] = T(Wider(from[k][first + j]) - centre[j]);
        square.transpose(micro_, some, count, panel + first * P);
        T part[P] = {};
        for (std::int64_t j = first; j < first + some; ++j) {
            T* x = panel + j * P;
            for (std::int64_t k = 0; k < P; ++k) x[k] *= scale;
            if (kernel_.kind == Kind::laplacian)
                for (std::int64_t k = 0; k < P; ++k) part[k] += std::abs(x[k]);
            else
                for (std::int64_t k = 0; k < P; ++k) part[k] += x[k] * x[k];
        }
        for (std::int64_t k = 0; k < P; ++k) sum[k] += double(part[k]);
    }
    std::copy_n(sum, P, size);
}

template <class T>
void Expansion::pack_sparse(const PointSource& source, const std::int64_t* index, std::int64_t count, T* panel,
                            double* size) const {
    constexpr std::int64_t P = kPanel<T>;
    const double scale = scale_of(kernel_);
    std::memset(panel, 0, std::size_t(points_.features) * P * sizeof(T));
    for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t e = source.start[index[k]]; e < source.start[index[k] + 1]; ++e) {
            const T x = T(scale * source.value[e]);
            panel[source.feature[e] * P + k] = x;
            size[k] += size_of_one(kernel_.kind, double(x));
        }
}

template <class T>
double Expansion::pack(const NewPoints& at, const std::int64_t* index, std::int64_t count, T* panel, T* bias) const {
    const std::int64_t features = points_.features;
    double size[kPanel<T>] = {};
    if (at.single != nullptr) {
        const float* from[kPanel<T>];
        for (std::int64_t k = 0; k < count; ++k) from[k] = at.single + index[k] * features;
        pack_dense(from, count, panel, size);
    } else if (!at.source.sparse()) {
        const double* from[kPanel<T>];
        for (std::int64_t k = 0; k < count; ++k) from[k] = at.source.dense + index[k] * features;
        pack_dense(from, count, panel, size);
    } else {
        pack_sparse(at.source, index, count, panel, size);
    }
    const bool shifted = kernel_.kind == Kind::polynomial || kernel_.kind == Kind::sigmoid;
    double largest = 0;
    for (std::size_t k = 0; k < kPanel<T>; ++k) {
        bias[k] = shifted ? T(kernel_.offset) : T(0);
        if (kernel_.kind == Kind::gaussian) bias[k] = T(-0.5 * size[k]);
        if (kernel_.kind == Kind::laplacian && points_.sparse()) bias[k] = T(-size[k]);
        largest = std::isfinite(size[k]) ? std::max(largest, size[k]) : std::numeric_limits<double>::infinity();
    }
    return largest;
}

template <class From>
double Expansion::pack_limbs(const From* from, const std::int64_t* index, std::int64_t count, Limbs* panel,
                             Scaled* bias) const {
    const std::int64_t features = points_.features, length = LimbPoints::length(features);
    const Aligned<Limbs> rows = aligned<Limbs>(std::size_t(count * length));
    double largest = 0;
    for (std::size_t k = 0; k < kPanel<Limbs>; ++k) bias[k] = LimbPoints::nothing(kernel_);
    for (std::int64_t k = 0; k < count; ++k) {
        double size;
        bias[k] = LimbPoints::column(kernel_, LimbPoints::split(kernel_, from + index[k] * features, centre_.data(),
                                                                features, micro_, rows.get() + k * length, size));
        largest = std::max(largest, size);
    }
    pack_panel([&](std::int64_t k) { return rows.get() + k * length; }, length, count, micro_, panel);
    return largest;
}

double Expansion::pack(const NewPoints& at, const std::int64_t* index, std::int64_t count, Limbs* panel,
                       Scaled* bias) const {
    return at.single != nullptr ? pack_limbs(at.single, index, count, panel, bias)
                                : pack_limbs(at.source.dense, index, count, panel, bias);
}

// All rows past the panels: some rows at a time, which stay in the cache while the panels pass.
template <class T>
void Expansion::add_rows(const PointsOf<T>& rows, const std::vector<Value<T>>& weight, const Form& form,
                         std::int64_t panels, Room<T>& room) const {
    constexpr std::int64_t P = kPanel<T>;
    const Panels<T>& loops = micro_.panels<T>();
    const std::int64_t features = std::max<std::int64_t>(rows.features(), 1);
    const std::int64_t fitting = kRowBytes<T> / (features * std::int64_t(sizeof(T))) / kRowStep<T> * kRowStep<T>;
    const std::int64_t step = rows.sparse() ? kMostRows<T> : std::clamp(fitting, kRowStep<T>, kMostRows<T>);
    const std::size_t all = std::size_t(rows.count()), many = std::size_t(room.many);
    Value<T>*const sum = room.sum.get(), *const one = sum + many * P;
    std::fill(room.value.begin(), room.value.end(), 0.0);
    for (std::int64_t r = 0; r < rows.count(); r += step) {
        const std::int64_t some = std::min(step, rows.count() - r);
        for (std::int64_t p = 0; p < panels; ++p) {
            const T* const panel = room.panel.get() + p * room.stride;
            const Bias<T>* const bias = room.bias.get() + p * P;
            std::fill_n(sum, many * P, Value<T>(0));
            if (rows.sparse()) {
                if constexpr (std::is_floating_point_v<T>)
                    for (std::int64_t i = r; i < r + some; ++i) {
                        loops.sparse(form, panel, bias, rows.feature(i), rows.value(i),
                                     std::size_t(rows.nonzeros(i)), rows.row_bias(i), one);
                        for (std::size_t m = 0; m < many; ++m)
                            for (std::int64_t k = 0; k < P; ++k) sum[m * P + k] += weight[m * all + i] * one[k];
                    }
            } else if (many > 1) {
                loops.block(form, rows.row(r), rows.row_biases() + r, std::size_t(some), std::size_t(rows.features()),
                            panel, bias, room.values.get(), P);
                micro_.shared<Value<T>>().sums(room.values.get(), std::size_t(some), &weight[r], all, many, sum);
            } else {
                loops.accumulate(form, rows.row(r), rows.row_biases() + r, &weight[r],
                                 std::size_t(some), std::size_t(rows.features()), panel, bias, sum);
            }
            for (std::size_t m = 0; m < many; ++m)
                for (std::int64_t k = 0; k < P; ++k) room.value[m * room.length + p * P + k] += double(sum[m * P + k]);
        }
    }
}

double Expansion::largest(const NewPoints& at, const std::vector<std::int64_t>& index, Pool& pool) const {
    const std::int64_t features = points_.features, count = std::int64_t(index.size());
    const bool sparse = at.single == nullptr && at.source.sparse();
    if (kernel_.kind != Kind::gaussian || sparse || features > kFewFeatures)
        return std::numeric_limits<double>::infinity();
    std::vector<double> found(std::size_t((count + kLooked - 1) / kLooked), 0.0);
    pool.run(std::int64_t(found.size()), [&](std::int64_t task, int) {
        for (std::int64_t k = task * kLooked; k < std::min(count, (task + 1) * kLooked); ++k) {
            const std::int64_t first = index[k] * features;
            const double sum = at.single != nullptr ? square_of(at.single + first, centre_.data(), features)
                                                    : square_of(at.source.dense + first, centre_.data(), features);
            found[task] = std::isfinite(sum) ? std::max(found[task], sum) : std::numeric_limits<double>::infinity();
        }
    });
    const double scale = scale_of(kernel_);
    return scale * scale * *std::max_element(found.begin(), found.end());
}

template <class T>
double Expansion::evaluate(const std::vector<double>& coefficient, const NewPoints& at,
                           const std::vector<std::int64_t>& index, double* out, Pool& pool) {
    constexpr std::int64_t P = kPanel<T>;
    const PointsOf<T>& rows = support<T>(pool);
    const std::vector<Value<T>> weight(coefficient.begin(), coefficient.end());
    const std::int64_t count = std::int64_t(index.size()), all = (count + P - 1) / P;
    const std::int64_t bytes = std::max<std::int64_t>(rows.features(), 1) * P * std::int64_t(sizeof(T));
    const std::int64_t fitting = std::min({kMostPanels, kPanelBytes / bytes, all / (kTasks * pool.size())});
    const std::int64_t panels = std::max<std::int64_t>(fitting, 1), tasks = (all + panels - 1) / panels;
    std::vector<Room<T>> rooms;
    for (int w = 0; w < pool.size(); ++w) rooms.emplace_back(rows.features(), panels, many(coefficient));
    const Form form = form_of(kernel_, rows.largest(), largest(at, index, pool));
    std::vector<double> sizes(std::size_t(tasks), 0.0);
    pool.run(tasks, [&](std::int64_t task, int worker) {
        Room<T>& room = rooms[worker];
        const std::int64_t first = task * panels * P, last = std::min(count, first + panels * P);
        for (std::int64_t k = first, p = 0; k < last; k += P, ++p)
            sizes[task] = std::max(sizes[task], pack(at, &index[k], std::min(P, last - k),
                                                     room.panel.get() + p * room.stride, room.bias.get() + p * P));
        add_rows(rows, weight, form, (last - first + P - 1) / P, room);
        for (std::int64_t m = 0; m < room.many; ++m)
            std::copy_n(room.value.begin() + m * room.length, last - first, out + m * count + first);
    });
    return *std::max_element(sizes.begin(), sizes.end());
}

std::vector<double> Expansion::values(const std::vector<double>& coefficient, const NewPoints& at, Pool& pool) {
    std::vector<double> out(std::size_t(many(coefficient) * at.source.count));
    if (out.empty()) return out;
    std::vector<std::int64_t> every(std::size_t(at.source.count));
    std::iota(every.begin(), every.end(), 0);
    evaluate<double>(coefficient, at, every, out.data(), pool);
    return out;
}

std::optional<std::vector<double>> Expansion::rough_values(const std::vector<double>& coefficient, const NewPoints& at,
                                                           Pool& pool) {
    const std::int64_t count = at.source.count, features = points_.features;
    const auto heaviest = [](double a, double b) { return std::abs(a) < std::abs(b); };
    const bool sparse = at.single == nullptr && at.source.sparse();
    const bool limbs = !sparse && LimbPoints::serve(kernel_, points_, micro_);
    const double extent = limbs ? support<Limbs>(pool).largest() : support<float>(pool).largest();
    if (count == 0 || !fits_single(kernel_, features, extent) ||
        std::any_of(coefficient.begin(), coefficient.end(), [](double c) { return !(std::abs(c) < 1e12); }))
        return std::nullopt;
    const std::int64_t all = many(coefficient);
    std::vector<double> out(std::size_t(all * count)), wanted(std::size_t(all * kSample));
    std::vector<std::int64_t> index(static_cast<std::size_t>(count)), some(static_cast<std::size_t>(kSample));
    std::iota(index.begin(), index.end(), 0);
    for (std::int64_t k = 0; k < kSample; ++k) some[k] = k * (count - 1) / (kSample - 1);
    const double reach = limbs ? evaluate<Limbs>(coefficient, at, index, out.data(), pool)
                               : evaluate<float>(coefficient, at, index, out.data(), pool);
    if (!fits_single(kernel_, features, reach)) return std::nullopt;
    evaluate<double>(coefficient, at, some, wanted.data(), pool);
    for (std::int64_t m = 0; m < all; ++m) {
        const auto first = out.begin() + m * count;
        const double most = kDoubt * std::abs(*std::max_element(first, first + count, heaviest));
        for (std::int64_t k = 0; k < kSample; ++k)
            if (!(std::abs(first[some[k]] - wanted[m * kSample + k]) <= most)) return std::nullopt;
    }
    return out;
}

}  // namespace kdsl
