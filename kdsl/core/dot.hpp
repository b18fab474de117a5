// Inner products of rows that lie in memory one behind the other, summed in double precision.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

namespace kdsl {

template <class A>
double dot(const A* a, const double* b, std::int64_t n) {
    std::array<double, 8> sum{};
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (std::int64_t l = 0; l < 8; ++l) sum[l] += double(a[i + l]) * b[i + l];
    for (; i < n; ++i) sum[0] += double(a[i]) * b[i];
    return std::accumulate(sum.begin(), sum.end(), 0.0);
}

}  // namespace kdsl
