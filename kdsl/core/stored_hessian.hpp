// Q that is already stored: a block of a larger one, or the whole Gram matrix.
#pragma once

#include "hessian.hpp"
#include "micro.hpp"

namespace kdsl {

template <class K>
class StoredHessian final : public Hessian {
public:
    // n x n, rows `stride` apart; must outlive this object.
    StoredHessian(const K* gram, std::int64_t n, std::int64_t stride, const Micro& micro)
        : gram_(gram), n_(n), stride_(stride), micro_(micro) {}

    std::int64_t size() const override { return n_; }
    bool has_single() const override { return sizeof(K) == sizeof(float); }
    double entry_cost() const override { return 0.3; }
    void block(const Indices& set, float* out, std::int64_t stride, Pool& pool) override;
    void block(const Indices& set, double* out, std::int64_t stride, Pool& pool) override;
    // The terms are summed in double precision whatever `exact` says; they are as exact as what is stored.
    void accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols, bool exact,
                    double* f, Pool& pool) override;

private:
    const K* gram_;
    std::int64_t n_, stride_;
    const Micro& micro_;
};

}  // namespace kdsl
