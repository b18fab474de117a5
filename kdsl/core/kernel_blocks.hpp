// Blocks of a kernel matrix and its products with vectors, by panels shared among the threads.
//
// Nothing larger than a panel is stored: each task packs kPanel<T> columns and runs all rows past them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>

#include "lattice_points.hpp"
#include "limb_points.hpp"
#include "points.hpp"
#include "pool.hpp"
#include "sums.hpp"

namespace kdsl {

class KernelBlocks {
public:
    // The source must outlive this object: a precision's copy of the points is made when first asked for.
    // `extent` is that of the rows, where it is known.
    KernelBlocks(KernelSpec kernel, PointSource rows, PointSource cols, const Micro& micro,
                 std::optional<Extent> extent = std::nullopt)
        : kernel_(kernel), rows_source_(rows), cols_source_(cols), micro_(micro), extent_(extent) {}

    // Whether blocks and sums with T = Pair are to be had, quicker than with float and less exact: of points rounded to
    // 16 bits.
    bool has_rough() const { return has_limbs() || (LatticePoints::serve(kernel_, rows_source_, micro_) && same_points()); }
    // Whether single precision is had from points in parts.
    bool has_limbs() const {
        return LimbPoints::serve(kernel_, rows_source_, micro_) && LimbPoints::serve(kernel_, cols_source_, micro_);
    }

    // out[i * stride + j] = k(row_index[i], col_index[j]); an index of -1 gives 0.
    template <class T>
    void block(const std::vector<std::int64_t>& row_index, const std::vector<std::int64_t>& col_index, Value<T>* out,
               std::int64_t stride, Pool& pool);

    // The rows k(index[i], index[.]) of a block one at a time, in single precision and filled up to whole panels, by any
    // thread: where the points of a block lie in the nearest cache, that costs no more than all at once.
    class Rows;
    // nullptr where it does, or an index is -1.
    std::unique_ptr<Rows> rows(const std::vector<std::int64_t>& index, Pool& pool);

    // Takes sums[j] = sum_i coefficient[i] k(row_index[i], col_index[first + j]), the terms in precision T, for a few
    // columns at a time, in the thread that computed them.
    using Take = std::function<void(std::int64_t first, std::int64_t count, const double* sums)>;
    template <class T>
    void accumulate(const std::vector<std::int64_t>& row_index, const std::vector<double>& coefficient,
                    const std::vector<std::int64_t>& col_index, const Take& take, Pool& pool);
    // The same, to be taken by the workers of `pool` while this object and the columns live.
    template <class T>
    std::unique_ptr<Sums> sums(const std::vector<std::int64_t>& row_index, const std::vector<double>& coefficient,
                               const std::vector<std::int64_t>& col_index, Take take, Pool& pool);

    // sum_j K_ij v_j for every i, K the matrix of these points with themselves, where all points are rows and columns; for
    // each of several v, one after another.
    template <class T>
    std::vector<double> product(const std::vector<std::int64_t>& index, const std::vector<double>& v, Pool& pool);
    // Whether each value serves two points in that, with so many of them.
    bool serves_twice(std::int64_t count, bool exact) const;

private:
    template <class T>
    class KernelSums;
    class LinearSums;
    // Columns packed once for all: those of the first sum over as many columns as there are points.
    template <class T>
    struct Kept {
        std::vector<std::int64_t> columns;
        Aligned<T> panels;
        Aligned<Bias<T>> biases;
    };
    template <class T>
    struct Copy {
        std::unique_ptr<PointsOf<T>> rows, own_cols;
        const PointsOf<T>* cols = nullptr;
        Kept<T> kept;
    };
    template <class T>
    void compute(const std::vector<std::int64_t>& row_index, const std::vector<std::int64_t>& col_index, bool rough,
                 Value<T>* out, std::int64_t stride, Pool& pool);
    template <class T>
    std::unique_ptr<Sums> sums_in(const std::vector<std::int64_t>& row_index, const std::vector<double>& coefficient,
                                  const std::vector<std::int64_t>& col_index, bool rough, Take take, Pool& pool);
    bool same_points() const {
        return cols_source_.dense == rows_source_.dense && cols_source_.value == rows_source_.value;
    }
    template <class T>
    Copy<T>& copy(Pool& pool);
    template <class T>
    Form form_of(const Copy<T>& points, bool rough) const;
    template <class T>
    Kept<T> packed(const Copy<T>& points, const std::vector<std::int64_t>& columns, Pool& pool) const;
    template <class T>
    const Kept<T>* kept(Copy<T>& points, const std::vector<std::int64_t>& columns, Pool& pool);

    KernelSpec kernel_;
    PointSource rows_source_, cols_source_;
    const Micro& micro_;
    std::optional<Extent> extent_;
    std::tuple<Copy<Pair>, Copy<Limbs>, Copy<float>, Copy<double>> copies_;
    std::mutex copying_;
};

class KernelBlocks::Rows {
public:
    Rows(const Form& form, const Points<float>& points, const std::vector<std::int64_t>& index, const Micro& micro);

    void row(std::int64_t i, float* out) const;
    double diagonal(std::int64_t i) const;

private:
    Form form_;
    const Points<float>& points_;
    const Micro& micro_;
    std::vector<std::int64_t> index_;
    std::int64_t panels_;
    Aligned<float> panel_, bias_;  // of all points, packed
};

}  // namespace kdsl
