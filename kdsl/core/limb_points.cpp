// Splitting of points into parts; see limb_points.hpp.
#include "limb_points.hpp"

namespace kdsl {

namespace {

constexpr std::int64_t kTaken = 128;             // points in one task
constexpr std::int64_t kFewest = 32;             // features, below which single precision is as quick,
constexpr std::int64_t kMost = 40000;            // and above which sums might not fit in 32 bits
constexpr double kLevel = 256;                   // its square is what the lowest level is worth, in products of steps

bool is_shifted(const KernelSpec& kernel) {
    return kernel.kind == Kind::polynomial || kernel.kind == Kind::sigmoid;
}

}  // namespace

bool LimbPoints::serve(const KernelSpec& kernel, const PointSource& source, const Micro& micro) {
    return micro.tiles != nullptr && !source.sparse() && kernel.kind != Kind::laplacian &&
           source.features >= kFewest && source.features <= kMost;
}

template <class From>
Scaled LimbPoints::split(const KernelSpec& kernel, const From* x, const double* centre, std::int64_t features,
                         const Micro& micro, Limbs* to, double& size) {
    Steps own;
    if constexpr (std::is_same_v<From, float>)
        own = micro.tiles->split_f(x, centre, scale_of(kernel), std::size_t(features), to);
    else
        own = micro.tiles->split_d(x, centre, scale_of(kernel), std::size_t(features), to);
    size = own.step * own.step * own.square;
    return {kernel.kind == Kind::gaussian ? float(-0.5 * size) : 0.0f, float(kLevel * own.step)};
}

Scaled LimbPoints::column(const KernelSpec& kernel, Scaled row) {
    return {is_shifted(kernel) ? float(kernel.offset) : row.bias, row.unit};
}

LimbPoints::LimbPoints(const KernelSpec& kernel, const PointSource& source, const Micro& micro, Pool* pool)
    : kernel_(kernel),
      count_(source.count),
      length_(length(source.features)),
      limbs_(aligned<Limbs>(std::size_t((count_ + kTileRows) * length_))),
      row_bias_(std::size_t(count_)) {
    const std::int64_t tasks = (count_ + kTaken - 1) / kTaken;
    std::vector<double> largest(std::size_t(tasks), 0.0);
    const std::function<void(std::int64_t, int)> task = [&](std::int64_t k, int) {
        for (std::int64_t i = k * kTaken; i < std::min(count_, (k + 1) * kTaken); ++i) {
            double size;
            row_bias_[i] = split(kernel, source.dense + i * source.features, source.centre, source.features, micro,
                                 limbs_.get() + i * length_, size);
            largest[k] = std::max(largest[k], size);
        }
    };
    if (pool != nullptr)
        pool->run(tasks, task);
    else
        for (std::int64_t k = 0; k < tasks; ++k) task(k, 0);
    for (const double one : largest) largest_ = std::max(largest_, one);
}

void LimbPoints::pack(const std::int64_t* index, std::int64_t count, const Micro& micro, Limbs* panel,
                      Scaled* bias) const {
    constexpr std::int64_t P = kPanel<Limbs>;
    for (std::int64_t k = 0; k < P; ++k) {
        const std::int64_t i = k < count ? index[k] : -1;
        bias[k] = i < 0 ? nothing(kernel_) : column(kernel_, row_bias_[i]);
    }
    pack_panel(
        [&](std::int64_t k) { return index[k] < 0 ? nullptr : row(index[k]); }, length_, count, micro, panel);
}

template Scaled LimbPoints::split<float>(const KernelSpec&, const float*, const double*, std::int64_t, const Micro&,
                                         Limbs*, double&);
template Scaled LimbPoints::split<double>(const KernelSpec&, const double*, const double*, std::int64_t, const Micro&,
                                          Limbs*, double&);

}  // namespace kdsl
