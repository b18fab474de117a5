// Q as a sum over several Hilbert variables.
#pragma once

#include <algorithm>

#include "aligned.hpp"
#include "hessian.hpp"

namespace kdsl {

class SumHessian final : public Hessian {
public:
    // At least one term, all of one size; they must outlive the sum.
    explicit SumHessian(std::vector<Hessian*> terms) : terms_(std::move(terms)) {}

    std::int64_t size() const override { return terms_.front()->size(); }
    bool has_single() const override {
        return std::all_of(terms_.begin(), terms_.end(), [](const Hessian* h) { return h->has_single(); });
    }
    double entry_cost() const override {
        double sum = 0;
        for (const Hessian* term : terms_) sum += term->entry_cost();
        return sum;
    }
    void block(const Indices& set, float* out, std::int64_t stride, Pool& pool) override {
        add_blocks(set, out, stride, pool);
    }
    void block(const Indices& set, double* out, std::int64_t stride, Pool& pool) override {
        add_blocks(set, out, stride, pool);
    }
    void accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols, bool exact,
                    double* f, Pool& pool) override {
        for (Hessian* term : terms_) term->accumulate(rows, coefficient, cols, exact, f, pool);
    }

private:
    template <class T>
    void add_blocks(const Indices& set, T* out, std::int64_t stride, Pool& pool) {
        terms_.front()->block(set, out, stride, pool);
        if (terms_.size() == 1) return;
        const std::int64_t n = std::int64_t(set.size());
        const Aligned<T> one = aligned<T>(std::size_t(n) * std::size_t(n));
        for (std::size_t term = 1; term < terms_.size(); ++term) {
            terms_[term]->block(set, one.get(), n, pool);
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < n; ++j) out[i * stride + j] += one[i * n + j];
        }
    }

    std::vector<Hessian*> terms_;
};

}  // namespace kdsl
