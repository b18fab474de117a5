// Products with a whole kernel matrix; see kernel_product.hpp.
#include "kernel_product.hpp"

#include <algorithm>
#include <numeric>

namespace kdsl {

namespace {

// Rows of a tile, whose sum in single precision loses nothing that matters: whole panels, and as many as a micro-kernel
// holds in registers.
constexpr std::int64_t kTile = 192;

// A tile's sums over its rows, in vectors that are still to be added up, and a panel's values where several vectors share
// them.
template <class T>
struct Room {
    Aligned<T> across, sums, values;

    Room(std::int64_t many, std::size_t lanes)
        : across(aligned<T>(std::size_t(many * kTile) * lanes)),
          sums(aligned<T>(std::size_t(many) * kPanel<T>)),
          values(aligned<T>(many > 1 ? std::size_t(kTile) * kPanel<T> : 1)) {}
};

}  // namespace

template <class T>
std::vector<double> symmetric_product(const Form& form, const BothWays<T>& points, std::int64_t n,
                                      const std::vector<double>& v, const Micro& micro, Pool& pool) {
    constexpr std::int64_t P = kPanel<T>;
    static_assert(kTile % P == 0);
    const std::int64_t many = n > 0 ? std::int64_t(v.size()) / n : 0, tiles = (n + kTile - 1) / kTile;
    const std::int64_t length = tiles * kTile;  // from one vector to the next
    const Panels<T>& loops = micro.panels<T>();
    const std::size_t features = std::size_t(points.features), lanes = micro.width / sizeof(T);
    std::vector<T> weight(std::size_t(many * length), T(0));
    for (std::int64_t m = 0; m < many; ++m) std::copy_n(&v[m * n], n, &weight[m * length]);
    std::vector<double> by_rows(weight.size(), 0.0), by_columns(by_rows);
    std::vector<Room<T>> rooms;
    for (int w = 0; w < pool.size(); ++w) rooms.emplace_back(many, lanes);
    for (std::int64_t d = 0; 2 * d <= tiles; ++d) {
        const std::int64_t count = 2 * d == tiles && d > 0 ? tiles / 2 : tiles;
        pool.run(count, [&](std::int64_t i, int worker) {
            const std::int64_t j = (i + d) % tiles, top = i * kTile;
            const std::size_t rows = std::size_t(std::min(kTile, n - top));
            const T* const row = points.rows + std::size_t(top) * features;
            const T* const row_bias = points.row_biases + top;
            Room<T>& room = rooms[worker];
            T *const across = room.across.get(), *const sums = room.sums.get(), *const values = room.values.get();
            const std::size_t beside = kTile * lanes;
            std::fill_n(across, std::size_t(many) * beside, T(0));
            for (std::int64_t left = j * kTile; left < std::min(n, (j + 1) * kTile); left += P) {
                const T* const panel = points.panels + std::size_t(left) * features;
                const T* const bias = points.biases + left;
                std::fill_n(sums, many * P, T(0));
                if (many > 1) {
                    loops.block(form, row, row_bias, rows, features, panel, bias, values, P);
                    micro.shared<T>().sums(values, rows, &weight[top], std::size_t(length), std::size_t(many), sums);
                    if (d > 0)
                        micro.shared<T>().spread(values, rows, &weight[left], std::size_t(length), std::size_t(many),
                                                 across, beside);
                } else if (d == 0) {
                    loops.accumulate(form, row, row_bias, &weight[top], rows, features, panel, bias, sums);
                } else {
                    loops.both(form, row, row_bias, &weight[top], rows, features, panel, bias, &weight[left], sums,
                               across);
                }
                for (std::int64_t m = 0; m < many; ++m)
                    for (std::int64_t k = 0; k < P; ++k) by_columns[m * length + left + k] += double(sums[m * P + k]);
            }
            for (std::int64_t m = 0; d > 0 && m < many; ++m) {
                const T* const own = across + std::size_t(m) * beside;
                for (std::size_t r = 0; r < rows; ++r)
                    by_rows[m * length + top + r] += std::accumulate(own + r * lanes, own + (r + 1) * lanes, 0.0);
            }
        });
    }
    std::vector<double> out(v.size());
    for (std::int64_t m = 0; m < many; ++m)
        for (std::int64_t i = 0; i < n; ++i) out[m * n + i] = by_rows[m * length + i] + by_columns[m * length + i];
    return out;
}

template std::vector<double> symmetric_product(const Form&, const BothWays<float>&, std::int64_t,
                                               const std::vector<double>&, const Micro&, Pool&);
template std::vector<double> symmetric_product(const Form&, const BothWays<double>&, std::int64_t,
                                               const std::vector<double>&, const Micro&, Pool&);

}  // namespace kdsl
