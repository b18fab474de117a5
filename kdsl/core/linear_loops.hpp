// The inner loops of linear_pass.cpp over blocks of rows, written once over vectors of KDSL_WIDTH bytes.
//
// Included by one file for each instruction set; a row has `width` numbers, a multiple of kRowPad, zero beyond its end.
// Everything is in an unnamed namespace and nothing of the standard library is instantiated here (see micro_loops.hpp).
#include "linear_table.hpp"

#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=fast")
#endif

namespace kdsl {
namespace {

using Int = std::int64_t;
typedef double Lanes __attribute__((vector_size(KDSL_WIDTH)));
constexpr Int kLanes = KDSL_WIDTH / Int(sizeof(double));
constexpr Int kTileRows = 4;  // of the q x q matrix, by kTileLanes vectors: what the registers hold
constexpr int kTileLanes = 3;

inline Lanes load(const double* p) {
    Lanes v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
inline void store(double* p, Lanes v) { __builtin_memcpy(p, &v, sizeof v); }
inline double sum(Lanes v) {
    double total = 0;
    for (Int l = 0; l < kLanes; ++l) total += v[l];
    return total;
}

// out[i] = sum_j block[i, j] v[j]
void up(const double* block, Int rows, Int width, const double* v, double* out) {
    for (Int i = 0; i < rows; ++i) {
        Lanes total{};
        for (Int j = 0; j < width; j += kLanes) total += load(block + i * width + j) * load(v + j);
        out[i] = sum(total);
    }
}

// out[i] = sum_j (block[i, j] scale[j])^2
void lengths(const double* block, Int rows, Int width, const double* scale, double* out) {
    for (Int i = 0; i < rows; ++i) {
        Lanes total{};
        for (Int j = 0; j < width; j += kLanes) {
            const Lanes x = load(block + i * width + j) * load(scale + j);
            total += x * x;
        }
        out[i] = sum(total);
    }
}

// out[j] += sum_i x[i] block[i, j]
void down(const double* block, Int rows, Int width, const double* x, double* out) {
    for (Int j = 0; j < width; j += kLanes) {
        Lanes total = load(out + j);
        for (Int i = 0; i < rows; ++i) total += x[i] * load(block + i * width + j);
        store(out + j, total);
    }
}

// total[i, j] += sum_k scaled[k, i] block[k, j] for kTileRows rows from i and J vectors from j.
template <int J>
void tile(const double* scaled, const double* block, Int rows, Int width, Int i, Int j, double* total) {
    Lanes sums[kTileRows][J] = {};
    for (Int k = 0; k < rows; ++k) {
        Lanes right[J];
        for (int b = 0; b < J; ++b) right[b] = load(block + k * width + j + b * kLanes);
        for (Int a = 0; a < kTileRows; ++a)
            for (int b = 0; b < J; ++b) sums[a][b] += scaled[k * width + i + a] * right[b];
    }
    for (Int a = 0; a < kTileRows; ++a)
        for (int b = 0; b < J; ++b) {
            double* to = total + (i + a) * width + j + b * kLanes;
            store(to, load(to) + sums[a][b]);
        }
}

// total[i, j] += sum_k weight[k] block[k, i] block[k, j], at least for j >= i; `scaled` is room for another block.
void weigh(const double* block, Int rows, Int width, const double* weight, double* scaled, double* total) {
    for (Int k = 0; k < rows; ++k)
        for (Int j = 0; j < width; j += kLanes)
            store(scaled + k * width + j, weight[k] * load(block + k * width + j));
    for (Int j = 0; j < width; j += kTileLanes * kLanes) {
        const Int left = (width - j) / kLanes;
        const Int end = j + (left < kTileLanes ? left : kTileLanes) * kLanes;
        for (Int i = 0; i < end; i += kTileRows) {
            if (left >= 3)
                tile<3>(scaled, block, rows, width, i, j, total);
            else if (left == 2)
                tile<2>(scaled, block, rows, width, i, j, total);
            else
                tile<1>(scaled, block, rows, width, i, j, total);
        }
    }
}

}  // namespace

#define KDSL_JOIN(a, b) a##b
#define KDSL_TABLE(name) KDSL_JOIN(linear_, name)
extern const LinearLoops KDSL_TABLE(KDSL_NAME);
const LinearLoops KDSL_TABLE(KDSL_NAME) = {&up, &lengths, &down, &weigh};

}  // namespace kdsl
