// The values of kernels at sums over features, a vector of them at a time. Included by micro_loops.hpp, in its namespace.
//
// Exponentials are powers of 2: the points are scaled so that the sum is already in base 2. 2^x = 2^n 2^r with n the
// nearest integer; 2^r by a polynomial of degree 5 (float, relative error 2e-7) or 11 (double, 6e-18), 1 at r = 0,
// fitted by Chebyshev interpolation; 2^n is added to the exponent's bits. With 64 bytes a table of roots fits in two
// registers: n is then a multiple of 1/32 (float) or 1/16 (double) and the degrees are 2 (5e-8) and 6 (8e-18).
#pragma once

// 2^x for x <= 0 above the smallest exponent; a little above 0 does no harm.
#if KDSL_WIDTH == 64
// The bits of 2^(k/32) and of 2^(k/16), less k at the place where adding x leaves it; a permutation looks them up.
alignas(64) constexpr std::int32_t kRoots32[32] = {
    0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f, 0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3, 0x3f78f4f0,
    0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043, 0x3f75fed7, 0x3f75a15b, 0x3f75583f, 0x3f7523f6,
    0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d, 0x3f75672a, 0x3f75b9be, 0x3f76248c, 0x3f76a81e,
    0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907, 0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3};
alignas(64) constexpr std::int64_t kRoots16[16] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da};

inline Vector<float> power_of_two(Vector<float> x) {
    const auto shift = splat(393216.0f);  // 1.5 * 2^18: adding it rounds to a 32nd in the low bits
    const auto t = x + shift;
    const auto r = x - (t - shift);
    const __m512i bits = (__m512i)t;
    const __m512i root = _mm512_permutex2var_epi32(_mm512_load_si512(kRoots32), bits,
                                                   _mm512_load_si512(kRoots32 + 16));
    auto p = splat(0.24022885513515237944f);
    p = p * r + 0.69315734366577993251f;
    p = p * r + 1.0f;
    return p * (Vector<float>)_mm512_add_epi32(root, _mm512_slli_epi32(bits, 18));
}
inline Vector<double> power_of_two(Vector<double> x) {
    const auto shift = splat(422212465065984.0);  // 1.5 * 2^48: a 16th
    const auto t = x + shift;
    const auto r = x - (t - shift);
    const __m512i bits = (__m512i)t;
    const __m512i root = _mm512_permutex2var_epi64(_mm512_load_si512(kRoots16), bits,
                                                   _mm512_load_si512(kRoots16 + 8));
    auto p = splat(0.0001540353039338160995444);
    p = p * r + 0.00133338188132659151492;
    p = p * r + 0.009618129107628477161979;
    p = p * r + 0.05550410865209370702972;
    p = p * r + 0.2402265069591007123336;
    p = p * r + 0.6931471805599468631127;
    p = p * r + 1.0;
    return p * (Vector<double>)_mm512_add_epi64(root, _mm512_slli_epi64(bits, 48));
}
#else
inline Vector<float> power_of_two(Vector<float> x) {
    const auto shift = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
    const auto t = x + shift;
    const auto r = x - (t - shift);
    auto p = splat(0.001338130253732079618f);
    p = p * r + 0.009666368515385448309f;
    p = p * r + 0.055503810137964574299f;
    p = p * r + 0.24022349038020361372f;
    p = p * r + 0.69314718055994530942f;
    p = p * r + 1.0f;
    return (Vector<float>)((Index<float>)p + ((Index<float>)t << 23));
}
inline Vector<double> power_of_two(Vector<double> x) {
    const auto shift = splat(6755399441055744.0);  // 1.5 * 2^52
    const auto t = x + shift;
    const auto r = x - (t - shift);
    auto p = splat(4.4549605981865183938e-10);
    p = p * r + 7.0725859492692236999e-9;
    p = p * r + 1.0178062445845773521e-7;
    p = p * r + 1.3215442587921689653e-6;
    p = p * r + 0.000015252733829836118394;
    p = p * r + 0.00015403530441736050155;
    p = p * r + 0.001333355814641693531;
    p = p * r + 0.0096181291076068885273;
    p = p * r + 0.055504108664821594339;
    p = p * r + 0.2402265069591009822;
    p = p * r + 0.69314718055994530942;
    p = p * r + 1.0;
    return (Vector<double>)((Index<double>)p + ((Index<double>)t << 52));
}
#endif

// The same; what would be below the smallest normal number is that number.
inline Vector<float> power_of_any(Vector<float> x) { return power_of_two(greatest(x, splat(-126.0f))); }
inline Vector<double> power_of_any(Vector<double> x) { return power_of_two(greatest(x, splat(-1022.0))); }

template <Kind kind, class T>
inline Vector<T> value(Vector<T> s, int degree) {
    if constexpr (kind == Kind::polynomial) {
        auto power = splat<T>(1);
        for (int e = degree; e > 0; e >>= 1, s = s * s)
            if (e & 1) power = power * s;
        return power;
    } else if constexpr (kind == Kind::gaussian || kind == Kind::laplacian) {
        return power_of_any(least(s, Vector<T>{}));
    } else if constexpr (kind == Kind::gaussian_near) {
        return power_of_two(s);
    } else if constexpr (kind == Kind::sigmoid) {
        auto size = magnitude(s);
        auto e = power_of_any(size * T(-2 * 1.44269504088896340736));
        auto t = (T(1) - e) / (T(1) + e);
        return s < Vector<T>{} ? -t : t;
    } else {
        return s;
    }
}
