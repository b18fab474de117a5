// Passes over a stored row: the extremes of a gradient, steps along rows, the partner of a coordinate, sums of rows.
// Included by micro_loops.hpp, in its namespace.
#pragma once

// The largest and the smallest lane, and the first that is x, -1 where none is.
#if KDSL_WIDTH == 64
inline float least_lane(Vector<float> v) { return _mm512_reduce_min_ps(v); }
inline double least_lane(Vector<double> v) { return _mm512_reduce_min_pd(v); }
inline float greatest_lane(Vector<float> v) { return _mm512_reduce_max_ps(v); }
inline double greatest_lane(Vector<double> v) { return _mm512_reduce_max_pd(v); }
inline Int first_of(unsigned mask) { return mask == 0 ? -1 : __builtin_ctz(mask); }
inline Int lane_of(Vector<float> v, float x) { return first_of(_mm512_cmpeq_ps_mask(v, splat(x))); }
inline Int lane_of(Vector<double> v, double x) { return first_of(_mm512_cmpeq_pd_mask(v, splat(x))); }
#elif defined(KDSL_NEON)
inline float least_lane(Vector<float> v) { return vminnmvq_f32(v); }
inline double least_lane(Vector<double> v) { return vminnmvq_f64(v); }
inline float greatest_lane(Vector<float> v) { return vmaxnmvq_f32(v); }
inline double greatest_lane(Vector<double> v) { return vmaxnmvq_f64(v); }
// Of a mask each lane's lower half: 64 bits, so many to a lane.
inline Int first_of(std::uint64_t mask, int bits) { return mask == 0 ? -1 : __builtin_ctzll(mask) / bits; }
inline Int lane_of(Vector<float> v, float x) {
    return first_of(vget_lane_u64(vreinterpret_u64_u16(vmovn_u32(vceqq_f32(v, splat(x)))), 0), 16);
}
inline Int lane_of(Vector<double> v, double x) {
    return first_of(vget_lane_u64(vreinterpret_u64_u32(vmovn_u64(vceqq_f64(v, splat(x)))), 0), 32);
}
#else
template <class V>
inline auto least_lane(V v) {
    auto x = v[0];
    for (Size l = 1; l < sizeof v / sizeof x; ++l) x = v[l] < x ? v[l] : x;
    return x;
}
template <class V>
inline auto greatest_lane(V v) {
    auto x = v[0];
    for (Size l = 1; l < sizeof v / sizeof x; ++l) x = v[l] > x ? v[l] : x;
    return x;
}
template <class V, class T>
inline Int lane_of(V v, T x) {
    for (Size l = 0; l < sizeof v / sizeof x; ++l)
        if (v[l] == x) return Int(l);
    return -1;
}
#endif

// Of each lane the best value of a scan and the chunk of kVectors vectors that it was in.
constexpr Int kVectors = 4;

template <class T>
struct Best {
    Vector<T> value;
    Index<T> chunk;

    explicit Best(T start) : value(splat<T>(start)), chunk(Index<T>{} - 1) {}
    void keep_less(Vector<T> x, Index<T> at) {
        const auto less = x < value;
        value = least(value, x);
        chunk = less ? at : chunk;
    }
    void keep_greater(Vector<T> x, Index<T> at) {
        const auto greater = x > value;
        value = greatest(value, x);
        chunk = greater ? at : chunk;
    }
    // The chunk of the first lane with this value.
    Int chunk_of(T x) const { return chunk[lane_of(value, x)]; }
};

// Where in the chunk at k the vectors `vector(k)` are x, k + kVectors vectors where none is.
template <class T, class Several>
inline __attribute__((always_inline)) Int place_in(Int k, T x, Several vector) {
    const Int end = k + kVectors * kLanes<T>;
    for (; k < end; k += kLanes<T>)
        if (const Int lane = lane_of(vector(k), x); lane >= 0) return k + lane;
    return end;
}

// The extremes of f + above and f + below, where vector(k) and one(k) give f from k on, and f holds it afterwards.
template <class T, class Several, class One>
inline __attribute__((always_inline)) Extremes<T> scan(const T* f, const T* above, const T* below, Int n,
                                                       Several vector, One one) {
    constexpr Int L = kLanes<T>;
    const T inf = Lane<T>::infinity;
    Best<T> rise(inf), fall(-inf);
    Int k = 0;
    for (; k + kVectors * L <= n; k += kVectors * L) {
        const Vector<T> f0 = vector(k), f1 = vector(k + L), f2 = vector(k + 2 * L), f3 = vector(k + 3 * L);
        const auto up = [=](Vector<T> v, Int i) __attribute__((always_inline)) { return v + load<T>(above + i); };
        const auto down = [=](Vector<T> v, Int i) __attribute__((always_inline)) { return v + load<T>(below + i); };
        const Index<T> at = Index<T>{} + typename Lane<T>::Place(k);
        rise.keep_less(least(least(up(f0, k), up(f1, k + L)), least(up(f2, k + 2 * L), up(f3, k + 3 * L))), at);
        fall.keep_greater(
            greatest(greatest(down(f0, k), down(f1, k + L)), greatest(down(f2, k + 2 * L), down(f3, k + 3 * L))), at);
    }
    Extremes<T> out{least_lane(rise.value), -1, greatest_lane(fall.value), -1};
    if (out.rise < inf)
        out.riser = place_in(rise.chunk_of(out.rise), out.rise, [=](Int i) __attribute__((always_inline)) {
            return load<T>(f + i) + load<T>(above + i);
        });
    if (out.fall > -inf)
        out.faller = place_in(fall.chunk_of(out.fall), out.fall, [=](Int i) __attribute__((always_inline)) {
            return load<T>(f + i) + load<T>(below + i);
        });
    for (; k + L <= n; k += L) {
        const Vector<T> v = vector(k), up = v + load<T>(above + k), down = v + load<T>(below + k);
        if (const T x = least_lane(up); x < out.rise) out.rise = x, out.riser = k + lane_of(up, x);
        if (const T x = greatest_lane(down); x > out.fall) out.fall = x, out.faller = k + lane_of(down, x);
    }
    for (; k < n; ++k) {
        const T v = one(k);
        if (v + above[k] < out.rise) out.rise = v + above[k], out.riser = k;
        if (v + below[k] > out.fall) out.fall = v + below[k], out.faller = k;
    }
    return out;
}

template <class T>
Extremes<T> extremes(const T* f, const T* above, const T* below, Int n) {
    return scan<T>(
        f, above, below, n, [=](Int k) __attribute__((always_inline)) { return load<T>(f + k); },
        [=](Int k) __attribute__((always_inline)) { return f[k]; });
}

template <class T, class K>
Extremes<T> update(T* f, const K* a, const K* b, T da, T db, const T* above, const T* below, Int n) {
    const auto DA = splat<T>(da), DB = splat<T>(db);
    return scan<T>(
        f, above, below, n,
        [=](Int k) __attribute__((always_inline)) {
            const auto v = load<T>(f + k) + DA * load_as(a + k, T()) + DB * load_as(b + k, T());
            store<T>(f + k, v);
            return v;
        },
        [=](Int k) __attribute__((always_inline)) { return f[k] += da * T(a[k]) + db * T(b[k]); });
}

// v^2 / c for a comparison: to 14 bits where that is quicker.
template <class T>
inline Vector<T> gain(Vector<T> v, Vector<T> c) {
    return v * v / c;
}
#if KDSL_WIDTH == 64
template <>
inline Vector<float> gain<float>(Vector<float> v, Vector<float> c) {
    return v * v * (Vector<float>)_mm512_rcp14_ps(c);
}
template <>
inline Vector<double> gain<double>(Vector<double> v, Vector<double> c) {
    return v * v * (Vector<double>)_mm512_rcp14_pd(c);
}
#endif

template <class T, class K>
Int second_order(const T* f, const T* below, const K* row, const T* diagonal, T rise, T own, T floor, Int n) {
    constexpr Int L = kLanes<T>;
    constexpr T kLeast = sizeof(T) == sizeof(float) ? T(0x1p-126) : T(0x1p-1022);  // a curvature of 0 makes no gain of 0/0
    const auto R = splat<T>(rise), O = splat<T>(own), F = splat<T>(floor), M = splat<T>(kLeast), zero = Vector<T>{};
    const auto gains = [=](Int k) __attribute__((always_inline)) {
        const auto v = greatest(load<T>(f + k) + load<T>(below + k) - R, zero), s = O + load<T>(diagonal + k);
        return gain<T>(v, greatest(s - T(2) * load_as(row + k, T()), F * s + M));
    };
    Best<T> most(T(0));
    Int k = 0;
    for (; k + kVectors * L <= n; k += kVectors * L)
        most.keep_greater(greatest(greatest(gains(k), gains(k + L)), greatest(gains(k + 2 * L), gains(k + 3 * L))),
                          Index<T>{} + typename Lane<T>::Place(k));
    T best = greatest_lane(most.value);
    Int place = best > 0 ? place_in(most.chunk_of(best), best, gains) : -1;
    for (; k + L <= n; k += L) {
        const auto v = gains(k);
        if (const T x = greatest_lane(v); x > best) best = x, place = k + lane_of(v, x);
    }
    for (; k < n; ++k) {
        T v = f[k] + below[k] - rise, s = own + diagonal[k], c = s - T(2) * T(row[k]);
        c = c > floor * s + kLeast ? c : floor * s + kLeast;
        if (v > 0 && v * v / c > best) best = v * v / c, place = k;
    }
    return place;
}

inline Int greater(const double* f, const double* side, double sign, double by, double least, Int first, Int n,
                   double* value, Int* place) {
    Int count = 0, k = 0;
#if KDSL_WIDTH == 64
    const auto numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    for (; k + 8 <= n; k += 8) {
        const auto v = sign * (load<double>(f + k) + load<double>(side + k)) + by;
        const __mmask8 more = _mm512_cmp_pd_mask(v, splat(least), _CMP_GT_OQ);
        _mm512_storeu_pd(value + count, _mm512_maskz_compress_pd(more, v));
        _mm512_storeu_si512(place + count,
                            _mm512_maskz_compress_epi64(more, _mm512_add_epi64(numbers, _mm512_set1_epi64(first + k))));
        count += __builtin_popcount(more);
    }
#endif
    for (; k < n; ++k) {  // no branch: which ones are greater cannot be predicted
        value[count] = sign * (f[k] + side[k]) + by;
        place[count] = first + k;
        count += value[count] > least;
    }
    return count;
}

template <class K>
double dot(const K* a, const double* b, Int n) {
    constexpr Int L = kLanes<double>;
    Vector<double> sums[kVectors] = {};
    Int k = 0;
    for (; k + kVectors * L <= n; k += kVectors * L)
        for (Int v = 0; v < kVectors; ++v) sums[v] += load_as(a + k + v * L, 0.0) * load<double>(b + k + v * L);
    const auto sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double out = 0;
    for (Int l = 0; l < L; ++l) out += sum[l];
    for (; k < n; ++k) out += double(a[k]) * b[k];
    return out;
}

template <class K>
void combine(double* to, const K* const* from, const double* by, Int n) {
    constexpr Int L = kLanes<double>;
    const K *p0 = from[0], *p1 = from[1], *p2 = from[2], *p3 = from[3];
    const auto b0 = splat(by[0]), b1 = splat(by[1]), b2 = splat(by[2]), b3 = splat(by[3]);
    Int j = 0;
    for (; j + L <= n; j += L)
        store<double>(to + j, load<double>(to + j) + b0 * load_as(p0 + j, 0.0) + b1 * load_as(p1 + j, 0.0) +
                                  b2 * load_as(p2 + j, 0.0) + b3 * load_as(p3 + j, 0.0));
    for (; j < n; ++j)
        to[j] = to[j] + by[0] * double(p0[j]) + by[1] * double(p1[j]) + by[2] * double(p2[j]) + by[3] * double(p3[j]);
}
