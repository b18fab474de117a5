// The inner loops, written once over vectors of KDSL_WIDTH bytes; included by one file for each instruction set.
//
// GCC's and clang's vector extensions express them: a comparison gives a lane mask and
// `mask ? a : b` selects. Everything is in an unnamed namespace and nothing of the standard library that
// is code is instantiated here, so that no function compiled for a newer processor can be linked into another file.
#include <utility>

#include "micro.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(KDSL_NEON)
#include <arm_neon.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12's AVX-512 header, bug 105593
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=fast")
#endif

namespace kdsl {
namespace {

using Size = std::size_t;
using Int = std::int64_t;

template <class T>
struct Lane;
template <>
struct Lane<float> {
    typedef float Vector __attribute__((vector_size(KDSL_WIDTH)));
    typedef std::int32_t Place;
    typedef Place Index __attribute__((vector_size(KDSL_WIDTH)));
    static constexpr float infinity = __builtin_inff();
};
template <>
struct Lane<double> {
    typedef double Vector __attribute__((vector_size(KDSL_WIDTH)));
    typedef std::int64_t Place;
    typedef Place Index __attribute__((vector_size(KDSL_WIDTH)));
    typedef float Floats __attribute__((vector_size(KDSL_WIDTH / 2)));
    static constexpr double infinity = __builtin_inf();
};
template <>
struct Lane<Pair> {
    typedef Pair Vector __attribute__((vector_size(KDSL_WIDTH)));
};
template <>
struct Lane<Limbs> {
    typedef Limbs Vector __attribute__((vector_size(KDSL_WIDTH)));
};
template <class T>
using Vector = typename Lane<T>::Vector;
template <class T>
using Index = typename Lane<T>::Index;
template <class T>
inline constexpr Int kLanes = KDSL_WIDTH / Int(sizeof(T));

template <class T>
inline Vector<T> splat(T x) {
    return x - Vector<T>{};
}
template <class T>
inline Vector<T> load(const T* p) {
    Vector<T> v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
template <class T>
inline void store(T* p, Vector<T> v) {
    __builtin_memcpy(p, &v, sizeof v);
}
// A vector of the gradient's precision read from a Gram matrix of the same or of single precision.
inline Vector<float> load_as(const float* p, float) { return load<float>(p); }
inline Vector<double> load_as(const double* p, double) { return load<double>(p); }
inline Vector<double> load_as(const float* p, double) {
    Lane<double>::Floats v;  // as many as there are lanes
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Vector<double>);
}
#if KDSL_WIDTH == 64
#define KDSL_LANEWISE(operation) _mm512_##operation
#elif KDSL_WIDTH == 32
#define KDSL_LANEWISE(operation) _mm256_##operation
#elif defined(__x86_64__)
#define KDSL_LANEWISE(operation) _mm_##operation
#endif
// GCC makes two instructions of a < b ? a : b, so the one there is has to be named.
#if defined(KDSL_NEON)
inline Vector<float> least(Vector<float> a, Vector<float> b) { return vminnmq_f32(a, b); }
inline Vector<double> least(Vector<double> a, Vector<double> b) { return vminnmq_f64(a, b); }
inline Vector<float> greatest(Vector<float> a, Vector<float> b) { return vmaxnmq_f32(a, b); }
inline Vector<double> greatest(Vector<double> a, Vector<double> b) { return vmaxnmq_f64(a, b); }
#elif defined(KDSL_LANEWISE)
inline Vector<float> least(Vector<float> a, Vector<float> b) { return KDSL_LANEWISE(min_ps)(a, b); }
inline Vector<double> least(Vector<double> a, Vector<double> b) { return KDSL_LANEWISE(min_pd)(a, b); }
inline Vector<float> greatest(Vector<float> a, Vector<float> b) { return KDSL_LANEWISE(max_ps)(a, b); }
inline Vector<double> greatest(Vector<double> a, Vector<double> b) { return KDSL_LANEWISE(max_pd)(a, b); }
#else
template <class V>
inline V least(V a, V b) {
    return a < b ? a : b;
}
template <class V>
inline V greatest(V a, V b) {
    return a > b ? a : b;
}
#endif
// Absolute values: the sign is one bit.
inline Vector<float> magnitude(Vector<float> v) {
    return reinterpret_cast<Vector<float>>(reinterpret_cast<Index<float>>(v) & 0x7fffffff);
}
inline Vector<double> magnitude(Vector<double> v) {
    return reinterpret_cast<Vector<double>>(reinterpret_cast<Index<double>>(v) & 0x7fffffffffffffff);
}

#include "micro_passes.hpp"

#include "micro_values.hpp"

// ------------------------------------------------------------------------- rows against a packed panel

// Rows whose sums are held in registers together: twice as many vectors, and there are 32 or 16 registers. Where values
// are summed and are polynomials, compilers would keep the points in memory for more than the second number.
#if KDSL_WIDTH == 64 || defined(KDSL_NEON)
constexpr Size kRows = 12, kRowsSummed = 8;
#else
constexpr Size kRows = 6, kRowsSummed = 6;
#endif

// Loops over registers are unrolled whole: an array that is indexed by a variable lives in memory.
#if defined(__clang__)
#define KDSL_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define KDSL_UNROLLED _Pragma("GCC unroll 16")
#endif

// The values of `count` rows at two vectors of points, handed to use(row, value, value) one row after another:
// s[r][v] = row_bias[r] + panel_bias + sum over features stays in registers.
template <Kind kind, Size count, class T, class Use>
inline __attribute__((always_inline)) void group(const Form& form, const T* rows, const T* row_bias, Size features,
                                                 const T* panel, const T* panel_bias, Use use) {
    constexpr Int L = kLanes<T>;
    const auto bias0 = load<T>(panel_bias), bias1 = load<T>(panel_bias + L);
    Vector<T> s[count][2];
    KDSL_UNROLLED
    for (Size r = 0; r < count; ++r) {
        s[r][0] = bias0 + row_bias[r];
        s[r][1] = bias1 + row_bias[r];
    }
    for (Size j = 0; j < features; ++j) {
        const auto z0 = load<T>(panel + j * kPanel<T>), z1 = load<T>(panel + j * kPanel<T> + L);
        KDSL_UNROLLED
        for (Size r = 0; r < count; ++r) {
            const auto x = splat<T>(rows[r * features + j]);
            if constexpr (kind == Kind::laplacian) {
                const auto d0 = x - z0, d1 = x - z1;
                s[r][0] -= magnitude(d0);
                s[r][1] -= magnitude(d1);
            } else {
                s[r][0] += x * z0;
                s[r][1] += x * z1;
            }
        }
    }
    KDSL_UNROLLED
    for (Size r = 0; r < count; ++r)
        use(r, value<kind, T>(s[r][0], form.degree), value<kind, T>(s[r][1], form.degree));
}

#if KDSL_WIDTH == 64
// The same with integers. The instruction (AVX512-VNNI) is named where it is used, since the compiler would keep sums
// that pass through its intrinsic in memory.
template <Kind kind, Size count, class Use>
inline __attribute__((always_inline)) void group(const Form& form, const Pair* rows, const float* row_bias,
                                                 Size features, const Pair* panel, const float* panel_bias, Use use) {
    constexpr Int L = kLanes<Pair>;
    Vector<Pair> s[count][2];
    KDSL_UNROLLED
    for (Size r = 0; r < count; ++r) s[r][0] = s[r][1] = Vector<Pair>{};
    for (Size j = 0; j < features; ++j) {
        const auto z0 = load<Pair>(panel + j * kPanel<Pair>), z1 = load<Pair>(panel + j * kPanel<Pair> + L);
        KDSL_UNROLLED
        for (Size r = 0; r < count; ++r) {
            const auto x = splat<Pair>(rows[r * features + j]);
            asm("vpdpwssd %2, %1, %0" : "+v"(s[r][0]) : "v"(x), "v"(z0));
            asm("vpdpwssd %2, %1, %0" : "+v"(s[r][1]) : "v"(x), "v"(z1));
        }
    }
    const auto bias0 = load<float>(panel_bias), bias1 = load<float>(panel_bias + L);
    const auto unit = splat<float>(float(form.unit));
    KDSL_UNROLLED
    for (Size r = 0; r < count; ++r) {
        const auto s0 = __builtin_convertvector(s[r][0], Vector<float>) * unit + (bias0 + row_bias[r]);
        const auto s1 = __builtin_convertvector(s[r][1], Vector<float>) * unit + (bias1 + row_bias[r]);
        use(r, value<kind, float>(s0, form.degree), value<kind, float>(s1, form.degree));
    }
}
#endif

// All rows at two vectors of points: `many` at a time, then those that are left over.
template <Kind kind, Size many, class T, class Use>
inline __attribute__((always_inline)) void each(const Form& form, const T* rows, const Bias<T>* row_bias, Size count,
                                                Size features, const T* panel, const Bias<T>* panel_bias, Use use) {
    Size r = 0;
    const auto next = [&]<Size n>() __attribute__((always_inline)) {
        for (; r + n <= count; r += n)
            group<kind, n>(form, rows + r * features, row_bias + r, features, panel, panel_bias,
                           [&](Size i, Vector<Value<T>> a, Vector<Value<T>> b) __attribute__((always_inline)) {
                               use(r + i, a, b);
                           });
    };
    next.template operator()<many>();
    if constexpr (many > 4) next.template operator()<4>();
    next.template operator()<1>();
}

#ifdef KDSL_TILES
#include "micro_tiles.hpp"
#endif

template <class Call>
inline void by_kind(Kind kind, Call call) {
    switch (kind) {
        case Kind::linear: return call.template operator()<Kind::linear>();
        case Kind::polynomial: return call.template operator()<Kind::polynomial>();
        case Kind::gaussian: return call.template operator()<Kind::gaussian>();
        case Kind::laplacian: return call.template operator()<Kind::laplacian>();
        case Kind::sigmoid: return call.template operator()<Kind::sigmoid>();
        case Kind::gaussian_near: return call.template operator()<Kind::gaussian_near>();
    }
}

template <class T>
void block(const Form& form, const T* rows, const Bias<T>* row_bias, Size count, Size features, const T* panel,
           const Bias<T>* panel_bias, Value<T>* out, Size stride) {
    constexpr Size L = Size(kLanes<T>);
    by_kind(form.kind, [&]<Kind k>() {
        for (Size lane = 0; lane < kPanel<T>; lane += 2 * L)
            each<k, kRows>(form, rows, row_bias, count, features, panel + lane, panel_bias + lane,
                       [&](Size r, Vector<Value<T>> a, Vector<Value<T>> b) __attribute__((always_inline)) {
                           store<Value<T>>(out + r * stride + lane, a);
                           store<Value<T>>(out + r * stride + lane + L, b);
                       });
    });
}

template <class T>
void row(const Form& form, const T* x, T bias, Size features, const T* panels, const T* panel_biases, Size count,
         T* out) {
    constexpr Size L = Size(kLanes<T>), P = kPanel<T>;
    by_kind(form.kind, [&]<Kind k>() {
        for (Size p = 0; p < count; ++p, panels += features * P, panel_biases += P, out += P)
            for (Size lane = 0; lane < P; lane += 2 * L)
                group<k, 1>(form, x, &bias, features, panels + lane, panel_biases + lane,
                            [&](Size, Vector<T> a, Vector<T> b) __attribute__((always_inline)) {
                                store<T>(out + lane, a);
                                store<T>(out + lane + L, b);
                            });
    });
}

template <class T>
void accumulate(const Form& form, const T* rows, const Bias<T>* row_bias, const Value<T>* coefficient, Size count,
                Size features, const T* panel, const Bias<T>* panel_bias, Value<T>* out) {
    constexpr Size L = Size(kLanes<T>);
    by_kind(form.kind, [&]<Kind k>() {
        constexpr Size many = k == Kind::linear || k == Kind::polynomial ? kRowsSummed : kRows;
        for (Size lane = 0; lane < kPanel<T>; lane += 2 * L) {
            auto sum0 = load<Value<T>>(out + lane), sum1 = load<Value<T>>(out + lane + L);
            each<k, many>(form, rows, row_bias, count, features, panel + lane, panel_bias + lane,
                       [&](Size r, Vector<Value<T>> a, Vector<Value<T>> b) __attribute__((always_inline)) {
                           sum0 += coefficient[r] * a;
                           sum1 += coefficient[r] * b;
                       });
            store<Value<T>>(out + lane, sum0);
            store<Value<T>>(out + lane + L, sum1);
        }
    });
}

template <class T>
void both(const Form& form, const T* rows, const Bias<T>* row_bias, const Value<T>* coefficient, Size count,
          Size features, const T* panel, const Bias<T>* panel_bias, const Value<T>* weight, Value<T>* out,
          Value<T>* across) {
    constexpr Size L = Size(kLanes<T>);
    by_kind(form.kind, [&]<Kind k>() {
        for (Size lane = 0; lane < kPanel<T>; lane += 2 * L) {
            auto sum0 = load<Value<T>>(out + lane), sum1 = load<Value<T>>(out + lane + L);
            const auto weight0 = load<Value<T>>(weight + lane), weight1 = load<Value<T>>(weight + lane + L);
            each<k, kRowsSummed>(form, rows, row_bias, count, features, panel + lane, panel_bias + lane,
                       [&](Size r, Vector<Value<T>> a, Vector<Value<T>> b) __attribute__((always_inline)) {
                           sum0 += coefficient[r] * a;
                           sum1 += coefficient[r] * b;
                           Value<T>* const own = across + r * L;
                           store<Value<T>>(own, load<Value<T>>(own) + weight0 * a + weight1 * b);
                       });
            store<Value<T>>(out + lane, sum0);
            store<Value<T>>(out + lane + L, sum1);
        }
    });
}

// Columns of coefficients that are held in registers together.
constexpr Size kShared = 4;

template <class T>
void sums(const T* values, Size count, const T* coefficient, Size apart, Size many, T* out) {
    constexpr Size L = Size(kLanes<T>), P = kPanel<T>;
    const auto some = [&]<Size m>(Size first) __attribute__((always_inline)) {
        const T* const c = coefficient + first * apart;
        for (Size lane = 0; lane < P; lane += 2 * L) {
            Vector<T> s[m][2];
            KDSL_UNROLLED
            for (Size q = 0; q < m; ++q) {
                s[q][0] = load<T>(out + (first + q) * P + lane);
                s[q][1] = load<T>(out + (first + q) * P + lane + L);
            }
            for (Size r = 0; r < count; ++r) {
                const auto a = load<T>(values + r * P + lane), b = load<T>(values + r * P + lane + L);
                KDSL_UNROLLED
                for (Size q = 0; q < m; ++q) {
                    const auto x = splat<T>(c[q * apart + r]);
                    s[q][0] += x * a;
                    s[q][1] += x * b;
                }
            }
            KDSL_UNROLLED
            for (Size q = 0; q < m; ++q) {
                store<T>(out + (first + q) * P + lane, s[q][0]);
                store<T>(out + (first + q) * P + lane + L, s[q][1]);
            }
        }
    };
    Size first = 0;
    for (; first + kShared <= many; first += kShared) some.template operator()<kShared>(first);
    for (; first < many; ++first) some.template operator()<1>(first);
}

template <class T>
void spread(const T* values, Size count, const T* weight, Size apart, Size many, T* across, Size beside) {
    constexpr Size L = Size(kLanes<T>), P = kPanel<T>;
    for (Size m = 0; m < many; ++m) {
        Vector<T> w[P / L];
        KDSL_UNROLLED
        for (Size k = 0; k < P / L; ++k) w[k] = load<T>(weight + m * apart + k * L);
        for (Size r = 0; r < count; ++r) {
            T* const own = across + m * beside + r * L;
            auto sum = load<T>(own);
            KDSL_UNROLLED
            for (Size k = 0; k < P / L; ++k) sum += w[k] * load<T>(values + r * P + k * L);
            store<T>(own, sum);
        }
    }
}

// Nonzeros of a sparse point whose terms do not wait for one another.
constexpr Size kApart = 4;

// For the Laplacian kernel the packed bias holds -||x||_1, to which each nonzero z adds |x| - |x - z|.
template <class T>
void sparse(const Form& form, const T* packed, const T* packed_bias, const std::int32_t* feature, const T* at,
            Size nonzeros, T bias, T* out) {
    constexpr Size L = Size(kLanes<T>);
    by_kind(form.kind, [&]<Kind k>() {
        for (Size lane = 0; lane < kPanel<T>; lane += 2 * L) {
            Vector<T> s[kApart][2] = {};
            const auto add = [&](Size e, Vector<T>* to) __attribute__((always_inline)) {
                const T* const from = packed + Size(feature[e]) * kPanel<T> + lane;
                const auto z = splat<T>(at[e]);
                KDSL_UNROLLED
                for (Size v = 0; v < 2; ++v) {
                    const auto x = load<T>(from + v * L);
                    if constexpr (k == Kind::laplacian) {
                        const auto d = x - z;
                        to[v] += magnitude(x) - magnitude(d);
                    } else {
                        to[v] += x * z;
                    }
                }
            };
            Size e = 0;
            for (; e + kApart <= nonzeros; e += kApart) {
                KDSL_UNROLLED
                for (Size p = 0; p < kApart; ++p) add(e + p, s[p]);
            }
            for (; e < nonzeros; ++e) add(e, s[0]);
            KDSL_UNROLLED
            for (Size v = 0; v < 2; ++v) {
                const auto sum = (s[0][v] + s[1][v]) + (s[2][v] + s[3][v]) + (load<T>(packed_bias + lane + v * L) + bias);
                store<T>(out + lane + v * L, value<k, T>(sum, form.degree));
            }
        }
    });
}

// ------------------------------------------------------------------------- the triangle of a block

// Vectors of a row that are summed at once.
constexpr Int kSummed = 6;

// row[j] - sum of by[p * apart] from[p * kTriangle + j] over p < terms, for j from `first` on.
template <class T>
inline __attribute__((always_inline)) void less_rows(T* row, const T* by, Int apart, const T* from, Int terms, Int first) {
    constexpr Int L = kLanes<T>, step = kSummed * L;
    static_assert(kTriangle % step == 0);
    for (Int j = first / step * step; j < kTriangle; j += step) {
        Vector<T> sum[kSummed];
        KDSL_UNROLLED
        for (Int v = 0; v < kSummed; ++v) sum[v] = load<T>(row + j + v * L);
        for (Int p = 0; p < terms; ++p) {
            const auto x = splat<T>(by[p * apart]);
            KDSL_UNROLLED
            for (Int v = 0; v < kSummed; ++v) sum[v] -= x * load<T>(from + p * kTriangle + j + v * L);
        }
        KDSL_UNROLLED
        for (Int v = 0; v < kSummed; ++v) store<T>(row + j + v * L, sum[v]);
    }
}

// Row by row: what those above take of it, then its pivot. Row r of W = U'^-1 is (e_r - sum of U_pr W_p over p < r) / U_rr.
template <class T>
void triangle(T* a, T* inverse, Int count, T lost, T frozen) {
    for (Int i = 0; i < count; ++i) {
        T* const row = a + i * kTriangle;
        less_rows<T>(row, a + i, kTriangle, a, i, i);
        const bool is_lost = !(row[i] > lost);
        const T pivot = is_lost ? frozen : __builtin_sqrt(row[i]), scale = is_lost ? T(0) : 1 / pivot;
        for (Int j = 0; j < i; ++j) row[j] = 0;
        row[i] = pivot;
        for (Int j = i + 1; j < kTriangle; ++j) row[j] *= scale;
    }
    for (Int r = 0; r < count; ++r) {
        T* const row = inverse + r * kTriangle;
        for (Int j = 0; j < kTriangle; ++j) row[j] = j == r;
        less_rows<T>(row, a + r, kTriangle, inverse, r, 0);
        const T scale = 1 / a[r * kTriangle + r];
        for (Int j = 0; j <= r; ++j) row[j] *= scale;
    }
    for (Int k = 0; k < count * kTriangle; ++k) inverse[k] = -inverse[k];
}

// ------------------------------------------------------------------------- the other side of a diagonal

// Two vectors exchange blocks of `half` lanes: the upper one of `a` for the lower one of `b`, in every pair of blocks.
template <Int half, class V, Int... lane>
inline __attribute__((always_inline)) void exchange(V& a, V& b, std::integer_sequence<Int, lane...>) {
    constexpr Int L = sizeof...(lane);
    const V low = __builtin_shufflevector(a, b, (lane & half ? L + lane - half : lane)...);
    b = __builtin_shufflevector(a, b, (lane & half ? L + lane : lane + half)...);
    a = low;
}

template <Int half, class T>
inline __attribute__((always_inline)) void exchange_all(Vector<T>* v) {
    constexpr Int L = kLanes<T>;
    KDSL_UNROLLED
    for (Int k = 0; k < L; ++k)
        if ((k & half) == 0) exchange<half>(v[k], v[k + half], std::make_integer_sequence<Int, L>());
    if constexpr (half > 1) exchange_all<half / 2, T>(v);
}

template <class T>
void transpose(const T* from, Size rows, T* to, Size stride) {
    constexpr Int L = kLanes<T>;
    for (Size j = 0; j < kPanel<T>; j += Size(L))
        for (Size r = 0; r < rows; r += Size(L)) {
            Vector<T> v[L];
            KDSL_UNROLLED
            for (Int k = 0; k < L; ++k) v[k] = load<T>(from + (r + Size(k)) * kPanel<T> + j);
            exchange_all<L / 2, T>(v);
            KDSL_UNROLLED
            for (Int k = 0; k < L; ++k) store<T>(to + (j + Size(k)) * stride + r, v[k]);
        }
}

}  // namespace

#ifdef KDSL_NAME
#define KDSL_JOIN(a, b) a##b
#define KDSL_TABLE(name) KDSL_JOIN(micro_, name)
#define KDSL_TEXT(name) #name
#define KDSL_QUOTE(name) KDSL_TEXT(name)

extern const Micro KDSL_TABLE(KDSL_NAME);
const Micro KDSL_TABLE(KDSL_NAME) = {
    KDSL_QUOTE(KDSL_NAME),
    KDSL_WIDTH,
    {update<float, float>, second_order<float, float>},
    {update<double, float>, second_order<double, float>},
    {update<double, double>, second_order<double, double>},
    {block<float>, accumulate<float>, both<float>, transpose<float>, sparse<float>},
    {block<double>, accumulate<double>, both<double>, transpose<double>, sparse<double>},
#if KDSL_WIDTH == 64
    {block<Pair>, accumulate<Pair>, nullptr, transpose<Pair>, nullptr},
#else
    {},
#endif
    {sums<float>, spread<float>},
    {sums<double>, spread<double>},
    row<float>,
    dot<float>,
    dot<double>,
    combine<float>,
    combine<double>,
    extremes<double>,
    greater,
    triangle<float>,
    triangle<double>,
};

#endif

}  // namespace kdsl
