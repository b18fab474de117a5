// The inner loops, written once over vectors of KDSL_WIDTH bytes; included by one file for each instruction set.
//
// GCC's and clang's vector extensions express them without intrinsics: a comparison gives a lane mask and
// `mask ? a : b` selects. Everything is in an unnamed namespace and nothing of the standard library is
// instantiated here, so that no function compiled for a newer processor can be linked into another file.
// exp: r = x - n ln 2, a polynomial of degree 6 (float, relative error 2e-8 before rounding) or 11 (double,
// 2e-17) fitted by Chebyshev interpolation, and 2^n by writing the exponent's bits.
#include "micro.hpp"

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
    typedef std::int32_t Index __attribute__((vector_size(KDSL_WIDTH)));
    typedef float HalfFloats __attribute__((vector_size(KDSL_WIDTH)));
    static constexpr float infinity = __builtin_inff();
};
template <>
struct Lane<double> {
    typedef double Vector __attribute__((vector_size(KDSL_WIDTH)));
    typedef std::int64_t Index __attribute__((vector_size(KDSL_WIDTH)));
    typedef float HalfFloats __attribute__((vector_size(KDSL_WIDTH / 2)));
    static constexpr double infinity = __builtin_inf();
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
    Lane<double>::HalfFloats v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Vector<double>);
}
template <class V>
inline V least(V a, V b) {
    return a < b ? a : b;
}
template <class V>
inline V greatest(V a, V b) {
    return a > b ? a : b;
}

// ------------------------------------------------------------------------------- passes over a stored row

template <class T>
struct Best {
    Vector<T> value;
    Index<T> place;

    explicit Best(T start) : value(splat<T>(start)), place(Index<T>{} - 1) {}
    void keep_less(Vector<T> x, Index<T> k) {
        auto less = x < value;
        value = less ? x : value;
        place = less ? k : place;
    }
    void keep_greater(Vector<T> x, Index<T> k) {
        auto greater = x > value;
        value = greater ? x : value;
        place = greater ? k : place;
    }
};

template <class T>
inline Index<T> counting() {
    Index<T> v;
    for (Int k = 0; k < kLanes<T>; ++k) v[k] = k;
    return v;
}

template <class T, class K>
Extremes<T> update(T* f, const K* a, const K* b, T da, T db, const T* above, const T* below, Int n) {
    constexpr Int L = kLanes<T>;
    const T inf = Lane<T>::infinity;
    Best<T> rise0(inf), rise1(inf), fall0(-inf), fall1(-inf);
    const auto DA = splat<T>(da), DB = splat<T>(db);
    Index<T> at = counting<T>();
    Int k = 0;
    for (; k + 2 * L <= n; k += 2 * L) {
        auto f0 = load<T>(f + k) + DA * load_as(a + k, T()) + DB * load_as(b + k, T());
        auto f1 = load<T>(f + k + L) + DA * load_as(a + k + L, T()) + DB * load_as(b + k + L, T());
        store<T>(f + k, f0);
        store<T>(f + k + L, f1);
        rise0.keep_less(f0 + load<T>(above + k), at);
        rise1.keep_less(f1 + load<T>(above + k + L), at + L);
        fall0.keep_greater(f0 + load<T>(below + k), at);
        fall1.keep_greater(f1 + load<T>(below + k + L), at + L);
        at += 2 * L;
    }
    rise0.keep_less(rise1.value, rise1.place);
    fall0.keep_greater(fall1.value, fall1.place);
    Extremes<T> out{inf, -1, -inf, -1};
    for (Int l = 0; l < L; ++l) {
        if (rise0.value[l] < out.rise) out.rise = rise0.value[l], out.riser = rise0.place[l];
        if (fall0.value[l] > out.fall) out.fall = fall0.value[l], out.faller = fall0.place[l];
    }
    for (; k < n; ++k) {
        f[k] += da * T(a[k]) + db * T(b[k]);
        if (f[k] + above[k] < out.rise) out.rise = f[k] + above[k], out.riser = k;
        if (f[k] + below[k] > out.fall) out.fall = f[k] + below[k], out.faller = k;
    }
    return out;
}

template <class T, class K>
Int second_order(const T* f, const T* below, const K* row, const T* diagonal, T rise, T own, T floor, Int n) {
    constexpr Int L = kLanes<T>;
    Best<T> best0(T(0)), best1(T(0));
    const auto R = splat<T>(rise), O = splat<T>(own), F = splat<T>(floor), zero = Vector<T>{};
    Index<T> at = counting<T>();
    Int k = 0;
    for (; k + 2 * L <= n; k += 2 * L) {
        auto v0 = greatest(load<T>(f + k) + load<T>(below + k) - R, zero);
        auto v1 = greatest(load<T>(f + k + L) + load<T>(below + k + L) - R, zero);
        auto s0 = O + load<T>(diagonal + k), s1 = O + load<T>(diagonal + k + L);
        auto c0 = greatest(s0 - T(2) * load_as(row + k, T()), F * s0);
        auto c1 = greatest(s1 - T(2) * load_as(row + k + L, T()), F * s1);
        best0.keep_greater(v0 * v0 / c0, at);
        best1.keep_greater(v1 * v1 / c1, at + L);
        at += 2 * L;
    }
    best0.keep_greater(best1.value, best1.place);
    T best = 0;
    Int place = -1;
    for (Int l = 0; l < L; ++l)
        if (best0.value[l] > best) best = best0.value[l], place = best0.place[l];
    for (; k < n; ++k) {
        T v = f[k] + below[k] - rise, s = own + diagonal[k], c = s - T(2) * T(row[k]);
        c = c > floor * s ? c : floor * s;
        if (v > 0 && v * v / c > best) best = v * v / c, place = k;
    }
    return place;
}

void subtract(double* to, const double* const* from, const double* by, Int n) {
    constexpr Int L = kLanes<double>;
    Int j = 0;
    for (; j + L <= n; j += L)
        store<double>(to + j, load<double>(to + j) - load<double>(from[0] + j) * by[0] - load<double>(from[1] + j) * by[1] -
                                  load<double>(from[2] + j) * by[2] - load<double>(from[3] + j) * by[3]);
    for (; j < n; ++j)
        to[j] = to[j] - from[0][j] * by[0] - from[1][j] * by[1] - from[2][j] * by[2] - from[3][j] * by[3];
}

// ------------------------------------------------------------------------------------- kernel functions

inline Vector<float> exponential(Vector<float> x) {
    x = greatest(x, splat(-87.0f));
    const auto shift = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
    auto t = x * 1.44269504088896341f + shift;
    auto n = t - shift;
    auto r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    auto p = splat(0.0013926183587713494533f);
    p = p * r + 0.0083631790527225773633f;
    p = p * r + 0.041666554617204574203f;
    p = p * r + 0.16666576989698775683f;
    p = p * r + 0.5f;
    p = p * (r * r) + (r + 1.0f);
    return p * (Vector<float>)(((Index<float>)t << 23) + 0x3f800000);
}
inline Vector<double> exponential(Vector<double> x) {
    x = greatest(x, splat(-707.0));
    const auto shift = splat(6755399441055744.0);  // 1.5 * 2^52
    auto t = x * 1.4426950408889634074 + shift;
    auto n = t - shift;
    auto r = x - n * 6.93145751953125e-1;
    r = r - n * 1.42860682030941723212e-6;
    auto p = splat(2.5100385495510319066e-8);
    p = p * r + 2.7620088445409748146e-7;
    p = p * r + 2.7557268459997064772e-6;
    p = p * r + 0.000024801521295954375131;
    p = p * r + 0.00019841269863053616878;
    p = p * r + 0.0013888888917213716901;
    p = p * r + 0.0083333333333300618325;
    p = p * r + 0.041666666666624127873;
    p = p * r + 0.16666666666666667453;
    p = p * r + 0.50000000000000010221;
    p = p * (r * r) + (r + 1.0);
    return p * (Vector<double>)(((Index<double>)t << 52) + 0x3ff0000000000000);
}

template <Kind kind, class T>
inline Vector<T> value(Vector<T> s, int degree) {
    if constexpr (kind == Kind::polynomial) {
        auto power = splat<T>(1);
        for (int e = degree; e > 0; e >>= 1, s = s * s)
            if (e & 1) power = power * s;
        return power;
    } else if constexpr (kind == Kind::gaussian || kind == Kind::laplacian) {
        return exponential(least(s, Vector<T>{}));
    } else if constexpr (kind == Kind::sigmoid) {
        auto size = greatest(s, -s);
        auto e = exponential(size * T(-2));
        auto t = (T(1) - e) / (T(1) + e);
        return s < Vector<T>{} ? -t : t;
    } else {
        return s;
    }
}

// ------------------------------------------------------------------------- rows against a packed panel

#if KDSL_WIDTH == 64
constexpr Size kRows = 12;
#else
constexpr Size kRows = 4;
#endif

// s[r][v] = row_bias[r] + panel_bias + sum over features, for kRows rows and two vectors of points.
template <bool absolute, Size count, class T>
inline void sums(const T* rows, const T* row_bias, Size features, const T* panel, const T* panel_bias,
                 Vector<T> (&s)[count][2]) {
    constexpr Int L = kLanes<T>;
    const auto bias0 = load<T>(panel_bias), bias1 = load<T>(panel_bias + L);
    for (Size r = 0; r < count; ++r) {
        s[r][0] = bias0 + row_bias[r];
        s[r][1] = bias1 + row_bias[r];
    }
    for (Size j = 0; j < features; ++j) {
        const auto z0 = load<T>(panel + j * kPanel<T>), z1 = load<T>(panel + j * kPanel<T> + L);
        for (Size r = 0; r < count; ++r) {
            const auto x = splat<T>(rows[r * features + j]);
            if constexpr (absolute) {
                const auto d0 = x - z0, d1 = x - z1;
                s[r][0] -= greatest(d0, -d0);
                s[r][1] -= greatest(d1, -d1);
            } else {
                s[r][0] += x * z0;
                s[r][1] += x * z1;
            }
        }
    }
}

template <Kind kind, Size count, class T, class Use>
inline void group(int degree, const T* rows, const T* row_bias, Size features, const T* panel, const T* panel_bias,
                  Use use) {
    for (Size lane = 0; lane < kPanel<T>; lane += 2 * Size(kLanes<T>)) {
        Vector<T> s[count][2];
        sums<kind == Kind::laplacian, count, T>(rows, row_bias, features, panel + lane, panel_bias + lane, s);
        for (Size r = 0; r < count; ++r)
            use(r, lane, value<kind, T>(s[r][0], degree), value<kind, T>(s[r][1], degree));
    }
}

template <Kind kind, class T, class Use>
inline void each(int degree, const T* rows, const T* row_bias, Size count, Size features, const T* panel,
                 const T* panel_bias, Use use) {
    Size r = 0;
    for (; r + kRows <= count; r += kRows)
        group<kind, kRows>(degree, rows + r * features, row_bias + r, features, panel, panel_bias,
                           [&](Size i, Size lane, Vector<T> a, Vector<T> b) { use(r + i, lane, a, b); });
    for (; r < count; ++r)
        group<kind, 1>(degree, rows + r * features, row_bias + r, features, panel, panel_bias,
                       [&](Size, Size lane, Vector<T> a, Vector<T> b) { use(r, lane, a, b); });
}

template <class Call>
inline void by_kind(Kind kind, Call call) {
    switch (kind) {
        case Kind::linear: return call.template operator()<Kind::linear>();
        case Kind::polynomial: return call.template operator()<Kind::polynomial>();
        case Kind::gaussian: return call.template operator()<Kind::gaussian>();
        case Kind::laplacian: return call.template operator()<Kind::laplacian>();
        case Kind::sigmoid: return call.template operator()<Kind::sigmoid>();
    }
}

template <class T>
void block(Kind kind, int degree, const T* rows, const T* row_bias, Size count, Size features, const T* panel,
           const T* panel_bias, T* out, Size stride) {
    by_kind(kind, [&]<Kind k>() {
        each<k, T>(degree, rows, row_bias, count, features, panel, panel_bias,
                   [&](Size r, Size lane, Vector<T> a, Vector<T> b) {
                       store<T>(out + r * stride + lane, a);
                       store<T>(out + r * stride + lane + kLanes<T>, b);
                   });
    });
}

template <class T>
void accumulate(Kind kind, int degree, const T* rows, const T* row_bias, const T* coefficient, Size count,
                Size features, const T* panel, const T* panel_bias, T* out) {
    by_kind(kind, [&]<Kind k>() {
        each<k, T>(degree, rows, row_bias, count, features, panel, panel_bias,
                   [&](Size r, Size lane, Vector<T> a, Vector<T> b) {
                       store<T>(out + lane, load<T>(out + lane) + coefficient[r] * a);
                       store<T>(out + lane + kLanes<T>, load<T>(out + lane + kLanes<T>) + coefficient[r] * b);
                   });
    });
}

// For the Laplacian kernel the packed bias holds -||x||_1, to which each nonzero z adds |x| - |x - z|.
template <class T>
void sparse(Kind kind, int degree, const T* packed, const T* packed_bias, const std::int32_t* feature, const T* at,
            Size nonzeros, T bias, T* out) {
    by_kind(kind, [&]<Kind k>() {
        for (Size lane = 0; lane < kPanel<T>; lane += Size(kLanes<T>)) {
            auto s = load<T>(packed_bias + lane) + bias;
            for (Size e = 0; e < nonzeros; ++e) {
                const auto x = load<T>(packed + Size(feature[e]) * kPanel<T> + lane);
                if constexpr (k == Kind::laplacian) {
                    const auto d = x - at[e];
                    s += greatest(x, -x) - greatest(d, -d);
                } else {
                    s += x * at[e];
                }
            }
            store<T>(out + lane, value<k, T>(s, degree));
        }
    });
}

}  // namespace

#define KDSL_JOIN(a, b) a##b
#define KDSL_TABLE(name) KDSL_JOIN(micro_, name)
#define KDSL_TEXT(name) #name
#define KDSL_QUOTE(name) KDSL_TEXT(name)

extern const Micro KDSL_TABLE(KDSL_NAME);
const Micro KDSL_TABLE(KDSL_NAME) = {
    KDSL_QUOTE(KDSL_NAME),
    {update<float, float>, second_order<float, float>},
    {update<double, float>, second_order<double, float>},
    {update<double, double>, second_order<double, double>},
    {block<float>, accumulate<float>, sparse<float>},
    {block<double>, accumulate<double>, sparse<double>},
    subtract,
};

}  // namespace kdsl
