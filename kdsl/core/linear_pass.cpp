// Passes over explicit rows in blocks that stay in the cache; see linear_pass.hpp.
#include "linear_pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "aligned.hpp"
#include "micro.hpp"

namespace kdsl {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kPartRows = 4096;  // rows below which another thread is not worth waking
constexpr std::int64_t kWide = 128;       // columns from which on one part a thread saves the memory of partial sums

enum class Verdict { point, inside, open };

struct Judged {
    Verdict verdict;
    double t;
    std::int64_t piece;
};

// Where t_k is for every price in [low, high]: at one point, inside one curved piece, or not known.
Judged judge(const SeparableView& h, std::int64_t k, double low, double high) {
    const std::int64_t first = h.offsets[k], last = h.offsets[k + 1] - 1;
    if (h.left[first] == h.right[last]) return {Verdict::point, h.left[first], first};
    double below = -kInf;  // the slope at the end of the piece before
    for (std::int64_t p = first; p <= last; ++p) {
        const double begin = h.left[p] == -kInf ? (h.curvature[p] > 0 ? -kInf : h.slope[p])
                                                : h.curvature[p] * h.left[p] + h.slope[p];
        const double end = h.right[p] == kInf ? (h.curvature[p] > 0 ? kInf : h.slope[p])
                                              : h.curvature[p] * h.right[p] + h.slope[p];
        if (low > below && high < begin && std::isfinite(h.left[p])) return {Verdict::point, h.left[p], p};
        if (h.curvature[p] > 0 && low > begin && high < end) return {Verdict::inside, kNaN, p};
        below = end;
    }
    if (low > below && std::isfinite(h.right[last])) return {Verdict::point, h.right[last], last};
    return {Verdict::open, kNaN, first};
}

}  // namespace

const LinearLoops& linear_loops() {
#if defined(__x86_64__)
    const std::string_view name = choose_micro().name;
    if (name == "avx512" || name == "amx") return linear_avx512;
    if (name == "avx2") return linear_avx2;
#endif
    return linear_portable;
}

// The buffers of one part.
struct LinearPass::Room {
    explicit Room(std::int64_t width)
        : block(aligned<double>(kBlockRows * width)), scaled(aligned<double>(kBlockRows * width)) {
        std::fill_n(block.get(), kBlockRows * width, 0.0);
    }

    Aligned<double> block, scaled;
    double first[kBlockRows], second[kBlockRows];
};

LinearPass::LinearPass(const LinearSource& source, int threads)
    : source_(source),
      loops_(linear_loops()),
      width_((source.columns() + kRowPad - 1) / kRowPad * kRowPad),
      parts_(std::clamp<std::int64_t>(source.count / kPartRows, 1,
                                      std::max(1, threads) * (source.columns() < kWide ? 8 : 1))),
      pool_(int(std::min<std::int64_t>(std::max(1, threads), parts_)), [] {}) {}

void LinearPass::fill(std::int64_t first, std::int64_t rows, double* block) const {
    const std::int64_t d = source_.features, m = source_.rows;
    for (std::int64_t i = 0; i < rows; ++i) {
        double* to = block + i * width_;
        const double* x = source_.points + (first + i) * d;
        const double by = source_.coefficient == nullptr ? 1.0 : source_.coefficient[first + i];
        for (std::int64_t j = 0; j < d; ++j) to[j] = by * x[j];
        for (std::int64_t j = 0; j < m; ++j) to[d + j] = source_.row[(first + i) * m + j];
    }
}

std::vector<double> LinearPass::padded(const double* v) const {
    std::vector<double> out(width_, 0.0);
    std::copy(v, v + source_.columns(), out.begin());
    return out;
}

template <class Task>
void LinearPass::over_parts(const Task& task) {
    const std::int64_t blocks = (source_.count + kBlockRows - 1) / kBlockRows;
    pool_.run(parts_, [&](std::int64_t part, int) {
        Room room(width_);
        const std::int64_t end = blocks * (part + 1) / parts_;
        for (std::int64_t b = blocks * part / parts_; b < end; ++b) {
            const std::int64_t first = b * kBlockRows, rows = std::min(kBlockRows, source_.count - first);
            fill(first, rows, room.block.get());
            task(part, first, rows, room);
        }
    });
}

std::vector<double> LinearPass::line(const std::vector<std::vector<double>>& parts) const {
    std::vector<double> out(source_.columns(), 0.0);
    for (const auto& part : parts)
        for (std::int64_t j = 0; j < source_.columns(); ++j) out[j] += part[j];
    return out;
}

std::vector<double> LinearPass::square(const std::vector<std::vector<double>>& parts) const {
    const std::int64_t q = source_.columns();
    std::vector<double> out(q * q, 0.0);
    for (const auto& part : parts)
        for (std::int64_t i = 0; i < q && !part.empty(); ++i)
            for (std::int64_t j = i; j < q; ++j) out[i * q + j] += part[i * width_ + j];
    for (std::int64_t i = 0; i < q; ++i)
        for (std::int64_t j = 0; j < i; ++j) out[i * q + j] = out[j * q + i];
    return out;
}

std::vector<double> LinearPass::up(const double* v) {
    const std::vector<double> by = padded(v);
    std::vector<double> out(source_.count);
    over_parts([&](std::int64_t, std::int64_t first, std::int64_t rows, Room& room) {
        loops_.up(room.block.get(), rows, width_, by.data(), out.data() + first);
    });
    return out;
}

std::vector<double> LinearPass::squares() {
    const std::vector<double> one(width_, 1.0);
    std::vector<double> out(source_.count);
    over_parts([&](std::int64_t, std::int64_t first, std::int64_t rows, Room& room) {
        loops_.lengths(room.block.get(), rows, width_, one.data(), out.data() + first);
    });
    return out;
}

std::vector<double> LinearPass::down(const double* x) {
    std::vector<std::vector<double>> sums(parts_, std::vector<double>(width_, 0.0));
    over_parts([&](std::int64_t part, std::int64_t first, std::int64_t rows, Room& room) {
        loops_.down(room.block.get(), rows, width_, x + first, sums[part].data());
    });
    return line(sums);
}

std::vector<double> LinearPass::weigh(const double* weight) {
    std::vector<std::vector<double>> sums(parts_, std::vector<double>(width_ * width_, 0.0));
    over_parts([&](std::int64_t part, std::int64_t first, std::int64_t rows, Room& room) {
        loops_.weigh(room.block.get(), rows, width_, weight + first, room.scaled.get(), sums[part].data());
    });
    return square(sums);
}

PassDecision LinearPass::decide(const SeparableView& h, const double* v, const double* scale) {
    const std::vector<double> by = padded(v), metric = padded(scale);
    PassDecision out;
    out.t.resize(source_.count);
    std::vector<std::vector<double>> images(parts_, std::vector<double>(width_, 0.0)), curved(parts_);
    std::vector<std::vector<std::int64_t>> open(parts_);
    std::vector<double> costs(parts_, 0.0);
    over_parts([&](std::int64_t part, std::int64_t first, std::int64_t rows, Room& room) {
        double* price = room.first;
        double* length = room.second;
        loops_.up(room.block.get(), rows, width_, by.data(), price);
        loops_.lengths(room.block.get(), rows, width_, metric.data(), length);
        bool bent = false;
        for (std::int64_t i = 0; i < rows; ++i) {
            const double z = -price[i], away = std::sqrt(length[i]);
            const Judged judged = judge(h, first + i, z - away, z + away);
            out.t[first + i] = judged.t;
            price[i] = length[i] = 0;  // from here on what the row adds to the image and to the curvature
            if (judged.verdict == Verdict::point) {
                price[i] = judged.t;
                costs[part] += cost_at(h, judged.piece, judged.t);
            }
            if (judged.verdict == Verdict::inside) {
                length[i] = 1 / h.curvature[judged.piece];
                price[i] = -h.slope[judged.piece] * length[i];
                bent = true;
            }
            if (judged.verdict == Verdict::open) open[part].push_back(first + i);
        }
        loops_.down(room.block.get(), rows, width_, price, images[part].data());
        if (bent) {
            curved[part].resize(width_ * width_, 0.0);
            loops_.weigh(room.block.get(), rows, width_, length, room.scaled.get(), curved[part].data());
        }
    });
    out.image = line(images);
    out.curved = square(curved);
    for (const double cost : costs) out.cost += cost;
    for (const auto& part : open) out.undecided.insert(out.undecided.end(), part.begin(), part.end());
    return out;
}

PassMeasure LinearPass::measure(const SeparableView& h, const double* v, const double* t) {
    const std::vector<double> by = padded(v);
    PassMeasure out;
    out.t.assign(t, t + source_.count);
    std::vector<std::vector<double>> images(parts_, std::vector<double>(width_, 0.0));
    std::vector<PassMeasure> sums(parts_);
    over_parts([&](std::int64_t part, std::int64_t first, std::int64_t rows, Room& room) {
        loops_.up(room.block.get(), rows, width_, by.data(), room.first);
        PassMeasure& sum = sums[part];
        for (std::int64_t i = 0; i < rows; ++i) {
            double& own = out.t[first + i];
            const double z = -room.first[i];
            const Best best = best_for(h, first + i, z);
            if (std::isnan(own)) own = best.t;
            const double cost = cost_at(h, piece_of(h, first + i, own), own);
            sum.gap += cost + best.value - own * best.z;
            sum.cost += cost;
            sum.outside = std::max(sum.outside, std::abs(z - best.z));
        }
        loops_.down(room.block.get(), rows, width_, out.t.data() + first, images[part].data());
    });
    out.image = line(images);
    for (const PassMeasure& sum : sums) {
        out.gap += sum.gap;
        out.cost += sum.cost;
        out.outside = std::max(out.outside, sum.outside);
    }
    return out;
}

}  // namespace kdsl
