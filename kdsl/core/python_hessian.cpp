// Q from a Python function; see python_hessian.hpp.
#include "python_hessian.hpp"

#include <algorithm>
#include <stdexcept>

namespace nb = nanobind;

namespace kdsl {

namespace {

// Numbers in one block that a call returns.
constexpr std::int64_t kBlock = std::int64_t(1) << 20;

}  // namespace

template <class Use>
void PythonHessian::each_row(const Indices& rows, Pool& pool, Use use) {
    const std::int64_t count = std::int64_t(rows.size());
    const std::int64_t some = std::clamp<std::int64_t>(kBlock / std::max<std::int64_t>(size_, 1), 1, 1024);
    for (std::int64_t r = 0; r < count; r += some) {
        const nb::gil_scoped_acquire gil;
        Indices asked(rows.begin() + r, rows.begin() + std::min(r + some, count));
        nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> indices(asked.data(), {asked.size()}, nb::handle());
        const nb::object answer = rows_(indices.cast(nb::rv_policy::copy));
        using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
        Rows block;
        if (!nb::try_cast<Rows>(answer, block, false) || block.shape(0) != asked.size() ||
            block.shape(1) != std::size_t(size_))
            throw std::invalid_argument("a block of rows must be a contiguous float64 array, one row for each index");
        for (std::size_t i = 0; i < asked.size(); ++i) use(r + std::int64_t(i), block.data() + i * std::size_t(size_));
        pool.run(1, [](std::int64_t, int) {});  // a look at the clock and at signals
    }
}

template <class T>
void PythonHessian::choose(const Indices& which, const Indices& cols, T* out, std::int64_t stride,
                           Pool& pool) {
    each_row(which, pool, [&](std::int64_t i, const double* row) {
        for (std::size_t j = 0; j < cols.size(); ++j) out[i * stride + std::int64_t(j)] = T(row[cols[j]]);
    });
}

void PythonHessian::block(const Indices& set, float* out, std::int64_t stride, Pool& pool) {
    choose(set, set, out, stride, pool);
}

void PythonHessian::block(const Indices& set, double* out, std::int64_t stride, Pool& pool) {
    choose(set, set, out, stride, pool);
}

void PythonHessian::rows(const Indices& which, const Indices& cols, float* out, std::int64_t stride, Pool& pool) {
    choose(which, cols, out, stride, pool);
}

void PythonHessian::rows(const Indices& which, const Indices& cols, double* out, std::int64_t stride, Pool& pool) {
    choose(which, cols, out, stride, pool);
}

void PythonHessian::accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols, bool,
                               double* f, Pool& pool) {
    each_row(rows, pool, [&](std::int64_t i, const double* row) {
        for (const std::int64_t k : cols) f[k] += coefficient[i] * row[k];
    });
}

}  // namespace kdsl
