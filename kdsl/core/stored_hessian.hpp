// Q of which rows are already stored: all of them, or those that were asked for before.
#pragma once

#include "aligned.hpp"
#include "hessian.hpp"
#include "micro.hpp"

namespace kdsl {

// A block of a larger one, or the whole Gram matrix.
template <class K>
class StoredHessian final : public Hessian {
public:
    // n x n, rows `stride` apart; must outlive this object.
    StoredHessian(const K* gram, std::int64_t n, std::int64_t stride, const Micro& micro)
        : gram_(gram), n_(n), stride_(stride), micro_(micro) {}

    std::int64_t size() const override { return n_; }
    bool has_single() const override { return sizeof(K) == sizeof(float); }
    double entry_cost() const override { return 0.5; }
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

// Rows of another Hessian that is a RowSource, kept from when one first weighs in a gradient, as many as memory allows;
// where columns of a new row have rows already, they give its entries.
template <class K>
class RowStore final : public Hessian {
public:
    // `memory` in bytes; `inner` must outlive this object.
    RowStore(Hessian& inner, double memory, const Micro& micro);

    std::int64_t size() const override { return inner_.size(); }
    bool has_single() const override { return inner_.has_single(); }
    void prepare(Pool& pool) override { inner_.prepare(pool); }
    double roughness(Pool& pool) override { return sizeof(K) == sizeof(float) ? inner_.roughness(pool) : 0; }
    void set_rough(bool rough) override {
        rough_ = rough;
        inner_.set_rough(rough);
    }
    bool is_even() const override { return inner_.is_even(); }
    double entry_cost() const override { return inner_.entry_cost(); }
    bool keeps_entries() const override { return true; }
    void block(const Indices& set, float* out, std::int64_t stride, Pool& pool) override;
    void block(const Indices& set, double* out, std::int64_t stride, Pool& pool) override;
    // From the rows, where they are as exact as is asked for.
    void accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols, bool exact,
                    double* f, Pool& pool) override;

    // The entries that were computed.
    double computed() const { return computed_; }

private:
    template <class T>
    void any_block(const Indices& set, T* out, std::int64_t stride, Pool& pool);
    // Whether all these rows are there, after those that were missing are computed if they have room.
    bool fetch(const Indices& which, Pool& pool);
    void keep_one_kind();

    Hessian& inner_;
    RowSource& source_;
    const Micro& micro_;
    std::int64_t stride_, most_, room_;    // rows that may be stored, and that still may
    bool rough_ = false, rows_are_rough_ = false;
    std::vector<Aligned<K>> chunks_;
    std::vector<const K*> row_;            // of each coordinate, or nullptr
    double computed_ = 0;
};

}  // namespace kdsl
