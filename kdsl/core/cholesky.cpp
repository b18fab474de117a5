// A blocked Cholesky factorisation; see cholesky.hpp.
#include "cholesky.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

namespace kdsl {

namespace {

using Int = std::int64_t;

constexpr Int kBlock = kTriangle;  // rows factorised together
constexpr Int kBand = 192;   // rows taken from the rest together: what is far away is passed once for all of them,
constexpr Int kWide = 384;   // and so many where the matrix is far away as a whole,
constexpr Int kFar = 2048;   // with more rows than this
constexpr Int kRows = 96;    // rows of a product that one panel makes at a time
constexpr Int kTogether = 4;  // rows that Micro::combine takes
constexpr Int kColumns = 8;   // solved with together

template <class T>
constexpr Int kWidth = Int(kPanel<T>);

template <class T>
constexpr std::array<T, std::max(kRows, kWidth<T>)> kNoBias{};

}  // namespace

template <class T>
Cholesky<T>::Cholesky(T* a, Int n, Int stride, T lost, const Micro& micro, Pool& pool)
    : a_(a),
      n_(n),
      stride_(stride),
      band_(n > kFar ? kWide : kBand),
      lost_(lost),
      micro_(micro),
      pool_(pool),
      triangle_(aligned<T>(std::size_t(kBlock * kBlock))),
      inverse_(aligned<T>(std::size_t(kBlock * kBlock))),
      by_block_(aligned<T>(std::size_t(band_ * kBlock))),
      by_band_(aligned<T>(std::size_t(std::max<Int>(n - band_ + kWidth<T>, 0) * band_))),
      rooms_(pool.size()) {
    static_assert(kBlock % kWidth<T> == 0 && kBand % kBlock == 0 && kWide % kBlock == 0);
    for (Int first = 0; first < n; first += band_) {
        const Int end = std::min(first + band_, n);
        for (Int top = first; top < end; top += kBlock) {
            const Int count = std::min(kBlock, end - top);
            triangle(top, count);
            across(top, count, first, end);
            reduce(top + count, end, top, count, by_block_.get());
        }
        reduce(end, n, first, end - first, by_band_.get());
    }
    for (Aligned<T>* room : {&triangle_, &inverse_, &by_block_, &by_band_}) room->reset();
    rooms_.clear();
}

// The triangle of one block, and its inverse.
template <class T>
void Cholesky<T>::triangle(Int top, Int count) {
    T* const u = a_ + top * stride_ + top;
    T* const block = triangle_.get();
    std::fill_n(block, kBlock * kBlock, T(0));
    for (Int i = 0; i < count; ++i) std::copy_n(u + i * stride_ + i, count - i, block + i * kBlock + i);
    micro_.triangle<T>()(block, inverse_.get(), count, lost_, frozen());
    for (Int i = 0; i < count; ++i) std::copy_n(block + i * kBlock + i, count - i, u + i * stride_ + i);
}

// The panels of columns from `begin` on, in parts that come back to the same thread. work(panels, room): some of them,
// counted from the first column of the matrix.
template <class T>
template <class Work>
void Cholesky<T>::share_panels(Int begin, Work work) {
    const Int parts = pool_.size();
    std::vector<std::atomic<bool>> taken(parts);
    pool_.run(parts, [&](Int, int worker) {
        Int part = worker;
        while (taken[part].exchange(true)) part = (part + 1) % parts;
        std::vector<Int> panels;
        for (Int p = (begin + kWidth<T> - 1) / kWidth<T>; p * kWidth<T> < n_; ++p)
            if (p % parts == part) panels.push_back(p);
        work(panels, rooms_[worker]);
    });
}

// Rows top to top + count of a panel's columns, those that there are not as zeros.
template <class T>
void Cholesky<T>::pack(Int top, Int count, Int panel, T* to) const {
    constexpr Int width = kWidth<T>;
    const Int column = panel * width, some = std::min(width, n_ - column);
    for (Int p = 0; p < count; ++p, to += width) {
        std::copy_n(a_ + (top + p) * stride_ + column, some, to);
        std::fill_n(to + some, width - some, T(0));
    }
}

// The block's other columns: U_12 = W A_12; -U_12' is kept beside it, for the rest of its band and for what is beyond.
template <class T>
void Cholesky<T>::across(Int top, Int count, Int first, Int end) {
    constexpr Int width = kWidth<T>;
    const Int begin = top + count;
    share_panels(begin, [&](const std::vector<Int>& panels, Room& room) {
        room.reserve(kBlock * width, kRows * width);
        T *const panel = room.panels.get(), *const product = room.product.get();
        for (const Int p : panels) {
            const Int column = p * width, some = std::min(width, n_ - column);
            pack(top, count, p, panel);
            micro_.panels<T>().block({Kind::linear}, inverse_.get(), kNoBias<T>.data(), std::size_t(count),
                                     std::size_t(count), panel, kNoBias<T>.data(), product, std::size_t(width));
            for (Int r = 0; r < count; ++r) {
                T* const to = a_ + (top + r) * stride_ + column;
                for (Int j = 0; j < some; ++j) to[j] = -product[r * width + j];
            }
            const bool near = column < end;
            const Int apart = near ? count : band_, place = near ? column - begin : column - end;
            T* const keep = near ? &by_block_[place * apart] : &by_band_[place * apart + top - first];
            micro_.panels<T>().transpose(product, std::size_t(count), keep, std::size_t(apart));
        }
    });
}

// What rows top to top + count of U take from rows begin to end of the triangle, row r of which belongs to column r:
// by[(r - begin) * count] on. A part's panels stay in its cache while the rows pass.
template <class T>
void Cholesky<T>::reduce(Int begin, Int end, Int top, Int count, const T* by) {
    constexpr Int width = kWidth<T>;
    if (begin >= end) return;
    share_panels(begin, [&](const std::vector<Int>& panels, Room& room) {
        room.reserve(Int(panels.size()) * count * width, kRows * width);
        T* const product = room.product.get();
        for (std::size_t q = 0; q < panels.size(); ++q) pack(top, count, panels[q], room.panel(q, count));
        for (Int r = begin; r < end; r += kRows)
            for (std::size_t q = 0; q < panels.size(); ++q) {
                const Int column = panels[q] * width, some = std::min(width, n_ - column);
                const Int rows = std::min({kRows, end - r, column + some - r});
                if (rows <= 0) continue;
                T* const to = a_ + r * stride_ + column;
                for (Int i = 0; i < rows; ++i)  // they are far apart, and wanted when the product is there
                    for (Int j = 0; j < some; j += width / 2) __builtin_prefetch(to + i * stride_ + j, 1);
                micro_.panels<T>().block({Kind::linear}, by + (r - begin) * count, kNoBias<T>.data(),
                                         std::size_t(rows), std::size_t(count), room.panel(q, count),
                                         kNoBias<T>.data(), product, std::size_t(width));
                for (Int i = 0; i < rows; ++i)
                    for (Int j = 0; j < some; ++j) to[i * stride_ + j] += product[i * width + j];
            }
    });
}

// U grows by V = U'^-1 columns and the factor of corner - V'V.
template <class T>
void Cholesky<T>::append(std::vector<double> columns, std::vector<double> corner, Pool& pool) {
    const Int n = n_, count = n == 0 ? 0 : Int(columns.size()) / n;
    forward(columns.data(), std::vector<Int>(count, 0), pool);
    pool.run(count, [&](Int c, int) {
        for (Int i = 0; i < n; ++i) a_[i * stride_ + n + c] = T(columns[c * n + i]);
        for (Int e = c; e < count; ++e) corner[c * count + e] -= micro_.dot<double>()(&columns[c * n], &columns[e * n], n);
    });
    for (Int k = 0; k < count; ++k) {
        double* const row = &corner[k * count];
        const bool lost = !(row[k] > double(lost_));
        row[k] = lost ? double(frozen()) : std::sqrt(row[k]);
        for (Int j = k + 1; j < count; ++j) row[j] *= lost ? 0.0 : 1 / row[k];
        for (Int i = k + 1; i < count; ++i)
            for (Int j = i; j < count; ++j) corner[i * count + j] -= row[i] * row[j];
        for (Int j = k; j < count; ++j) a_[(n + k) * stride_ + n + j] = T(row[j]);
    }
    n_ += count;
}

template <class T>
void Cholesky<T>::forward(double* columns, const std::vector<Int>& first, Pool& pool) const {
    const Int count = Int(first.size()), some = std::clamp<Int>((count + pool.size() - 1) / pool.size(), 1, kColumns);
    pool.run((count + some - 1) / some, [&](Int task, int) {
        const Int c = task * some;
        forward(columns + c * n_, &first[c], std::min(some, count - c));
    });
}

// A few columns together: the rows of U come from far away.
template <class T>
void Cholesky<T>::forward(double* columns, const Int* first, Int count) const {
    for (Int i = *std::min_element(first, first + count) / kTogether * kTogether; i < n_; i += kTogether) {
        const T *rows[kTogether], *rests[kTogether];
        const Int some = std::min(kTogether, n_ - i), rest = i + some;
        for (Int k = 0; k < kTogether; ++k) {
            rows[k] = a_ + (i + std::min(k, some - 1)) * stride_;
            rests[k] = rows[k] + rest;
        }
        for (Int c = 0; c < count; ++c) {
            if (first[c] >= rest) continue;
            double* const x = columns + c * n_;
            double by[kTogether] = {};
            for (Int k = 0; k < some; ++k) {
                for (Int l = 0; l < k; ++l) x[i + k] += by[l] * double(rows[l][i + k]);
                x[i + k] /= double(rows[k][i + k]);
                by[k] = -x[i + k];
            }
            micro_.combine<T>()(x + rest, rests, by, n_ - rest);
        }
    }
}

template <class T>
void Cholesky<T>::back(double* x) const {
    for (Int i = n_ - 1; i >= 0; --i) {
        const T* const row = a_ + i * stride_;
        x[i] = (x[i] - micro_.dot<T>()(row + i + 1, x + i + 1, n_ - i - 1)) / double(row[i]);
    }
}

template class Cholesky<float>;
template class Cholesky<double>;

}  // namespace kdsl
