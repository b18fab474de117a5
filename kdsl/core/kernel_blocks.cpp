// Blocks of a kernel matrix; see kernel_blocks.hpp.
#include "kernel_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "aligned.hpp"
#include "hessian.hpp"
#include "kernel_product.hpp"

namespace kdsl {

namespace {

// Rows in one call of a micro-kernel: few enough that their sum in single precision loses nothing that matters
// and that the rows stay in the cache beside the panel; a multiple of those that it holds in registers.
template <class T>
constexpr std::int64_t kChunk = 240;
template <>
constexpr std::int64_t kChunk<Limbs> = 8 * kTileRows;
// Numbers that one task gathers.
constexpr std::int64_t kCopied = 1 << 16;
// Packed numbers that are kept for sums over all points.
constexpr std::int64_t kKept = std::int64_t(1) << 24;
// Fewer of them are written where they are wanted, where two vectors are not a whole panel and the micro-kernel comes
// to a row of the block more than once: with a stride of whole pages more would drive each other out of the cache.
constexpr std::int64_t kWritten = 6;
// Whether computing an entry, for which the share of a vector that its features fill speaks, takes longer than copying
// it across the diagonal, which memory limits. Measured on blocks of 1,024 to 3,072 rows.
template <class T>
bool worth_mirroring(std::int64_t features, const Micro& micro) {
    return 2 * features * std::int64_t(sizeof(T)) >= 3 * std::int64_t(micro.width);
}

// Bytes of packed points that a row finds in the nearest cache.
constexpr std::int64_t kNearest = 48 << 10;

double unit_of(const LatticePoints& points) { return points.unit(); }
template <class Points>
double unit_of(const Points&) {
    return 1;
}

// The rows of a block, gathered: contiguous where they are dense, by reference where sparse. Empty rows are dropped.
// Behind them is room for rows that complete a tile.
template <class T>
struct Gathered {
    std::vector<std::int64_t> position, index;
    std::vector<Bias<T>> bias;
    Aligned<T> dense;

    template <class Points>
    Gathered(const Points& points, const std::vector<std::int64_t>& rows, Pool& pool) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rows[i] >= 0) position.push_back(std::int64_t(i)), index.push_back(rows[i]);
        for (const std::int64_t i : index) bias.push_back(points.row_bias(i));
        if (points.sparse()) return;
        const std::int64_t features = points.features(), some = std::max<std::int64_t>(1, kCopied / (features + 1));
        dense = aligned<T>(std::size_t((count() + kTileRows) * features));
        pool.run((count() + some - 1) / some, [&](std::int64_t task, int) {
            for (std::int64_t i = task * some; i < std::min(count(), (task + 1) * some); ++i)
                std::copy_n(points.row(index[i]), features, dense.get() + i * features);
        });
    }
    std::int64_t count() const { return std::int64_t(index.size()); }
};

// What one worker needs to hold a panel.
template <class T>
struct Scratch {
    Aligned<T> panel;
    Aligned<Bias<T>> bias;
    Aligned<Value<T>> values;

    explicit Scratch(std::int64_t features)
        : panel(aligned<T>(std::size_t(std::max<std::int64_t>(features, 1)) * kPanel<T>)),
          bias(aligned<Bias<T>>(kPanel<T>)),
          values(aligned<Value<T>>(std::size_t(kChunk<T>) * kPanel<T>)) {
        std::memset(panel.get(), 0, std::size_t(features) * kPanel<T> * sizeof(T));
    }
};

}  // namespace

template <class T>
KernelBlocks::Copy<T>& KernelBlocks::copy(Pool& pool) {
    Copy<T>& wanted = std::get<Copy<T>>(copies_);
    const std::lock_guard<std::mutex> lock(copying_);
    if (wanted.rows) return wanted;
    if constexpr (std::is_same_v<T, Pair>) {
        wanted.rows = std::make_unique<LatticePoints>(kernel_, rows_source_,
                                                      extent_ ? *extent_ : extent_of(rows_source_), pool);
    } else if constexpr (std::is_same_v<T, Limbs>) {
        wanted.rows = std::make_unique<LimbPoints>(kernel_, rows_source_, micro_, &pool);
        if (!same_points()) wanted.own_cols = std::make_unique<LimbPoints>(kernel_, cols_source_, micro_, &pool);
    } else {
        wanted.rows = std::make_unique<Points<T>>(kernel_, rows_source_, &pool);
        if (!same_points()) wanted.own_cols = std::make_unique<Points<T>>(kernel_, cols_source_, &pool);
    }
    wanted.cols = wanted.own_cols ? wanted.own_cols.get() : wanted.rows.get();
    return wanted;
}

template <class T>
Form KernelBlocks::form_of(const Copy<T>& points, bool rough) const {
    Form form = kdsl::form_of(kernel_, points.rows->largest(), points.cols->largest());
    form.rough = rough;
    form.unit = unit_of(*points.rows);
    return form;
}

template <class T>
KernelBlocks::Kept<T> KernelBlocks::packed(const Copy<T>& points, const std::vector<std::int64_t>& columns,
                                           Pool& pool) const {
    constexpr std::int64_t P = kPanel<T>;
    const std::int64_t count = std::int64_t(columns.size()), features = points.cols->features();
    const std::int64_t panels = (count + P - 1) / P;
    Kept<T> made{columns, aligned<T>(std::size_t(panels * features * P)), aligned<Bias<T>>(std::size_t(panels * P))};
    pool.run(panels, [&](std::int64_t p, int) {
        points.cols->pack(&columns[p * P], std::min(P, count - p * P), micro_, &made.panels[p * features * P],
                          &made.biases[p * P]);
    });
    return made;
}

template <class T>
const KernelBlocks::Kept<T>* KernelBlocks::kept(Copy<T>& points, const std::vector<std::int64_t>& columns,
                                                Pool& pool) {
    if constexpr (std::is_same_v<T, double>) return nullptr;
    const std::int64_t count = std::int64_t(columns.size());
    if (points.cols->sparse() || count != points.cols->count() || count * points.cols->features() > kKept)
        return nullptr;
    const std::lock_guard<std::mutex> lock(copying_);
    Kept<T>& kept = points.kept;
    if (kept.columns.empty()) kept = packed(points, columns, pool);
    return kept.columns == columns ? &kept : nullptr;
}

template <class T>
void KernelBlocks::block(const std::vector<std::int64_t>& row_index, const std::vector<std::int64_t>& col_index,
                         Value<T>* out, std::int64_t stride, Pool& pool) {
    constexpr bool rough = std::is_same_v<T, Pair>;
    if constexpr (!std::is_same_v<T, double>)
        if (has_limbs()) return compute<Limbs>(row_index, col_index, rough, out, stride, pool);
    compute<T>(row_index, col_index, rough, out, stride, pool);
}

template <class T>
void KernelBlocks::compute(const std::vector<std::int64_t>& row_index, const std::vector<std::int64_t>& col_index,
                           bool rough, Value<T>* out, std::int64_t stride, Pool& pool) {
    const Copy<T>& points = copy<T>(pool);
    const Panels<T>& loops = micro_.panels<T>();
    const Gathered<T> rows(*points.rows, row_index, pool);
    const Form form = form_of(points, rough);
    const std::int64_t features = points.cols->features(), width = kPanel<T>;
    const std::int64_t cols = std::int64_t(col_index.size()), panels = (cols + width - 1) / width;
    const bool every_row = rows.count() == std::int64_t(row_index.size());
    const bool mirrored = &row_index == &col_index && every_row && worth_mirroring<T>(features, micro_);
    std::vector<Scratch<T>> scratch;
    for (int w = 0; w < pool.size(); ++w) scratch.emplace_back(features);
    pool.run(panels, [&](std::int64_t task, int worker) {
        Scratch<T>& s = scratch[worker];
        const std::int64_t first = (panels - 1 - task) * width, count = std::min(width, cols - first);
        points.cols->pack(&col_index[first], count, micro_, s.panel.get(), s.bias.get());
        const auto compute = [&](std::int64_t r, std::int64_t some, Value<T>* to, std::int64_t apart) {
            if (!points.rows->sparse())
                return loops.block(form, rows.dense.get() + r * features, &rows.bias[r],
                                   std::size_t(some), std::size_t(features), s.panel.get(), s.bias.get(), to,
                                   std::size_t(apart));
            if constexpr (std::is_floating_point_v<T>)
                for (std::int64_t i = r; i < r + some; ++i) {
                    const std::int64_t at = rows.index[i];
                    loops.sparse(form, s.panel.get(), s.bias.get(), points.rows->feature(at), points.rows->value(at),
                                 std::size_t(points.rows->nonzeros(at)), rows.bias[i], to + (i - r) * apart);
                }
        };
        // Of a symmetric block the rows up to the panel's own points are computed, and copied across the diagonal.
        const std::int64_t last = mirrored ? first + count : rows.count();
        // A full panel of points, every row a point: the kernel writes where the block is wanted.
        const bool every_col = *std::min_element(&col_index[first], &col_index[first] + count) >= 0;
        const bool whole = count == width && every_row && every_col;
        for (std::size_t i = 0; i < row_index.size(); ++i)
            if (row_index[i] < 0) std::fill_n(out + std::int64_t(i) * stride + first, count, Value<T>(0));
        const bool in_parts = 2 * micro_.width < kPanel<T> * sizeof(Value<T>);
        const std::int64_t step = whole && !mirrored && in_parts ? kWritten : kChunk<T>;
        for (std::int64_t r = 0; r < last; r += step) {
            const std::int64_t some = std::min(step, last - r);
            if (whole && !mirrored) {
                compute(r, some, out + r * stride + first, stride);
                continue;
            }
            Value<T>* values = s.values.get();
            compute(r, some, values, width);
            for (std::int64_t i = r; i < r + some; ++i) {
                Value<T>* to = out + rows.position[i] * stride + first;
                std::copy_n(values + (i - r) * width, count, to);
                for (std::int64_t j = 0; !every_col && j < count; ++j)
                    if (col_index[first + j] < 0) to[j] = Value<T>(0);
            }
            if (!mirrored) continue;
            const std::int64_t across = std::min(some, first - r);
            if (count == width && across > 0)
                micro_.panels<Value<T>>().transpose(values, std::size_t(across), out + first * stride + r,
                                                   std::size_t(stride));
            else
                for (std::int64_t j = 0; j < count; ++j)
                    for (std::int64_t i = 0; i < across; ++i) out[(first + j) * stride + r + i] = values[i * width + j];
        }
        if constexpr (std::is_floating_point_v<T>)
            if (points.cols->sparse()) points.cols->unpack(&col_index[first], count, s.panel.get());
    });
}

std::unique_ptr<KernelBlocks::Rows> KernelBlocks::rows(const std::vector<std::int64_t>& index, Pool& pool) {
    const std::int64_t bytes = std::int64_t(index.size()) * rows_source_.features * std::int64_t(sizeof(float));
    if (!same_points() || rows_source_.sparse() || has_limbs() || bytes > kNearest) return nullptr;
    if (std::ranges::any_of(index, [](std::int64_t i) { return i < 0; })) return nullptr;
    const Copy<float>& points = copy<float>(pool);
    return std::make_unique<Rows>(form_of(points, false), *points.rows, index, micro_);
}

KernelBlocks::Rows::Rows(const Form& form, const Points<float>& points, const std::vector<std::int64_t>& index,
                         const Micro& micro)
    : form_(form),
      points_(points),
      micro_(micro),
      index_(index),
      panels_((std::int64_t(index.size()) + kPanel<float> - 1) / kPanel<float>),
      panel_(aligned<float>(std::size_t(panels_ * points.features()) * kPanel<float>)),
      bias_(aligned<float>(std::size_t(panels_) * kPanel<float>)) {
    constexpr std::int64_t P = kPanel<float>;
    static_assert(P == SetRows::kUnit);
    for (std::int64_t p = 0; p < panels_; ++p)
        points.pack(&index_[p * P], std::min(P, std::int64_t(index_.size()) - p * P), micro,
                    &panel_[p * points.features() * P], &bias_[p * P]);
}

void KernelBlocks::Rows::row(std::int64_t i, float* out) const {
    micro_.row_f(form_, points_.row(index_[i]), points_.row_bias(index_[i]), std::size_t(points_.features()),
                 panel_.get(), bias_.get(), std::size_t(panels_), out);
}

double KernelBlocks::Rows::diagonal(std::int64_t i) const {
    if (form_.kind == Kind::gaussian || form_.kind == Kind::gaussian_near || form_.kind == Kind::laplacian) return 1;
    constexpr std::int64_t P = kPanel<float>;
    alignas(64) float values[P];
    micro_.row_f(form_, points_.row(index_[i]), points_.row_bias(index_[i]), std::size_t(points_.features()),
                 &panel_[i / P * points_.features() * P], &bias_[i / P * P], 1, values);
    return values[i % P];
}

// sum_i coefficient[i] <x_i, z_j> = <sum_i coefficient[i] x_i, z_j>, in double precision whatever is asked for.
class KernelBlocks::LinearSums final : public Sums {
public:
    LinearSums(const PointSource& rows, const PointSource& cols, const std::vector<std::int64_t>& row_index,
               const std::vector<double>& coefficient, const std::vector<std::int64_t>& col_index, Take take)
        : cols_(cols), col_index_(col_index), take_(std::move(take)), sum_(std::size_t(rows.features), 0.0) {
        for (std::size_t i = 0; i < row_index.size(); ++i)
            if (row_index[i] >= 0) rows.add(row_index[i], coefficient[i], sum_.data());
    }
    std::int64_t parts() const override { return (std::int64_t(col_index_.size()) + kColumns - 1) / kColumns; }
    void take(std::int64_t part, int) override {
        const std::int64_t first = part * kColumns;
        const std::int64_t count = std::min(kColumns, std::int64_t(col_index_.size()) - first);
        double sums[kColumns];
        for (std::int64_t j = 0; j < count; ++j)
            sums[j] = col_index_[first + j] < 0 ? 0.0 : cols_.dot(col_index_[first + j], sum_.data());
        take_(first, count, sums);
    }

private:
    const PointSource& cols_;
    const std::vector<std::int64_t>& col_index_;
    Take take_;
    std::vector<double> sum_;
};

template <class T>
class KernelBlocks::KernelSums final : public Sums {
public:
    KernelSums(const Form& form, const Micro& micro, const Copy<T>& points, const Kept<T>* kept,
               const std::vector<std::int64_t>& row_index, const std::vector<double>& coefficient,
               const std::vector<std::int64_t>& col_index, Take take, Pool& pool)
        : form_(form),
          micro_(micro),
          points_(points),
          kept_(kept),
          col_index_(col_index),
          take_(std::move(take)),
          rows_(*points.rows, row_index, pool) {
        for (const std::int64_t i : rows_.position) weight_.push_back(Value<T>(coefficient[i]));
        for (int w = 0; w < pool.size(); ++w) scratch_.emplace_back(points.cols->features());
    }
    std::int64_t parts() const override { return (std::int64_t(col_index_.size()) + kColumns - 1) / kColumns; }
    void take(std::int64_t part, int worker) override {
        const std::int64_t first = part * kColumns;
        const std::int64_t count = std::min(kColumns, std::int64_t(col_index_.size()) - first);
        double sums[kColumns] = {};
        for (std::int64_t j = 0; j < count; j += kWidth) sum(first + j, std::min(kWidth, count - j), sums + j, worker);
        for (std::int64_t j = 0; j < count; ++j)
            if (col_index_[first + j] < 0) sums[j] = 0;
        take_(first, count, sums);
    }

private:
    static constexpr std::int64_t kWidth = kPanel<T>;
    static_assert(kColumns % kWidth == 0);

    // Of one panel: `sums` has room for all of it.
    void sum(std::int64_t first, std::int64_t count, double* sums, int worker) {
        Scratch<T>& s = scratch_[worker];
        const Panels<T>& loops = micro_.panels<T>();
        const std::int64_t features = points_.cols->features();
        const T* const panel = kept_ != nullptr ? &kept_->panels[first * features] : s.panel.get();
        const Bias<T>* const bias = kept_ != nullptr ? &kept_->biases[first] : s.bias.get();
        if (kept_ == nullptr) points_.cols->pack(&col_index_[first], count, micro_, s.panel.get(), s.bias.get());
        Value<T>* const some_sum = s.values.get();
        for (std::int64_t r = 0; r < rows_.count(); r += kChunk<T>) {
            const std::int64_t some = std::min(kChunk<T>, rows_.count() - r);
            std::fill_n(some_sum, kWidth, Value<T>(0));
            if (points_.rows->sparse())
                add_sparse(r, some, panel, bias, some_sum);
            else
                loops.accumulate(form_, rows_.dense.get() + r * features, &rows_.bias[r],
                                 &weight_[r], std::size_t(some), std::size_t(features), panel, bias, some_sum);
            for (std::int64_t j = 0; j < kWidth; ++j) sums[j] += double(some_sum[j]);
        }
        if constexpr (std::is_floating_point_v<T>)
            if (points_.cols->sparse()) points_.cols->unpack(&col_index_[first], count, s.panel.get());
    }

    void add_sparse(std::int64_t first, std::int64_t count, const T* panel, const Bias<T>* bias, Value<T>* sum) {
        if constexpr (std::is_floating_point_v<T>) {
            T* const one = sum + kWidth;
            for (std::int64_t i = first; i < first + count; ++i) {
                const std::int64_t at = rows_.index[i];
                micro_.panels<T>().sparse(form_, panel, bias, points_.rows->feature(at),
                                          points_.rows->value(at), std::size_t(points_.rows->nonzeros(at)),
                                          rows_.bias[i], one);
                for (std::int64_t j = 0; j < kWidth; ++j) sum[j] += weight_[i] * one[j];
            }
        }
    }

    Form form_;
    const Micro& micro_;
    const Copy<T>& points_;
    const Kept<T>* kept_;
    const std::vector<std::int64_t>& col_index_;
    Take take_;
    Gathered<T> rows_;
    std::vector<Value<T>> weight_;
    std::vector<Scratch<T>> scratch_;
};

template <class T>
std::unique_ptr<Sums> KernelBlocks::sums(const std::vector<std::int64_t>& row_index,
                                         const std::vector<double>& coefficient,
                                         const std::vector<std::int64_t>& col_index, Take take, Pool& pool) {
    if (kernel_.kind == Kind::linear)
        return std::make_unique<LinearSums>(rows_source_, cols_source_, row_index, coefficient, col_index,
                                            std::move(take));
    constexpr bool rough = std::is_same_v<T, Pair>;
    if constexpr (!std::is_same_v<T, double>)
        if (has_limbs()) return sums_in<Limbs>(row_index, coefficient, col_index, rough, std::move(take), pool);
    return sums_in<T>(row_index, coefficient, col_index, rough, std::move(take), pool);
}

template <class T>
std::unique_ptr<Sums> KernelBlocks::sums_in(const std::vector<std::int64_t>& row_index,
                                            const std::vector<double>& coefficient,
                                            const std::vector<std::int64_t>& col_index, bool rough, Take take,
                                            Pool& pool) {
    Copy<T>& points = copy<T>(pool);
    return std::make_unique<KernelSums<T>>(form_of(points, rough), micro_, points, kept(points, col_index, pool),
                                           row_index, coefficient, col_index, std::move(take), pool);
}

template <class T>
void KernelBlocks::accumulate(const std::vector<std::int64_t>& row_index, const std::vector<double>& coefficient,
                              const std::vector<std::int64_t>& col_index, const Take& take, Pool& pool) {
    const std::unique_ptr<Sums> all = sums<T>(row_index, coefficient, col_index, take, pool);
    pool.run(all->parts(), [&](std::int64_t part, int worker) { all->take(part, worker); });
}

bool KernelBlocks::serves_twice(std::int64_t count, bool exact) const {
    return kernel_.kind != Kind::linear && same_points() && !rows_source_.sparse() && (exact || !has_limbs()) &&
           count * rows_source_.features <= kKept;
}

template <class T>
std::vector<double> KernelBlocks::product(const std::vector<std::int64_t>& index, const std::vector<double>& v,
                                          Pool& pool) {
    if (serves_twice(std::int64_t(index.size()), sizeof(T) == sizeof(double))) {
        Copy<T>& points = copy<T>(pool);
        const Gathered<T> rows(*points.rows, index, pool);
        Kept<T> once;
        const Kept<T>* columns = kept(points, index, pool);
        if (columns == nullptr) columns = &(once = packed(points, index, pool));
        const BothWays<T> both{rows.dense.get(), rows.bias.data(), columns->panels.get(), columns->biases.get(),
                               points.rows->features()};
        return symmetric_product(form_of(points, false), both, std::int64_t(index.size()), v, micro_, pool);
    }
    std::vector<double> out;
    for (auto from = v.begin(); from != v.end(); from += std::int64_t(index.size())) {
        const std::size_t begin = out.size();
        out.resize(begin + index.size());
        const auto take = [&out, begin](std::int64_t first, std::int64_t count, const double* sums) {
            std::copy_n(sums, count, &out[begin + std::size_t(first)]);
        };
        accumulate<T>(index, std::vector<double>(from, from + std::int64_t(index.size())), index, take, pool);
    }
    return out;
}

template std::vector<double> KernelBlocks::product<float>(const std::vector<std::int64_t>&, const std::vector<double>&,
                                                          Pool&);
template std::vector<double> KernelBlocks::product<double>(const std::vector<std::int64_t>&, const std::vector<double>&,
                                                           Pool&);

#define KDSL_BLOCKS_IN(T)                                                                                             \
    template void KernelBlocks::block<T>(const std::vector<std::int64_t>&, const std::vector<std::int64_t>&,          \
                                         Value<T>*, std::int64_t, Pool&);                                             \
    template void KernelBlocks::accumulate<T>(const std::vector<std::int64_t>&, const std::vector<double>&,           \
                                              const std::vector<std::int64_t>&, const Take&, Pool&);                  \
    template std::unique_ptr<Sums> KernelBlocks::sums<T>(const std::vector<std::int64_t>&,                            \
                                                         const std::vector<double>&,                                  \
                                                         const std::vector<std::int64_t>&, Take, Pool&);
KDSL_BLOCKS_IN(Pair)
KDSL_BLOCKS_IN(float)
KDSL_BLOCKS_IN(double)

}  // namespace kdsl
