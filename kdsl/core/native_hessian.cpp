// Q from a kernel of the core; see native_hessian.hpp.
#include "native_hessian.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "aligned.hpp"

namespace kdsl {

namespace {

// An atom with more points than this is heavy, as long as there are not too many numbers to keep for all of them.
constexpr std::int64_t kHeavy = 4;
constexpr double kKept = 1 << 26;
// Of the memory that blocks may take, that these products may.
constexpr double kForProducts = 0.25;

// Whether single precision holds the sums and the values, with room for their products.
bool fits_single(const KernelSpec& kernel, const Extent& extent) {
    const double sum = largest_sum(kernel, extent);
    const double value = kernel.kind == Kind::polynomial ? std::pow(sum, kernel.degree) : sum;
    const bool relative = kernel.kind == Kind::gaussian || kernel.kind == Kind::laplacian;
    return sum < 1e12 && value < 1e12 && (relative || value > 1e-12);
}

// Coordinates whose entries tell what rounding does to them.
constexpr std::int64_t kSample = 64;
// Points whose values with themselves are had from one side of the diagonal, at least; and so many for each feature.
constexpr std::int64_t kMutual = 1000, kMutualEach = 25;

PointSource centred(PointSource points, const std::vector<double>& centre) {
    points.centre = points.sparse() || centre.empty() ? nullptr : centre.data();
    return points;
}

// Where points are rounded for speed, that gains as much.
std::optional<ThinPoints> thin_if_worth(const KernelSpec& kernel, const PointSource& points,
                                        const std::vector<double>& middle, const Micro& micro, int threads) {
    if (kernel.kind == Kind::linear || LatticePoints::serve(kernel, points, micro)) return std::nullopt;
    return ThinPoints::of(kernel, points, middle, threads);
}

KernelBlocks::Take into(std::vector<double>& image) {
    return [&image](std::int64_t first, std::int64_t count, const double* sums) {
        std::copy_n(sums, count, &image[first]);
    };
}

}  // namespace

NativeHessian::NativeHessian(const KernelSpec& kernel, const PointSource& points, std::vector<double> centre,
                             Atoms atoms, const Micro& micro, int threads, double memory)
    : thin_(thin_if_worth(kernel, points, centre, micro, threads)),
      source_(thin_ ? thin_->source() : points),
      centre_(std::move(centre)),
      points_(points.count),
      features_(points.features),
      linear_(kernel.kind == Kind::linear),
      polynomial_(kernel.kind == Kind::polynomial),
      gaussian_(kernel.kind == Kind::gaussian),
      extent_(extent_of(centred(source_, centre_), threads)),
      largest_(largest_sum(kernel, extent_)),
      fits_single_(fits_single(kernel, extent_)),
      blocks_(kernel, centred(source_, centre_), centred(source_, centre_), micro, extent_),
      atoms_(std::move(atoms)),
      single_(true),
      distinct_(true),
      heavy_slot_(atoms_.size(), -1),
      slot_(points.count, -1) {
    for (std::int64_t k = 0; k < atoms_.size(); ++k) {
        single_ = single_ && atoms_.entries(k) <= 1;
        for (std::int64_t e = atoms_.start[k]; e < atoms_.start[k + 1]; ++e)
            if (std::exchange(slot_[atoms_.point[e]], k) >= 0) distinct_ = false;
        if (atoms_.entries(k) > kHeavy) heavy_.push_back(k);
    }
    distinct_ = distinct_ && single_;
    const double kept = double(heavy_.size()) * double(points_);
    if (kept > kKept || kept * sizeof(double) > kForProducts * memory) heavy_.clear();
    for (std::size_t h = 0; h < heavy_.size(); ++h) heavy_slot_[heavy_[h]] = std::int64_t(h);
}

double NativeHessian::entry_cost() const {
    if (linear_) return 0.1;
    if (source_.sparse()) return 0.15 + 0.02 * double(source_.start[points_]) / std::max(1.0, double(points_));
    return blocks_.has_limbs() ? 0.3 + 0.0025 * double(features_) : 0.15 + 0.01 * double(features_);
}

double NativeHessian::roughness(Pool& pool) {
    if (!may_be_rough()) return 0;
    const std::int64_t step = std::max<std::int64_t>(1, size() / kSample);
    Indices some;
    for (std::int64_t k = 0; k < size(); k += step) some.push_back(k);
    const std::size_t n = some.size();
    std::vector<float> rough(n * n), fine(n * n);
    for (const bool rounded : {true, false}) {
        set_rough(rounded);
        block(some, (rounded ? rough : fine).data(), std::int64_t(n), pool);
    }
    double sum = 0;
    for (std::size_t e = 0; e < n * n; ++e) sum += std::pow(double(rough[e]) - double(fine[e]), 2);
    return std::sqrt(sum) / double(n);
}

// An earlier heavy atom that this one is a multiple of, and by what: both sides of a bound on an average are.
std::optional<std::pair<std::size_t, double>> NativeHessian::multiple_of(std::size_t h) const {
    const std::int64_t k = heavy_[h], first = atoms_.start[k];
    for (std::size_t g = 0; g < h; ++g) {
        const std::int64_t other = atoms_.start[heavy_[g]];
        if (atoms_.entries(heavy_[g]) != atoms_.entries(k) || atoms_.coefficient[other] == 0) continue;
        const double by = atoms_.coefficient[first] / atoms_.coefficient[other];
        bool same = true;
        for (std::int64_t e = 0; same && e < atoms_.entries(k); ++e)
            same = atoms_.point[first + e] == atoms_.point[other + e] &&
                   atoms_.coefficient[first + e] == by * atoms_.coefficient[other + e];
        if (same) return std::pair{g, by};
    }
    return std::nullopt;
}

void NativeHessian::prepare(Pool& pool) {
    Indices all(points_);
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t h = product_.size(); h < heavy_.size(); ++h) {
        const std::int64_t first = atoms_.start[heavy_[h]], last = atoms_.start[heavy_[h] + 1];
        if (const std::optional<std::pair<std::size_t, double>> same = multiple_of(h)) {
            product_.push_back(product_[same->first]);
            for (double& x : product_.back()) x *= same->second;
            continue;
        }
        if (!linear_ && 2 * (last - first) > points_) {
            std::vector<double> weight(points_, 0.0);
            for (std::int64_t e = first; e < last; ++e) weight[atoms_.point[e]] += atoms_.coefficient[e];
            product_.push_back(blocks_.product<double>(all, weight, pool));
            continue;
        }
        std::vector<double> image(points_);
        blocks_.accumulate<double>(Indices(&atoms_.point[first], &atoms_.point[last]),
                                   std::vector<double>(&atoms_.coefficient[first], &atoms_.coefficient[last]), all,
                                   into(image), pool);
        product_.push_back(std::move(image));
    }
}

Indices NativeHessian::points_of(const Indices& set) {
    std::fill(slot_.begin(), slot_.end(), -1);
    Indices out;
    for (const bool one : {true, false})
        for (const std::int64_t k : set) {
            if (is_heavy(k) || (atoms_.entries(k) == 1) != one) continue;
            for (std::int64_t e = atoms_.start[k]; e < atoms_.start[k + 1]; ++e)
                if (std::int64_t& place = slot_[atoms_.point[e]]; place < 0) {
                    place = std::int64_t(out.size());
                    out.push_back(atoms_.point[e]);
                }
        }
    return out;
}

// S_k' values.
double NativeHessian::times(std::int64_t k, const std::vector<double>& values) const {
    double sum = 0;
    for (std::int64_t e = atoms_.start[k]; e < atoms_.start[k + 1]; ++e)
        sum += atoms_.coefficient[e] * values[atoms_.point[e]];
    return sum;
}

template <class T>
void NativeHessian::single_block(const Indices& row_set, const Indices& col_set, T* out, std::int64_t stride,
                                 Pool& pool) {
    const bool symmetric = &row_set == &col_set;
    const Single rows = single(row_set), other = symmetric ? Single{} : single(col_set);
    const Single& cols = symmetric ? rows : other;
    const Indices& across_points = symmetric ? rows.points : cols.points;
    if constexpr (std::is_same_v<T, float>) {
        if (rough_)
            blocks_.block<Pair>(rows.points, across_points, out, stride, pool);
        else
            blocks_.block<float>(rows.points, across_points, out, stride, pool);
    } else {
        blocks_.block<T>(rows.points, across_points, out, stride, pool);
    }
    if (rows.same != 0 && rows.same * cols.same == 1) return;
    const std::vector<T> across(cols.scale.begin(), cols.scale.end());
    pool.run(std::int64_t(row_set.size()), [&](std::int64_t i, int) {
        const T down = T(rows.scale[i]);
        T* const row = out + i * stride;
        for (std::size_t j = 0; j < across.size(); ++j) row[j] *= down * across[j];
    });
}

// Rows of atoms of one point each.
class NativeHessian::SingleRows final : public SetRows {
public:
    SingleRows(std::unique_ptr<KernelBlocks::Rows> rows, const Single& set) : rows_(std::move(rows)) {
        if (set.same == 0 || set.same * set.same != 1) scale_.assign(set.scale.begin(), set.scale.end());
    }
    double diagonal(std::int64_t i) const override {
        return rows_->diagonal(i) * (scale_.empty() ? 1.0 : double(scale_[i]) * double(scale_[i]));
    }
    void row(std::int64_t i, float* out) const override {
        rows_->row(i, out);
        for (std::size_t j = 0; j < scale_.size(); ++j) out[j] *= scale_[i] * scale_[j];
    }

private:
    std::unique_ptr<KernelBlocks::Rows> rows_;
    std::vector<float> scale_;  // the coefficients, where they are not all 1 or all -1
};

std::unique_ptr<SetRows> NativeHessian::set_rows(const Indices& set, Pool& pool) {
    if (!single_ || rough_) return nullptr;
    const Single points = single(set);
    std::unique_ptr<KernelBlocks::Rows> rows = blocks_.rows(points.points, pool);
    return rows == nullptr ? nullptr : std::make_unique<SingleRows>(std::move(rows), points);
}

// The points of atoms of one point each, -1 for none, and their coefficients.
NativeHessian::Single NativeHessian::single(const Indices& set) const {
    Single out{Indices(set.size(), -1), std::vector<double>(set.size(), 1.0), 0};
    for (std::size_t i = 0; i < set.size(); ++i) {
        const std::int64_t e = atoms_.start[set[i]];
        if (e < atoms_.start[set[i] + 1]) out.points[i] = atoms_.point[e], out.scale[i] = atoms_.coefficient[e];
    }
    const double first = out.scale.empty() ? 1.0 : out.scale.front();
    if (std::ranges::all_of(out.scale, [first](double c) { return c == first; })) out.same = first;
    return out;
}

// The same, looked up once where these are all coordinates in their order.
const NativeHessian::Single& NativeHessian::single_or_all(const Indices& set, Single& room) {
    const bool all = std::int64_t(set.size()) == size() && std::ranges::is_sorted(set);
    Single& wanted = all ? all_ : room;
    if (!all || all_.points.empty()) wanted = single(set);
    return wanted;
}

// K between the points, in room that is kept for the next time.
template <class T>
const T* NativeHessian::gram_of(const Indices& points, Pool& pool) {
    const std::size_t m = points.size();
    Room<T>& room = std::get<Room<T>>(rooms_);
    if (m * m > room.size) {
        room.values = aligned<T>(m * m);
        room.size = m * m;
    }
    blocks_.block<T>(points, points, room.values.get(), std::int64_t(m), pool);
    return room.values.get();
}

template <class T>
void NativeHessian::any_block(const Indices& set, T* out, std::int64_t stride, Pool& pool) {
    if (single_) return single_block(set, set, out, stride, pool);
    const Indices points = points_of(set);
    const std::int64_t n = std::int64_t(set.size()), m = std::int64_t(points.size());
    const T* gram = gram_of<T>(points, pool);
    // Atoms of one point take their entry of a row of the points, in runs of neighbours; the others are combined.
    struct Run {
        std::int64_t begin, end, place;
    };
    std::vector<Run> runs;
    std::vector<std::int64_t> mixed;
    std::vector<T> scale(n, T(0));
    bool nothing = false;
    for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t e = atoms_.start[set[j]], entries = atoms_.entries(set[j]);
        if (entries > 1) mixed.push_back(j);
        nothing = nothing || entries == 0;
        if (entries != 1) continue;
        const std::int64_t place = slot_[atoms_.point[e]];
        scale[j] = T(atoms_.coefficient[e]);
        if (!runs.empty() && runs.back().end == j && place == runs.back().place + j - runs.back().begin)
            ++runs.back().end;
        else
            runs.push_back({j, j + 1, place});
    }
    std::vector<std::vector<double>> image(pool.size(), std::vector<double>(m));
    pool.run(n, [&](std::int64_t i, int worker) {
        T* to = out + i * stride;
        const std::int64_t k = set[i], first = atoms_.start[k], entries = atoms_.entries(k);
        if (is_heavy(k)) {
            const std::vector<double>& product = product_[heavy_slot_[k]];
            for (std::int64_t j = 0; j < n; ++j) to[j] = T(times(set[j], product));
            return;
        }
        // The row of K S_k over the points: as it is stored where the atom is one point.
        std::vector<double>& row = image[worker];
        const T* stored = entries == 1 ? gram + slot_[atoms_.point[first]] * m : nullptr;
        if (stored == nullptr) {
            std::fill(row.begin(), row.end(), 0.0);
            for (std::int64_t e = first; e < first + entries; ++e) {
                const T* from = gram + slot_[atoms_.point[e]] * m;
                for (std::int64_t q = 0; q < m; ++q) row[q] += atoms_.coefficient[e] * double(from[q]);
            }
        }
        const T own = stored == nullptr ? T(1) : scale[i];
        if (nothing) std::fill_n(to, n, T(0));  // atoms without a point
        for (const Run& run : runs)
            for (std::int64_t j = run.begin; j < run.end; ++j) {
                const std::int64_t q = run.place + j - run.begin;
                to[j] = own * scale[j] * (stored == nullptr ? T(row[q]) : stored[q]);
            }
        for (const std::int64_t j : mixed) {
            double sum = 0;
            if (is_heavy(set[j]))
                sum = times(k, product_[heavy_slot_[set[j]]]);
            else
                for (std::int64_t e = atoms_.start[set[j]]; e < atoms_.start[set[j] + 1]; ++e) {
                    const std::int64_t q = slot_[atoms_.point[e]];
                    sum += atoms_.coefficient[e] * (stored == nullptr ? row[q] : double(own) * double(stored[q]));
                }
            to[j] = T(sum);
        }
    });
}

void NativeHessian::block(const Indices& set, float* out, std::int64_t stride, Pool& pool) {
    any_block(set, out, stride, pool);
}

void NativeHessian::block(const Indices& set, double* out, std::int64_t stride, Pool& pool) {
    any_block(set, out, stride, pool);
}

void NativeHessian::rows(const Indices& which, const Indices& cols, float* out, std::int64_t stride, Pool& pool) {
    single_block(which, cols, out, stride, pool);
}

void NativeHessian::rows(const Indices& which, const Indices& cols, double* out, std::int64_t stride, Pool& pool) {
    single_block(which, cols, out, stride, pool);
}

// Of atoms of one point each, no two of the same.
class NativeHessian::SingleSums final : public Sums {
public:
    SingleSums(NativeHessian& q, const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
               bool exact, double* f, Pool& pool)
        : to_(q.single_or_all(cols, room_)) {
        const Single from = q.single(rows);
        std::vector<double> weight(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) weight[i] = coefficient[i] * from.scale[i];
        const auto add = [this, &cols, f](std::int64_t first, std::int64_t count, const double* sums) {
            for (std::int64_t j = 0; j < count; ++j) f[cols[first + j]] += to_.scale[first + j] * sums[j];
        };
        sums_ = exact      ? q.blocks_.sums<double>(from.points, weight, to_.points, add, pool)
                : q.rough_ ? q.blocks_.sums<Pair>(from.points, weight, to_.points, add, pool)
                           : q.blocks_.sums<float>(from.points, weight, to_.points, add, pool);
    }
    std::int64_t parts() const override { return sums_->parts(); }
    void take(std::int64_t part, int worker) override { sums_->take(part, worker); }

private:
    Single room_;
    const Single& to_;
    std::unique_ptr<Sums> sums_;
};

std::unique_ptr<Sums> NativeHessian::sums(const Indices& rows, const std::vector<double>& coefficient,
                                          const Indices& cols, double* f, Pool& pool) {
    if (!distinct_) return nullptr;
    return std::make_unique<SingleSums>(*this, rows, coefficient, cols, false, f, pool);
}

// Of atoms of one point each, over all of them: what `rows` have in common with themselves serves two each.
void NativeHessian::accumulate_all(const Indices& rows, const std::vector<double>& coefficient, bool exact, double* f,
                                   Pool& pool) {
    const Single from = single(rows);
    Indices points, others;
    std::vector<double> weight;
    std::vector<char> done(std::size_t(size()), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        done[rows[i]] = 1;
        if (from.points[i] < 0) continue;
        points.push_back(from.points[i]);
        weight.push_back(coefficient[i] * from.scale[i]);
    }
    const std::vector<double> sums =
        exact ? blocks_.product<double>(points, weight, pool) : blocks_.product<float>(points, weight, pool);
    for (std::size_t i = 0, p = 0; i < rows.size(); ++i)
        if (from.points[i] >= 0) f[rows[i]] += from.scale[i] * sums[p++];
    for (std::int64_t k = 0; k < size(); ++k)
        if (!done[k]) others.push_back(k);
    if (others.empty()) return;
    SingleSums rest(*this, rows, coefficient, others, exact, f, pool);
    pool.run(rest.parts(), [&](std::int64_t part, int worker) { rest.take(part, worker); });
}

void NativeHessian::accumulate(const Indices& rows, const std::vector<double>& weight, const Indices& cols, bool exact,
                               const KernelBlocks::Take& take, Pool& pool) {
    if (exact)
        blocks_.accumulate<double>(rows, weight, cols, take, pool);
    else
        blocks_.accumulate<float>(rows, weight, cols, take, pool);
}

void NativeHessian::accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                               bool exact, double* f, Pool& pool) {
    const std::int64_t m = std::int64_t(rows.size()), many = std::max(kMutual, kMutualEach * features_);
    const bool every = distinct_ && std::int64_t(cols.size()) == size() && (exact || !rough_);
    if (every && m >= many && blocks_.serves_twice(m, exact)) return accumulate_all(rows, coefficient, exact, f, pool);
    if (distinct_) {
        SingleSums all(*this, rows, coefficient, cols, exact, f, pool);
        return pool.run(all.parts(), [&](std::int64_t part, int worker) { all.take(part, worker); });
    }
    // The weights of the rows by point: those of heavy atoms are known to K already.
    std::vector<double> light(points_, 0.0), heavy(heavy_.size(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int64_t k = rows[i];
        if (is_heavy(k)) {
            heavy[heavy_slot_[k]] += coefficient[i];
            continue;
        }
        for (std::int64_t e = atoms_.start[k]; e < atoms_.start[k + 1]; ++e)
            light[atoms_.point[e]] += coefficient[i] * atoms_.coefficient[e];
    }
    Indices from;
    std::vector<double> weight;
    for (std::int64_t p = 0; p < points_; ++p)
        if (light[p] != 0) from.push_back(p), weight.push_back(light[p]);
    const Indices to = points_of(cols);
    std::vector<double> image(to.size());
    accumulate(from, weight, to, exact, into(image), pool);
    std::vector<double> by_heavy(points_, 0.0);  // K S_h, over all points
    for (std::size_t h = 0; h < heavy_.size(); ++h)
        if (heavy[h] != 0)
            for (std::int64_t p = 0; p < points_; ++p) by_heavy[p] += heavy[h] * product_[h][p];
    for (std::size_t q = 0; q < to.size(); ++q) image[q] += by_heavy[to[q]];
    for (const std::int64_t k : cols) {
        if (is_heavy(k)) {
            const std::vector<double>& product = product_[heavy_slot_[k]];
            double sum = times(k, by_heavy);
            for (std::size_t i = 0; i < from.size(); ++i) sum += weight[i] * product[from[i]];
            f[k] += sum;
        } else {
            double sum = 0;
            for (std::int64_t e = atoms_.start[k]; e < atoms_.start[k + 1]; ++e)
                sum += atoms_.coefficient[e] * image[slot_[atoms_.point[e]]];
            f[k] += sum;
        }
    }
}

}  // namespace kdsl
