// Products with a whole kernel matrix; see kernel_product.hpp.
#include "kernel_product.hpp"

#include <algorithm>
#include <numeric>

namespace kdsl {

namespace {

// Rows of a tile, whose sum in single precision loses nothing that matters: whole panels, and as many as a micro-kernel
// holds in registers.
constexpr std::int64_t kTile = 192;

}  // namespace

template <class T>
std::vector<double> symmetric_product(const Form& form, const BothWays<T>& points, const std::vector<double>& v,
                                      const Micro& micro, Pool& pool) {
    constexpr std::int64_t P = kPanel<T>;
    static_assert(kTile % P == 0);
    const std::int64_t n = std::int64_t(v.size()), tiles = (n + kTile - 1) / kTile;
    const Panels<T>& loops = micro.panels<T>();
    const std::size_t features = std::size_t(points.features), lanes = micro.width / sizeof(T);
    std::vector<T> weight(v.begin(), v.end());
    weight.resize(std::size_t(tiles * kTile), T(0));
    std::vector<double> by_rows(std::size_t(tiles * kTile), 0.0), by_columns(by_rows);
    std::vector<Aligned<T>> rooms;
    for (int w = 0; w < pool.size(); ++w) rooms.push_back(aligned<T>(kTile * lanes));
    for (std::int64_t d = 0; 2 * d <= tiles; ++d) {
        const std::int64_t count = 2 * d == tiles && d > 0 ? tiles / 2 : tiles;
        pool.run(count, [&](std::int64_t i, int worker) {
            const std::int64_t j = (i + d) % tiles, top = i * kTile;
            const std::size_t rows = std::size_t(std::min(kTile, n - top));
            const T* const row = points.rows + std::size_t(top) * features;
            const T* const row_bias = points.row_biases + top;
            T* const across = rooms[worker].get();
            std::fill_n(across, kTile * lanes, T(0));
            for (std::int64_t left = j * kTile; left < std::min(n, (j + 1) * kTile); left += P) {
                alignas(64) T sums[P] = {};
                const T* const panel = points.panels + std::size_t(left) * features;
                const T* const bias = points.biases + left;
                if (d == 0)
                    loops.accumulate(form, row, row_bias, &weight[top], rows, features, panel, bias, sums);
                else
                    loops.both(form, row, row_bias, &weight[top], rows, features, panel, bias, &weight[left], sums,
                               across);
                for (std::int64_t k = 0; k < P; ++k) by_columns[left + k] += double(sums[k]);
            }
            for (std::size_t r = 0; d > 0 && r < rows; ++r)
                by_rows[top + r] += std::accumulate(across + r * lanes, across + (r + 1) * lanes, 0.0);
        });
    }
    std::vector<double> out(v.size());
    for (std::int64_t i = 0; i < n; ++i) out[i] = by_rows[i] + by_columns[i];
    return out;
}

template std::vector<double> symmetric_product(const Form&, const BothWays<float>&, const std::vector<double>&,
                                               const Micro&, Pool&);
template std::vector<double> symmetric_product(const Form&, const BothWays<double>&, const std::vector<double>&,
                                               const Micro&, Pool&);

}  // namespace kdsl
