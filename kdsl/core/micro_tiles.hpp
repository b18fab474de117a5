// Sums over parts of features by tiles of a matrix unit (Intel AMX); included by micro_loops.hpp, in its namespace.
//
// Features are 2^16 a + 2^8 b + c (limb_points.hpp), so that a product of two is 2^32 aa' + 2^24 (ab' + ba') +
// 2^16 (ac' + bb' + ca') and terms that are smaller than what single precision keeps of a sum. Each of the three
// levels is an exact sum of integers in 32 bits; they meet in single precision.

struct alignas(64) Palette {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};  // of a row of each tile,
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};    // and its rows
};
constexpr Palette kPalette;

// Tiles are configured while this lives; without it the unit keeps nothing that a switch of threads would have to save.
struct Configured {
    Configured() { _tile_loadconfig(&kPalette); }
    ~Configured() { _tile_release(); }
};

constexpr Size kChunk = Size(kTileRow * kParts);  // Limbs of a point that belong to the same features
constexpr Size kTogether = 4;                     // chunks whose parts stay in the nearest cache for all levels
constexpr Size kRowBytes = 128;                   // of a panel, and of the sums

// The highest levels of sums of kTileRows rows and the points of a panel, row by row.
template <Size levels>
inline void sums_of(const Limbs* rows, Size features, const Limbs* panel, std::int32_t* sums) {
    const Size stride = features * sizeof(Limbs), half = Size(kTileRow);
    for (Size first = 0; first < features; first += kTogether * kChunk) {
        const Size last = first + kTogether * kChunk < features ? first + kTogether * kChunk : features;
        for (Size level = 0; level < levels; ++level) {
            std::int32_t* const to = sums + level * Size(kTileRows) * kPanel<Limbs>;
            if (first == 0) {
                _tile_zero(0);
                _tile_zero(1);
                _tile_zero(2);
                _tile_zero(3);
            } else {
                _tile_loadd(0, to, kRowBytes);
                _tile_loadd(1, to + half, kRowBytes);
                _tile_loadd(2, to + half * kPanel<Limbs>, kRowBytes);
                _tile_loadd(3, to + half * kPanel<Limbs> + half, kRowBytes);
            }
            for (Size chunk = first; chunk < last; chunk += kChunk)
                for (Size part = 0; part <= level; ++part) {
                    const Limbs* const row = rows + chunk + part * half;
                    const Limbs* const column = panel + (chunk + (level - part) * half) * kPanel<Limbs>;
                    _tile_loadd(4, row, stride);
                    _tile_loadd(5, row + half * features, stride);
                    _tile_loadd(6, column, kRowBytes);
                    _tile_loadd(7, column + half, kRowBytes);
                    _tile_dpbssd(0, 4, 6);
                    _tile_dpbssd(1, 4, 7);
                    _tile_dpbssd(2, 5, 6);
                    _tile_dpbssd(3, 5, 7);
                }
            _tile_stored(0, to, kRowBytes);
            _tile_stored(1, to + half, kRowBytes);
            _tile_stored(2, to + half * kPanel<Limbs>, kRowBytes);
            _tile_stored(3, to + half * kPanel<Limbs> + half, kRowBytes);
        }
    }
}

// The values of `count` rows at a panel's points, as each() in micro_loops.hpp hands them out, from so many levels.
template <Kind kind, Size levels, class Use>
inline __attribute__((always_inline)) void each_of(int degree, const Limbs* rows, const Scaled* row_bias, Size count,
                                                   Size features, const Limbs* panel, const Scaled* panel_bias,
                                                   Use use) {
    constexpr Size L = Size(kLanes<float>), P = kPanel<Limbs>, level = Size(kTileRows) * P;
    alignas(64) std::int32_t sums[levels * level];
    alignas(64) float bias[P], unit[P];
    for (Size k = 0; k < P; ++k) bias[k] = panel_bias[k].bias, unit[k] = panel_bias[k].unit;
    const auto bias0 = load<float>(bias), bias1 = load<float>(bias + L);
    const auto unit0 = load<float>(unit), unit1 = load<float>(unit + L);
    const auto sum = [&](const std::int32_t* at) __attribute__((always_inline)) {
        auto all = Vector<float>{};
        for (Size k = 0; k < Size(kParts); ++k) {
            if (k > 0) all *= 256.0f;
            if (k < levels) all += __builtin_convertvector(load<Pair>(at + k * level), Vector<float>);
        }
        return all;
    };
    const Configured tiles;
    for (Size first = 0; first < count; first += Size(kTileRows)) {
        sums_of<levels>(rows + first * features, features, panel, sums);
        const Size some = count - first < Size(kTileRows) ? count - first : Size(kTileRows);
#pragma GCC unroll 2
        for (Size r = 0; r < some; ++r) {
            const Scaled& own = row_bias[first + r];
            const auto s0 = sum(sums + r * P) * (unit0 * own.unit) + (bias0 + own.bias);
            const auto s1 = sum(sums + r * P + L) * (unit1 * own.unit) + (bias1 + own.bias);
            use(first + r, value<kind, float>(s0, degree), value<kind, float>(s1, degree));
        }
    }
}

template <Kind kind, Size, class Use>
inline __attribute__((always_inline)) void each(const Form& form, const Limbs* rows, const Scaled* row_bias, Size count,
                                                Size features, const Limbs* panel, const Scaled* panel_bias, Use use) {
    if (form.rough) return each_of<kind, 2>(form.degree, rows, row_bias, count, features, panel, panel_bias, use);
    each_of<kind, Size(kParts)>(form.degree, rows, row_bias, count, features, panel, panel_bias, use);
}

// Eight features of a point, less the centre.
inline Vector<double> eight(const double* x, const double* centre) {
    return centre == nullptr ? load<double>(x) : load<double>(x) - load<double>(centre);
}
inline Vector<double> eight(const float* x, const double* centre) {
    const auto v = load_as(x, 0.0);
    return centre == nullptr ? v : v - load<double>(centre);
}

// The least power of two above x.
inline double power_above(double x) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof x);
    bits = (bits & 0x7ff0000000000000) + 0x0010000000000000;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T>
Steps split(const T* x, const double* centre, double scale, Size features, Limbs* to) {
    constexpr Size L = Size(kLanes<double>), F = Size(kTileRow) * 4;  // features of a chunk
    constexpr double kMost = 8355711;                                 // 127 * (2^16 + 2^8 + 1)
    const auto at = [&](Size j) {  // from feature j on, the last ones with zeros behind them
        if (j + L <= features) return eight(x + j, centre == nullptr ? nullptr : centre + j);
        T some[L] = {};
        double less[L] = {};
        for (Size k = j; k < features; ++k) some[k - j] = x[k], less[k - j] = centre == nullptr ? 0.0 : centre[k];
        return eight(some, less);
    };
    auto most = Vector<double>{};
    auto odd = Vector<double>{};  // not 0 where a feature is not a finite number
    for (Size j = 0; j < features; j += L) {
        const auto v = at(j);
        most = greatest(magnitude(v), most);
        odd += v - v;
    }
    double largest = 0, wrong = 0;
    for (Size k = 0; k < L; ++k) largest = most[k] > largest ? most[k] : largest, wrong += odd[k];
    // Where all features are one with the centre, any step will do; one of another size makes the point infinite.
    largest *= scale;
    const double step = power_above(largest > 1e-280 && largest < 1e280 ? largest / kMost : 1e-280);
    const auto many = splat(scale / step);
    auto square = Vector<double>{};
    for (Size first = 0; first < features; first += F) {
        auto* const byte = reinterpret_cast<unsigned char*>(to + first / F * kChunk);
        for (Size j = first; j < first + F; j += 2 * L) {
            Vector<double> q[2] = {};
            for (Size h = 0; h < 2; ++h)
                if (j + h * L < features) {
                    q[h] = (Vector<double>)_mm512_roundscale_pd((__m512d)(at(j + h * L) * many), 0);
                    square += q[h] * q[h];
                }
            const __m512i whole = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtpd_epi32((__m512d)q[0])),
                                                     _mm512_cvtpd_epi32((__m512d)q[1]), 1);
            const __m512i c = _mm512_srai_epi32(_mm512_slli_epi32(whole, 24), 24);
            const __m512i upper = _mm512_srai_epi32(_mm512_sub_epi32(whole, c), 8);
            const __m512i b = _mm512_srai_epi32(_mm512_slli_epi32(upper, 24), 24);
            const __m512i a = _mm512_srai_epi32(_mm512_sub_epi32(upper, b), 8);
            const __m512i part[kParts] = {a, b, c};
            for (Size p = 0; p < Size(kParts); ++p)
                _mm_storeu_si128(reinterpret_cast<__m128i*>(byte + p * F + (j - first)),
                                 _mm512_cvtepi32_epi8(part[p]));
        }
    }
    double sum = 0;
    for (Size k = 0; k < L; ++k) sum += square[k];
    return {step, wrong == 0 && largest < 1e280 ? sum : __builtin_inf()};
}
