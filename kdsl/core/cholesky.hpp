// The Cholesky factor of a positive definite matrix, in blocks that the threads share.
//
// Solves   U'U = A, then A x = b.
// Given    the upper triangle of A, which U overwrites, in single or in double precision.
// How      right-looking by blocks of rows (Golub and Van Loan, 4.2.6): a block's triangle is factorised and inverted
//          by plain loops; its other columns, and the rest of the triangle, follow by the products of the linear
//          kernel (micro.hpp), panel by panel. A pivot that is lost to rounding freezes its coordinate.
#pragma once

#include <cstdint>
#include <vector>

#include "micro.hpp"
#include "pool.hpp"

namespace kdsl {

template <class T>
class Cholesky {
public:
    // a: n x n, row-major; must outlive this object. Pivots below `lost` are frozen.
    Cholesky(T* a, std::int64_t n, T lost, const Micro& micro, Pool& pool);

    // x <- A^-1 x.
    void solve(double* x) const;

private:
    void triangle(std::int64_t first, std::int64_t count, T lost);
    void across(std::int64_t first, std::int64_t count);
    void downward(std::int64_t first, std::int64_t count);

    T* a_;
    std::int64_t n_;
    const Micro& micro_;
    Pool& pool_;
    std::vector<T> inverse_;  // of the block's triangle, transposed: count x count
    std::vector<T> columns_;  // the block's other columns, negated, one after another
};

extern template class Cholesky<float>;
extern template class Cholesky<double>;

}  // namespace kdsl
