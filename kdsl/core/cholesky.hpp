// The Cholesky factor of a positive definite matrix, in blocks that the threads share.
//
// Solves   U'U = A, then U'y = b and U x = y; again where A has grown by some columns.
// Given    the upper triangle of A, which U overwrites, in single or in double precision.
// How      right-looking by bands of blocks of rows (Golub and Van Loan, 4.2.6): a block's triangle is factorised and
//          inverted by Micro::triangle; its other columns, the rest of its band, and the rest of the triangle for a whole
//          band, follow by the products of the linear kernel (micro.hpp), panel by panel. A pivot that is lost to
//          rounding freezes its coordinate.
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "micro.hpp"
#include "pool.hpp"

namespace kdsl {

template <class T>
class Cholesky {
public:
    // a: n x n, rows `stride` apart; must outlive this object. Pivots below `lost` are frozen.
    Cholesky(T* a, std::int64_t n, std::int64_t stride, T lost, const Micro& micro, Pool& pool);

    std::int64_t size() const { return n_; }
    bool is_frozen(std::int64_t k) const { return a_[k * stride_ + k] == frozen(); }
    // Further columns of A, of size() numbers each, and what they have in common, of which the upper triangle is read;
    // `a` has room for them.
    void append(std::vector<double> columns, std::vector<double> corner, Pool& pool);

    // x <- U'^-1 x for as many columns x of size() numbers, one behind the other; those before the `first` of each are 0.
    void forward(double* columns, const std::vector<std::int64_t>& first, Pool& pool) const;
    // x <- U^-1 x.
    void back(double* x) const;

private:
    // One worker's packed panels of columns, and the product that one of them makes.
    struct Room {
        Aligned<T> panels, product;
        std::int64_t size = 0;

        void reserve(std::int64_t most, std::int64_t one) {
            if (most <= size) return;
            panels = aligned<T>(std::size_t(most));
            product = aligned<T>(std::size_t(one));
            size = most;
        }
        T* panel(std::size_t q, std::int64_t count) { return &panels[q * std::size_t(count) * kPanel<T>]; }
    };

    void triangle(std::int64_t top, std::int64_t count);
    void across(std::int64_t top, std::int64_t count, std::int64_t first, std::int64_t end);
    void reduce(std::int64_t begin, std::int64_t end, std::int64_t top, std::int64_t count, const T* by);
    // The pivot of a coordinate that is not to move.
    static constexpr T frozen() { return T(1e15); }
    void forward(double* columns, const std::int64_t* first, std::int64_t count) const;
    template <class Work>
    void share_panels(std::int64_t begin, Work work);
    void pack(std::int64_t top, std::int64_t count, std::int64_t panel, T* to) const;

    T* a_;
    std::int64_t n_, stride_, band_;
    T lost_;
    const Micro& micro_;
    Pool& pool_;                     // while U is made
    Aligned<T> triangle_, inverse_;  // a block's, and its inverse, transposed and negated; short only at the end
    Aligned<T> by_block_, by_band_;  // the other columns of a block, and of its band beyond it, one after another
    std::vector<Room> rooms_;
};

extern template class Cholesky<float>;
extern template class Cholesky<double>;

}  // namespace kdsl
