// Passes over explicit rows B_k = [coefficient_k x_k, A_k], k = 1..n: products, weighted Gram matrices, and the two
// passes of screening (kdsl/solving/screening.py).
//
// With v = (w, m), w the primal vector and m the multipliers of the rows A, the price of coordinate k is
// z_k = -B_k v; at an optimum t_k minimises h_k(t) - z_k t.
// Points, coefficients and A are read where they lie: no copy larger than a block is made.
#pragma once

#include <cstdint>
#include <vector>

#include "linear_table.hpp"
#include "pool.hpp"
#include "separable_view.hpp"

namespace kdsl {

struct LinearSource {
    std::int64_t count = 0, features = 0, rows = 0;
    const double* points = nullptr;       // count x features
    const double* coefficient = nullptr;  // count, or null for 1
    const double* row = nullptr;          // count x rows

    std::int64_t columns() const { return features + rows; }
};

// What is certain if every price is wrong by at most the length of B_k in the metric of `scale`.
struct PassDecision {
    std::vector<double> t;                // NaN where undecided, or inside a curved piece
    std::vector<std::int64_t> undecided;
    std::vector<double> image;            // sum of B_k t_k over the decided, and of -B_k slope / curvature over pieces
    std::vector<double> curved;           // sum of B_k B_k' / curvature over coordinates inside a curved piece, q x q
    double cost = 0;                      // sum of h_k(t_k) over the coordinates at break points
};

struct PassMeasure {
    std::vector<double> t;      // completed: the best for the price where it was NaN
    std::vector<double> image;  // sum of B_k t_k
    double gap = 0;             // sum of h_k(t_k) + h_k*(z_k) - t_k z_k, with z_k brought into the domain of h_k*
    double cost = 0;            // sum of h_k(t_k)
    double outside = 0;         // the farthest that a price is from that domain
};

class LinearPass {
public:
    LinearPass(const LinearSource& source, int threads);

    const LinearSource& source() const { return source_; }

    std::vector<double> up(const double* v);                 // B v
    std::vector<double> squares();                           // ||B_k||^2
    std::vector<double> down(const double* x);               // B'x
    std::vector<double> weigh(const double* weight);         // B' diag(weight) B
    PassDecision decide(const SeparableView& h, const double* v, const double* scale);
    PassMeasure measure(const SeparableView& h, const double* v, const double* t);

private:
    struct Room;
    void fill(std::int64_t first, std::int64_t rows, double* block) const;
    std::vector<double> padded(const double* v) const;
    // task(part, room) over parts of consecutive blocks; what each leaves behind is gathered in order.
    template <class Task>
    void over_parts(const Task& task);
    std::vector<double> square(const std::vector<std::vector<double>>& parts) const;
    std::vector<double> line(const std::vector<std::vector<double>>& parts) const;

    LinearSource source_;
    const LinearLoops& loops_;
    std::int64_t width_, parts_;
    Pool pool_;
};

}  // namespace kdsl
