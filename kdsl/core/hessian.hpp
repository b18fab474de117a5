// The matrix Q of the normal form in the solver's coordinates, never formed beyond what is asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pool.hpp"
#include "sums.hpp"

namespace kdsl {

using Indices = std::vector<std::int64_t>;

// The block of a set, one row at a time and in single precision, from several threads at once.
class SetRows {
public:
    // Numbers to which a row is filled up.
    static constexpr std::int64_t kUnit = 32;

    virtual ~SetRows() = default;
    // Q[set[i], set[i]], but for rounding.
    virtual double diagonal(std::int64_t i) const = 0;
    // out[j] = Q[set[i], set[j]].
    virtual void row(std::int64_t i, float* out) const = 0;
};

class RowSource {
public:
    virtual ~RowSource() = default;

    // Whether a block costs as much as the whole of its rows.
    virtual bool whole() const = 0;
    // out[i * stride + j] = Q[which[i], cols[j]].
    virtual void rows(const Indices& which, const Indices& cols, float* out, std::int64_t stride, Pool& pool) = 0;
    virtual void rows(const Indices& which, const Indices& cols, double* out, std::int64_t stride, Pool& pool) = 0;
};

class Hessian {
public:
    virtual ~Hessian() = default;

    virtual std::int64_t size() const = 0;
    // Whether blocks in single precision cost less than blocks in double.
    virtual bool has_single() const = 0;
    // To be called before all others: what they share is computed by the whole pool.
    virtual void prepare(Pool& /*pool*/) {}
    // Whether from now on single precision is to be rough: quicker, with errors of about roughness() in every entry;
    // 0: there is nothing like that.
    virtual void set_rough(bool /*rough*/) {}
    virtual double roughness(Pool& /*pool*/) { return 0; }
    // Whether rounding does about the same to the gradient everywhere, so that a sample speaks for the rest.
    virtual bool is_even() const { return true; }
    // About how many nanoseconds one entry of a block costs.
    virtual double entry_cost() const = 0;
    // Whether an entry that was computed for one block is there for the next.
    virtual bool keeps_entries() const { return false; }

    // out[i * stride + j] = Q[set[i], set[j]].
    virtual void block(const Indices& set, float* out, std::int64_t stride, Pool& pool) = 0;
    virtual void block(const Indices& set, double* out, std::int64_t stride, Pool& pool) = 0;

    // The same, each row for itself, where that costs no more; else nullptr. `set` and this object have to stay.
    virtual std::unique_ptr<SetRows> set_rows(const Indices& /*set*/, Pool& /*pool*/) { return nullptr; }

    // Where rows can be had as well, else nullptr.
    virtual RowSource* row_source() { return nullptr; }

    // f[cols[j]] += sum_i coefficient[i] Q[rows[i], cols[j]]; `exact` asks for double precision throughout.
    virtual void accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                            bool exact, double* f, Pool& pool) = 0;
    // The same in single precision, where it may be done while other work is: block() and sums() are free to be called
    // meanwhile, `cols` and f have to stay. Else nullptr.
    virtual std::unique_ptr<Sums> sums(const Indices& /*rows*/, const std::vector<double>& /*coefficient*/,
                                       const Indices& /*cols*/, double* /*f*/, Pool& /*pool*/) {
        return nullptr;
    }
};

}  // namespace kdsl
