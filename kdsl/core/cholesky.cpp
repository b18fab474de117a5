// A blocked Cholesky factorisation; see cholesky.hpp.
#include "cholesky.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kdsl {

namespace {

using Int = std::int64_t;

constexpr Int kBlock = 96;   // rows factorised together
constexpr Int kRows = 96;    // rows of a product that one panel makes at a time

// The pivot of a coordinate that is not to move.
template <class T>
constexpr T kFrozen = T(1e15);

// A panel of columns and the products that it makes, in one thread's room.
template <class T>
struct Workspace {
    std::array<T, kBlock * Int(kPanel<T>)> panel;
    std::array<T, kRows * Int(kPanel<T>)> product;
};

template <class T>
constexpr std::array<T, std::max(kRows, Int(kPanel<T>))> kNoBias{};

}  // namespace

template <class T>
Cholesky<T>::Cholesky(T* a, Int n, T lost, const Micro& micro, Pool& pool)
    : a_(a),
      n_(n),
      micro_(micro),
      pool_(pool),
      inverse_(kBlock * kBlock),
      columns_(std::max<Int>(n - kBlock, 0) * kBlock) {
    for (Int first = 0; first < n; first += kBlock) {
        const Int count = std::min(kBlock, n - first);
        triangle(first, count, lost);
        across(first, count);
        downward(first, count);
    }
}

// The triangle of one block, and its inverse.
template <class T>
void Cholesky<T>::triangle(Int first, Int count, T lost) {
    T* const u = a_ + first * n_ + first;
    for (Int k = 0; k < count; ++k) {
        T* const row = u + k * n_;
        const bool frozen = !(row[k] > lost);
        row[k] = frozen ? kFrozen<T> : std::sqrt(row[k]);
        const T scale = frozen ? T(0) : 1 / row[k];
        for (Int j = k + 1; j < count; ++j) row[j] *= scale;
        for (Int i = k + 1; i < count; ++i) {
            T* const to = u + i * n_;
            const T by = row[i];
            for (Int j = i; j < count; ++j) to[j] -= by * row[j];
        }
    }
    // Row r of the transposed inverse W: W U' = I, so W_r = (e_r - sum over p < r of U_pr W_p) / U_rr.
    std::fill(inverse_.begin(), inverse_.end(), T(0));
    for (Int r = 0; r < count; ++r) {
        T* const to = &inverse_[r * count];
        to[r] = 1;
        for (Int p = 0; p < r; ++p) {
            const T by = u[p * n_ + r];
            const T* const from = &inverse_[p * count];
            for (Int j = 0; j <= p; ++j) to[j] -= by * from[j];
        }
        const T scale = 1 / u[r * n_ + r];
        for (Int j = 0; j <= r; ++j) to[j] *= scale;
    }
}

// The block's other columns: U_12 = W A_12.
template <class T>
void Cholesky<T>::across(Int first, Int count) {
    constexpr Int width = Int(kPanel<T>);
    const Int begin = first + count, rest = n_ - begin;
    std::vector<Workspace<T>> room(pool_.size());
    pool_.run((rest + width - 1) / width, [&](Int task, int worker) {
        Workspace<T>& w = room[worker];
        const Int column = begin + task * width, some = std::min(width, n_ - column);
        for (Int p = 0; p < count; ++p) {
            T* const to = &w.panel[p * width];
            std::copy_n(a_ + (first + p) * n_ + column, some, to);
            std::fill_n(to + some, width - some, T(0));
        }
        micro_.panels<T>().block(Kind::linear, 0, inverse_.data(), kNoBias<T>.data(), std::size_t(count),
                                 std::size_t(count), w.panel.data(), kNoBias<T>.data(), w.product.data(),
                                 std::size_t(width));
        for (Int p = 0; p < count; ++p) std::copy_n(&w.product[p * width], some, a_ + (first + p) * n_ + column);
        for (Int j = 0; j < some; ++j)
            for (Int p = 0; p < count; ++p) columns_[(column - begin + j) * count + p] = -w.product[p * width + j];
    });
}

// What the block takes from the rest of the triangle: A_22 -= U_12' U_12.
template <class T>
void Cholesky<T>::downward(Int first, Int count) {
    constexpr Int width = Int(kPanel<T>);
    const Int begin = first + count, rest = n_ - begin, tasks = (rest + width - 1) / width;
    std::vector<Workspace<T>> room(pool_.size());
    pool_.run(tasks, [&](Int task, int worker) {
        Workspace<T>& w = room[worker];
        const Int column = (tasks - 1 - task) * width, some = std::min(width, rest - column);  // the longest first
        for (Int p = 0; p < count; ++p) {
            T* const to = &w.panel[p * width];
            std::copy_n(a_ + (first + p) * n_ + begin + column, some, to);
            std::fill_n(to + some, width - some, T(0));
        }
        for (Int r = 0; r < column + some; r += kRows) {
            const Int rows = std::min(kRows, column + some - r);
            micro_.panels<T>().block(Kind::linear, 0, &columns_[r * count], kNoBias<T>.data(), std::size_t(rows),
                                     std::size_t(count), w.panel.data(), kNoBias<T>.data(), w.product.data(),
                                     std::size_t(width));
            for (Int i = 0; i < rows; ++i) {
                T* const to = a_ + (begin + r + i) * n_ + begin + column;
                const T* const from = &w.product[i * width];
                for (Int j = 0; j < some; ++j) to[j] += from[j];
            }
        }
    });
}

template <class T>
void Cholesky<T>::solve(double* x) const {
    for (Int i = 0; i < n_; ++i) {  // U'y = x
        const T* const row = a_ + i * n_;
        x[i] /= double(row[i]);
        const double by = x[i];
        for (Int j = i + 1; j < n_; ++j) x[j] -= by * double(row[j]);
    }
    for (Int i = n_ - 1; i >= 0; --i) {  // U x = y
        const T* const row = a_ + i * n_;
        std::array<double, 8> sum{};
        Int j = i + 1;
        for (; j + 8 <= n_; j += 8)
            for (Int l = 0; l < 8; ++l) sum[l] += double(row[j + l]) * x[j + l];
        for (; j < n_; ++j) sum[0] += double(row[j]) * x[j];
        for (const double s : sum) x[i] -= s;
        x[i] /= double(row[i]);
    }
}

template class Cholesky<float>;
template class Cholesky<double>;

}  // namespace kdsl
