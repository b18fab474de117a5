// Products with a whole kernel matrix; see kernel_product.hpp.
#include "kernel_product.hpp"

#include <algorithm>

#include "aligned.hpp"
#include "linear_table.hpp"

namespace kdsl {

namespace {

// Rows of a tile, which is to stay in a near cache.
constexpr std::int64_t kTile = 256;
static_assert(kTile % kRowPad == 0);

}  // namespace

std::vector<double> symmetric_product(KernelBlocks& kernel, const std::vector<double>& v, Pool& pool) {
    const std::int64_t n = std::int64_t(v.size()), tiles = (n + kTile - 1) / kTile;
    std::vector<std::vector<std::int64_t>> index(tiles);
    for (std::int64_t i = 0; i < n; ++i) index[i / kTile].push_back(i);
    // Padded to whole tiles with zeros; sums of tiles by their rows, and of those by their columns.
    std::vector<double> padded(v), by_rows(tiles * kTile, 0.0), by_columns(tiles * kTile, 0.0);
    padded.resize(tiles * kTile, 0.0);
    std::vector<Aligned<double>> rooms, sums;
    for (int w = 0; w < pool.size(); ++w) {
        rooms.push_back(aligned<double>(kTile * kTile));
        sums.push_back(aligned<double>(kTile));
    }
    const Micro& micro = choose_micro();
    const LinearLoops& loops = linear_loops();
    Pool alone(1, {});
    for (std::int64_t d = 0; 2 * d <= tiles; ++d) {
        const std::int64_t count = 2 * d == tiles ? tiles / 2 : tiles;
        pool.run(count, [&](std::int64_t i, int worker) {
            const std::int64_t j = (i + d) % tiles;
            const std::int64_t rows = std::int64_t(index[i].size()), columns = std::int64_t(index[j].size());
            double* const tile = rooms[worker].get();
            kernel.block<double>(index[i], index[j], tile, kTile, alone);
            for (std::int64_t r = 0; r < rows && columns < kTile; ++r)
                std::fill(tile + r * kTile + columns, tile + r * kTile + kTile, 0.0);
            double* const sum = sums[worker].get();
            loops.up(tile, rows, kTile, &padded[j * kTile], sum);
            for (std::int64_t r = 0; r < rows; ++r) by_rows[i * kTile + r] += sum[r];
            for (std::int64_t r = 0; d > 0 && r < rows; r += 4) {
                const double* from[4];
                double by[4];
                for (std::int64_t p = 0; p < 4; ++p) {
                    from[p] = tile + std::min(r + p, rows - 1) * kTile;
                    by[p] = r + p < rows ? padded[i * kTile + r + p] : 0.0;
                }
                micro.combine_d(&by_columns[j * kTile], from, by, kTile);
            }
        });
    }
    std::vector<double> out(n);
    for (std::int64_t i = 0; i < n; ++i) out[i] = by_rows[i] + by_columns[i];
    return out;
}

}  // namespace kdsl
