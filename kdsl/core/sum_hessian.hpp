// Q as a sum over several Hilbert variables.
#pragma once

#include <algorithm>

#include "aligned.hpp"
#include "hessian.hpp"

namespace kdsl {

class SumHessian final : public Hessian, public RowSource {
public:
    // At least one term, all of one size; they must outlive the sum.
    explicit SumHessian(std::vector<Hessian*> terms) : terms_(std::move(terms)) {}

    std::int64_t size() const override { return terms_.front()->size(); }
    bool has_single() const override {
        return std::all_of(terms_.begin(), terms_.end(), [](const Hessian* h) { return h->has_single(); });
    }
    void prepare(Pool& pool) override {
        for (Hessian* term : terms_) term->prepare(pool);
    }
    void set_rough(bool rough) override {
        for (Hessian* term : terms_) term->set_rough(rough);
    }
    double roughness(Pool& pool) override {
        double sum = 0;
        for (Hessian* term : terms_) sum += term->roughness(pool);
        return sum;
    }
    bool is_even() const override {
        return std::all_of(terms_.begin(), terms_.end(), [](const Hessian* h) { return h->is_even(); });
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
    std::unique_ptr<SetRows> set_rows(const Indices& set, Pool& pool) override {
        return terms_.size() == 1 ? terms_.front()->set_rows(set, pool) : nullptr;
    }
    RowSource* row_source() override {
        sources_.clear();
        for (Hessian* term : terms_)
            if (RowSource* const source = term->row_source()) sources_.push_back(source);
        return sources_.size() == terms_.size() ? this : nullptr;
    }
    bool whole() const override {
        return std::any_of(sources_.begin(), sources_.end(), [](const RowSource* s) { return s->whole(); });
    }
    void rows(const Indices& which, const Indices& cols, float* out, std::int64_t stride, Pool& pool) override {
        add_rows(which, cols, out, stride, pool);
    }
    void rows(const Indices& which, const Indices& cols, double* out, std::int64_t stride, Pool& pool) override {
        add_rows(which, cols, out, stride, pool);
    }
    void accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols, bool exact,
                    double* f, Pool& pool) override {
        for (Hessian* term : terms_) term->accumulate(rows, coefficient, cols, exact, f, pool);
    }
    std::unique_ptr<Sums> sums(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                               double* f, Pool& pool) override {
        auto all = std::make_unique<SumsOfTerms>();
        for (Hessian* term : terms_) {
            all->terms.push_back(term->sums(rows, coefficient, cols, f, pool));
            if (all->terms.back() == nullptr) return nullptr;
        }
        return all;
    }

private:
    struct SumsOfTerms final : Sums {
        std::vector<std::unique_ptr<Sums>> terms;
        std::int64_t parts() const override { return terms.front()->parts(); }
        void take(std::int64_t part, int worker) override {
            for (const std::unique_ptr<Sums>& term : terms) term->take(part, worker);
        }
    };

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

    template <class T>
    void add_rows(const Indices& which, const Indices& cols, T* out, std::int64_t stride, Pool& pool) {
        sources_.front()->rows(which, cols, out, stride, pool);
        const std::int64_t m = std::int64_t(which.size()), n = std::int64_t(cols.size());
        const Aligned<T> one = aligned<T>(sources_.size() > 1 ? std::size_t(m * n) : 0);
        for (std::size_t term = 1; term < sources_.size(); ++term) {
            sources_[term]->rows(which, cols, one.get(), n, pool);
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) out[i * stride + j] += one[i * n + j];
        }
    }

    std::vector<Hessian*> terms_;
    std::vector<RowSource*> sources_;  // the terms, where all of them are one
};

}  // namespace kdsl
