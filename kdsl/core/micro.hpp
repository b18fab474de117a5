// The table of loops that are compiled once for each instruction set and chosen when the program runs.
//
// Every loop is written once, in micro_loops.hpp, over vectors of a given width; micro_portable.cpp,
// micro_avx2.cpp, micro_avx512.cpp and, for ARM, micro_neon.cpp compile it. Points arrive packed (points.hpp), so that the layout
// does not depend on the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kdsl {

// The last is the Gaussian kernel of points so near to one another that no value comes near the smallest number.
enum class Kind : int { linear, polynomial, gaussian, laplacian, sigmoid, gaussian_near };

// A kernel of one accumulated sum s = row_bias + panel_bias + unit * sum over features (points are scaled when packed):
// linear s; polynomial s^degree; gaussian and laplacian 2^min(s, 0); gaussian_near 2^s, where s >= -kFarthest; sigmoid
// tanh(s). The unit is 1 but for integers.
inline constexpr double kFarthest = 120;
struct Form {
    Kind kind;
    int degree = 0;
    double unit = 1;
    bool rough = false;  // of Limbs: only the higher two of three levels of products are wanted
};

// Two integers of 16 bits, the first in the lower half: features of a point on a lattice (lattice_points.hpp).
using Pair = std::int32_t;
// Four integers of 8 bits, the first in the lowest: parts of features (limb_points.hpp), which tiles multiply.
using Limbs = std::uint32_t;
// What is added to a sum over the parts of features, and what one of a product of two points is worth, as a factor.
struct Scaled {
    float bias, unit;
};
// What sums over numbers of a kind are turned into, and what there is of each point beside its features.
template <class T>
struct ValueOf {
    using type = T;
    using Bias = T;
};
template <>
struct ValueOf<Pair> {
    using type = float;
    using Bias = float;
};
template <>
struct ValueOf<Limbs> {
    using type = float;
    using Bias = Scaled;
};
template <class T>
using Value = typename ValueOf<T>::type;
template <class T>
using Bias = typename ValueOf<T>::Bias;

// Points packed together in one panel, feature-major: panel[feature * kPanel<T> + point].
template <class T>
inline constexpr std::size_t kPanel = 128 / sizeof(T);

// The best riser and faller of one class: rise = min f + h'(t+) and fall = max f + h'(t-), with their places.
// A place is -1 where every coordinate of the class is at the bound concerned.
template <class T>
struct Extremes {
    T rise;
    std::int64_t riser;
    T fall;
    std::int64_t faller;
};

// f is the gradient of the quadratic part, `above` and `below` the one-sided derivatives of h.
// T is the precision of the gradient, K that of the stored Gram matrix.
template <class T, class K>
struct Passes {
    // f += da a + db b, then the extremes over the n coordinates.
    Extremes<T> (*update)(T* f, const K* a, const K* b, T da, T db, const T* above, const T* below, std::int64_t n);
    // argmax over j of (f_j + below_j - rise)^2 / max(own + diagonal_j - 2 row_j, floor (own + diagonal_j)), or -1.
    std::int64_t (*second_order)(const T* f, const T* below, const K* row, const T* diagonal, T rise, T own, T floor,
                                 std::int64_t n);
};

template <class T>
struct Panels {
    // out[r * stride + point] = k(row r, point) for `count` rows against one panel.
    void (*block)(const Form&, const T* rows, const Bias<T>* row_bias, std::size_t count, std::size_t features,
                  const T* panel, const Bias<T>* panel_bias, Value<T>* out, std::size_t stride);
    // out[point] += sum_r coefficient[r] k(row r, point).
    void (*accumulate)(const Form&, const T* rows, const Bias<T>* row_bias, const Value<T>* coefficient,
                       std::size_t count, std::size_t features, const T* panel, const Bias<T>* panel_bias,
                       Value<T>* out);
    // The same, and across[r * vector + ...], a vector for each row, += what sums up to sum_point weight[point] k(row r, point).
    void (*both)(const Form&, const T* rows, const Bias<T>* row_bias, const Value<T>* coefficient, std::size_t count,
                 std::size_t features, const T* panel, const Bias<T>* panel_bias, const Value<T>* weight, Value<T>* out,
                 Value<T>* across);
    // to[point * stride + r] = from[r * kPanel<T> + point] for every point of a panel; `rows` is a multiple of
    // kPanel<T> / 2.
    void (*transpose)(const T* from, std::size_t rows, T* to, std::size_t stride);
    // The same sum for kPanel<T> packed points and one sparse point given by its nonzero features.
    void (*sparse)(const Form&, const T* packed, const Bias<T>* packed_bias, const std::int32_t* feature,
                   const T* value, std::size_t nonzeros, Bias<T> bias, Value<T>* out);
};

// What several numbers for each point make of a block of values, `many` at once: row r of the block is kPanel<T> values.
template <class T>
struct Shared {
    // out[m * kPanel<T> + point] += sum_r coefficient[m * apart + r] values[r, point].
    void (*sums)(const T* values, std::size_t count, const T* coefficient, std::size_t apart, std::size_t many, T* out);
    // across[m * beside + r * vector + ...], a vector for each row, += what sums up to
    // sum_point weight[m * apart + point] values[r, point].
    void (*spread)(const T* values, std::size_t count, const T* weight, std::size_t apart, std::size_t many, T* across,
                   std::size_t beside);
};

// Tiles of a matrix unit (Intel AMX): sixteen rows of sixteen Limbs. The loops of panels read whole tiles, and so up to
// kTileRows - 1 rows more than they are given.
inline constexpr std::int64_t kTileRow = 16, kTileRows = 32, kParts = 3;
// A point in whole numbers of a step, a power of two: features are integers of 24 bits, each in kParts parts. `square`
// is the sum of their squares, infinite where a feature is not a finite number.
struct Steps {
    double step, square;
};
struct Tiles {
    Panels<Limbs> panels;
    // The parts of the features scale (x - centre), the centre 0 where it is nullptr; of kTileRow * 4 features the highest
    // parts, then the others, and so on. `to` has room for whole tiles.
    Steps (*split_f)(const float* x, const double* centre, double scale, std::size_t features, Limbs* to);
    Steps (*split_d)(const double* x, const double* centre, double scale, std::size_t features, Limbs* to);
};

// Rows and columns of a block that Micro::triangle takes.
inline constexpr std::int64_t kTriangle = 96;

struct Micro {
    const char* name;
    std::size_t width;  // bytes of a vector
    Passes<float, float> passes_ff;
    Passes<double, float> passes_df;
    Passes<double, double> passes_dd;
    Panels<float> panels_f;
    Panels<double> panels_d;
    Panels<Pair> panels_l;  // nothing where that would not be quicker
    Shared<float> shared_f;
    Shared<double> shared_d;
    // out[p * kPanel + point] = k(x, point of panel p), for `count` panels one behind the other.
    void (*row_f)(const Form&, const float* x, float bias, std::size_t features, const float* panels,
                  const float* panel_biases, std::size_t count, float* out);
    // The inner product of n numbers, summed in double precision.
    double (*dot_f)(const float* a, const double* b, std::int64_t n);
    double (*dot_d)(const double* a, const double* b, std::int64_t n);
    // to += sum of by[p] from[p] over four rows of n numbers.
    void (*combine_f)(double* to, const float* const* from, const double* by, std::int64_t n);
    void (*combine_d)(double* to, const double* const* from, const double* by, std::int64_t n);
    // What Passes::update returns, f as it is.
    Extremes<double> (*extremes)(const double* f, const double* above, const double* below, std::int64_t n);
    // Those of sign (f[k] + side[k]) + by that are more than `least`, in order, and with each first + k; returns how many
    // there are. Up to a vector more is written.
    std::int64_t (*greater)(const double* f, const double* side, double sign, double by, double least, std::int64_t first,
                            std::int64_t n, double* value, std::int64_t* place);
    // `count` rows of kTriangle numbers, 0 from column `count` on: U with U'U = A in the place of the upper triangle of A,
    // `frozen` and nothing beside it where a pivot is below `lost`; then as many rows of -U'^-1.
    void (*triangle_f)(float* a, float* inverse, std::int64_t count, float lost, float frozen);
    void (*triangle_d)(double* a, double* inverse, std::int64_t count, double lost, double frozen);
    const Tiles* tiles = nullptr;  // where there is a unit for them

    template <class T, class K>
    const Passes<T, K>& passes() const;
    template <class T>
    const Panels<T>& panels() const;
    template <class K>
    const auto& shared() const {
        if constexpr (sizeof(K) == sizeof(float))
            return shared_f;
        else
            return shared_d;
    }
    bool has_lattice() const { return panels_l.block != nullptr; }
    template <class K>
    auto dot() const {
        return either<K>(dot_f, dot_d);
    }
    template <class K>
    auto combine() const {
        return either<K>(combine_f, combine_d);
    }
    template <class T>
    auto triangle() const {
        return either<T>(triangle_f, triangle_d);
    }

private:
    template <class T, class Single, class Twice>
    static auto either(Single single, Twice twice) {
        if constexpr (sizeof(T) == sizeof(float))
            return single;
        else
            return twice;
    }
};

template <> inline const Passes<float, float>& Micro::passes() const { return passes_ff; }
template <> inline const Passes<double, float>& Micro::passes() const { return passes_df; }
template <> inline const Passes<double, double>& Micro::passes() const { return passes_dd; }
template <> inline const Panels<float>& Micro::panels() const { return panels_f; }
template <> inline const Panels<double>& Micro::panels() const { return panels_d; }
template <> inline const Panels<Pair>& Micro::panels() const { return panels_l; }
template <> inline const Panels<Limbs>& Micro::panels() const { return tiles->panels; }

extern const Micro micro_portable;
#if defined(__x86_64__)
extern const Micro micro_avx2;
extern const Micro micro_avx512;
extern const Tiles tiles_amx;
#elif defined(__aarch64__)
extern const Micro micro_neon;
#endif

// The widest table that this processor runs, or the one that the environment variable KDSL_ISA names (portable; avx2,
// avx512, or amx, the same with tiles; neon). Throws std::runtime_error for a name that is unknown or cannot run here.
const Micro& choose_micro();

}  // namespace kdsl
