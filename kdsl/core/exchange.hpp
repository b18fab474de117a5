// The steepest direction that keeps several coupled rows.
//
// Solves   min  sum_c  rise_c p_c - fall_c q_c   subject to  sum_c D_c (p_c - q_c) = 0,  sum_c (p_c + q_c) <= 1,
//          p, q >= 0,  where rise_c is the smallest right derivative in class c and fall_c the largest left one.
// Returns  v = -minimum >= 0 (2 v is m - M of LIBSVM for one row), the multipliers lambda of the rows, and the at most
//          rank + 1 classes that move. By duality v is the least violation max_c max(D_c.lambda - rise_c,
//          fall_c - D_c.lambda, 0) that any lambda can reach.
// How      primal simplex on rank + 1 equations from the previous basis, which stays feasible since only costs change.
//          A class that cannot rise (rise = +infinity) costs more than any finite number: costs are pairs, compared
//          in order, so that no large number pollutes the finite ones.
#pragma once

#include <vector>

#include "classes.hpp"

namespace kdsl {

class Exchange {
public:
    explicit Exchange(const Classes& classes);

    struct Mover {
        std::int64_t cls;
        bool rises;
        double weight;
    };

    // Fills `movers` and returns v; 0 and nothing that moves when no feasible direction descends.
    double solve(const std::vector<double>& rise, const std::vector<double>& fall);

    const std::vector<Mover>& movers() const { return movers_; }
    // The multiplier of class c: D_c . lambda.
    double multiplier(std::int64_t c) const;

private:
    struct Column {
        std::int64_t cls;  // -1 for the slack of sum (p + q) <= 1
        bool rises;
    };
    struct Cost {
        double infinite, finite;
    };

    void start();
    void factorise();
    double entry(const Column& column, std::int64_t row) const;
    Cost cost(const Column& column) const;
    void price();

    const Classes& classes_;
    std::int64_t m_;                // rank + 1
    std::vector<Column> basis_;
    std::vector<double> inverse_;   // of the basis, row-major
    std::vector<double> x_;         // the basic weights
    std::vector<double> y_infinite_, y_finite_;
    double large_ = 0;              // what stands for infinity in the multipliers
    std::vector<double> rise_, fall_;
    std::vector<Mover> movers_;
    int since_factorised_ = 0;
};

}  // namespace kdsl
