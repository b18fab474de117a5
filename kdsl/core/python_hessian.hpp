// Q from a Python function that returns whole rows: one call for each block, never one for each entry.
//
// Calls come only from the thread that called solve, which takes the GIL for them; an exception in the function
// passes through the solve unchanged.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "hessian.hpp"

namespace kdsl {

class PythonHessian final : public Hessian, public RowSource {
public:
    // rows(indices: int64 array of length m) -> float64 array of shape (m, size).
    PythonHessian(std::int64_t size, nanobind::callable rows) : size_(size), rows_(std::move(rows)) {}

    std::int64_t size() const override { return size_; }
    bool has_single() const override { return false; }
    double entry_cost() const override { return 100; }
    void block(const Indices& set, float* out, std::int64_t stride, Pool& pool) override;
    void block(const Indices& set, double* out, std::int64_t stride, Pool& pool) override;
    RowSource* row_source() override { return this; }
    bool whole() const override { return true; }
    void rows(const Indices& which, const Indices& cols, float* out, std::int64_t stride, Pool& pool) override;
    void rows(const Indices& which, const Indices& cols, double* out, std::int64_t stride, Pool& pool) override;
    void accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols, bool exact,
                    double* f, Pool& pool) override;

private:
    // Calls use(i, row) for each row of Q, asked for in chunks of bounded size.
    template <class Use>
    void each_row(const Indices& rows, Pool& pool, Use use);
    template <class T>
    void choose(const Indices& which, const Indices& cols, T* out, std::int64_t stride, Pool& pool);

    std::int64_t size_;
    nanobind::callable rows_;
};

}  // namespace kdsl
