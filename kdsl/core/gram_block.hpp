// The block of Q that a stage solves on: all of it from the start, or each row from when it is first needed.
//
// Steps of pairs touch about half of the rows of a large set. Where a row for itself costs no more than its part of the
// block, the others are not computed.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "hessian.hpp"

namespace kdsl {

// Numbers from one row of a block of n to the next: never whole pages, whose rows drive each other out.
inline std::int64_t block_stride(std::int64_t n) { return (n + 31) / 64 * 64 + 32; }

template <class K>
class GramBlock {
public:
    // `room` is for set x set numbers, rows `stride` apart, which is a multiple of SetRows::kUnit; what is computed at
    // once is shared by `pool`. `set` and `room` have to stay.
    GramBlock(Hessian& hessian, const Indices& set, K* room, std::int64_t stride, Pool& pool)
        : hessian_(hessian), room_(room), size_(std::int64_t(set.size())), stride_(stride) {
        if constexpr (std::is_same_v<K, float>) rows_ = hessian.set_rows(set, pool);
        if (rows_ == nullptr) {
            hessian.block(set, room, stride, pool);
            computed_ = size_;
        } else {
            there_.assign(set.size(), 0);
        }
    }

    // Row i, which is computed if it is not there.
    const K* row(std::int64_t i) {
        K* const at = room_ + i * stride_;
        if (rows_ != nullptr && !there_[i]) {
            compute(i);
            there_[i] = 1;
            ++computed_;
        }
        return at;
    }
    // Row i, which is there.
    const K* at(std::int64_t i) const { return room_ + i * stride_; }
    double diagonal(std::int64_t i) const { return rows_ != nullptr ? rows_->diagonal(i) : double(at(i)[i]); }

    // Computes those of `which` that are not there.
    void fetch(const Indices& which, Pool& pool) {
        if (rows_ == nullptr) return;
        Indices missing;
        for (const std::int64_t i : which)
            if (!std::exchange(there_[i], 1)) missing.push_back(i);
        pool.run(std::int64_t(missing.size()), [&](std::int64_t a, int) { compute(missing[a]); });
        computed_ += std::int64_t(missing.size());
    }
    // Q[rows[i], cols[j]] at i * |cols| + j of coordinates of the whole problem, none of them in both.
    std::vector<K> between(const Indices& rows, const Indices& cols, Pool& pool) {
        const std::int64_t count = std::int64_t(cols.size());
        std::vector<K> out(rows.size() * cols.size());
        if (out.empty()) return out;
        if (RowSource* const source = hessian_.row_source(); source != nullptr && !source->whole()) {
            source->rows(rows, cols, out.data(), count, pool);
            return out;
        }
        Indices both = rows;
        both.insert(both.end(), cols.begin(), cols.end());
        std::ranges::sort(both);
        both.erase(std::ranges::unique(both).begin(), both.end());
        const std::int64_t n = std::int64_t(both.size());
        std::vector<K> block(std::size_t(n * n));
        hessian_.block(both, block.data(), n, pool);
        const auto place = [&both](std::int64_t k) { return std::ranges::lower_bound(both, k) - both.begin(); };
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = 0; j < cols.size(); ++j)
                out[i * cols.size() + j] = block[std::size_t(place(rows[i]) * n + place(cols[j]))];
        return out;
    }
    // The entries that were computed since the last call.
    double take_computed() { return double(std::exchange(computed_, 0)) * double(size_); }

private:
    void compute(std::int64_t i) {
        if constexpr (std::is_same_v<K, float>) rows_->row(i, room_ + i * stride_);
    }

    Hessian& hessian_;
    K* room_;
    std::int64_t size_, stride_;
    std::unique_ptr<SetRows> rows_;  // nullptr where all rows are there
    std::vector<char> there_;
    std::int64_t computed_ = 0;      // rows
};

}  // namespace kdsl
