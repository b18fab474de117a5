// Dual coordinate descent with the primal vector at hand; see row_descent.hpp.
#include "row_descent.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace kdsl {

namespace {

constexpr std::int64_t kPatience = 8;    // steps for each coordinate between two looks at the gap at most
constexpr std::int64_t kStagnant = 300;  // steps for each coordinate without a better gap, after which it is given up
constexpr std::int64_t kPoll = 4096, kPollNumbers = 1 << 20;  // steps, and numbers of rows, between looks at the clock

class Solver {
public:
    Solver(const SparseRows& rows, const SeparableView& h, std::vector<double> t, double constant, Control& control)
        : rows_(rows),
          h_(h),
          control_(control),
          constant_(constant),
          w_(rows.shift, rows.shift + rows.features),
          m_(rows.rows, 0.0),
          lacking_(rows.rows),
          square_(rows.count) {
        out_.t = std::move(t);
        double own = 0, other = 0;
        for (std::int64_t k = 0; k < rows.count; ++k) {
            for (std::int64_t e = rows.start[k]; e < rows.start[k + 1]; ++e) own += rows.value[e] * rows.value[e];
            for (std::int64_t i = 0; i < rows.rows; ++i) other += a(k, i) * a(k, i);
        }
        weight_ = own > 0 && other > 0 ? own / other : 1.0;
        for (std::int64_t k = 0; k < rows.count; ++k) {
            double& t_k = out_.t[k];
            t_k = std::clamp(t_k, h.left[h.offsets[k]], h.right[h.offsets[k + 1] - 1]);
            for (std::int64_t e = rows.start[k]; e < rows.start[k + 1]; ++e) {
                square_[k] += rows.value[e] * rows.value[e];
                w_[rows.feature[e]] += rows.value[e] * t_k;
            }
            for (std::int64_t i = 0; i < rows.rows; ++i) square_[k] += weight_ * a(k, i) * a(k, i);
        }
        recount();
    }

    Descent solve(double tolerance, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        std::vector<std::int64_t> active(rows_.count);
        std::iota(active.begin(), active.end(), 0);
        std::int64_t live = rows_.count, looked = 0, improved = 0;
        double wanted = kInfinity, clear = kInfinity;  // violations to reach, and beyond which a coordinate may rest
        try {
            measure();
            out_.reason = Reason::stalled;
            double best = out_.gap;
            while (out_.gap > tolerance && control_.iterations - improved < kStagnant * rows_.count) {
                const double worst = round(active, live, clear, random);
                ++out_.rounds;
                for (std::int64_t i = 0; i < rows_.rows; ++i) m_[i] += weight_ * lacking_[i];
                clear = worst > 0 ? worst : kInfinity;
                if (wanted == kInfinity) wanted = worst / 4;
                if (worst > wanted && control_.iterations - looked < kPatience * rows_.count) continue;
                recount();
                measure();
                control_.gap = out_.gap;
                looked = control_.iterations;
                if (out_.gap < 0.95 * best) improved = looked;
                best = std::min(best, out_.gap);
                if (worst <= wanted) {
                    if (live < rows_.count)
                        clear = kInfinity;  // what rests is looked at again
                    else
                        wanted /= 4;
                    live = rows_.count;
                }
            }
            if (out_.gap <= tolerance) out_.reason = Reason::solved;
        } catch (const Stopped& stopped) {
            out_.reason = stopped.reason;
            recount();
            measure();
        }
        out_.w = w_;
        out_.m = m_;
        out_.steps = control_.iterations;
        return std::move(out_);
    }

private:
    double a(std::int64_t k, std::int64_t i) const { return rows_.row[k * rows_.rows + i]; }

    // F_k w + A_k (m + weight lacking)
    double slope(std::int64_t k) const {
        double total = 0;
        for (std::int64_t e = rows_.start[k]; e < rows_.start[k + 1]; ++e)
            total += rows_.value[e] * w_[rows_.feature[e]];
        for (std::int64_t i = 0; i < rows_.rows; ++i) total += a(k, i) * (m_[i] + weight_ * lacking_[i]);
        return total;
    }

    // The minimiser of h_k(t) + g (t - from) + square/2 (t - from)^2.
    double best(std::int64_t k, double from, double g) const {
        const double square = square_[k], z = square * from - g;
        const std::int64_t last = h_.offsets[k + 1] - 1;
        std::int64_t p = h_.offsets[k];
        while (p < last && (square + h_.curvature[p]) * h_.right[p] + h_.slope[p] < z) ++p;
        const double bend = square + h_.curvature[p];
        if (bend > 0) return std::clamp((z - h_.slope[p]) / bend, h_.left[p], h_.right[p]);
        const double end = z > h_.slope[p] ? h_.right[p] : z < h_.slope[p] ? h_.left[p] : from;
        return std::isfinite(end) ? end : from;
    }

    // One step for each of the first `live` coordinates, in random order; those that may rest go behind them.
    double round(std::vector<std::int64_t>& active, std::int64_t& live, double clear, std::mt19937_64& random) {
        for (std::int64_t i = live - 1; i > 0; --i) std::swap(active[i], active[random() % std::uint64_t(i + 1)]);
        double worst = 0;
        for (std::int64_t i = 0; i < live;) {
            const std::int64_t k = active[i];
            ++control_.iterations;
            numbers_ += rows_.start[k + 1] - rows_.start[k];
            if (control_.iterations % kPoll == 0 || numbers_ > kPollNumbers) numbers_ = 0, control_.check();
            const double g = slope(k), before = out_.t[k];
            double below, above;
            sides(k, before, below, above);
            if (-g - below > clear && above + g > clear) {
                std::swap(active[i], active[--live]);
                continue;
            }
            worst = std::max({worst, below + g, -g - above});
            const double after = best(k, before, g), change = after - before;
            if (change != 0) {
                out_.t[k] = after;
                for (std::int64_t e = rows_.start[k]; e < rows_.start[k + 1]; ++e)
                    w_[rows_.feature[e]] += change * rows_.value[e];
                for (std::int64_t j = 0; j < rows_.rows; ++j) lacking_[j] += change * a(k, j);
            }
            ++i;
        }
        return worst;
    }

    // h_k'(t-) and h_k'(t+).
    void sides(std::int64_t k, double t, double& below, double& above) const {
        const std::int64_t first = h_.offsets[k], last = h_.offsets[k + 1] - 1;
        std::int64_t p = first;
        while (p < last && h_.right[p] <= t) ++p;
        above = t >= h_.right[p] ? kInfinity : h_.curvature[p] * t + h_.slope[p];
        while (p > first && h_.left[p] >= t) --p;
        below = t <= h_.left[p] ? -kInfinity : h_.curvature[p] * t + h_.slope[p];
    }

    // w and A't - a from t, without the rounding that single steps leave.
    void recount() {
        std::copy(rows_.shift, rows_.shift + rows_.features, w_.begin());
        for (std::int64_t i = 0; i < rows_.rows; ++i) lacking_[i] = -rows_.target[i];
        for (std::int64_t k = 0; k < rows_.count; ++k) {
            const double t = out_.t[k];
            if (t == 0) continue;
            for (std::int64_t e = rows_.start[k]; e < rows_.start[k + 1]; ++e)
                w_[rows_.feature[e]] += t * rows_.value[e];
            for (std::int64_t i = 0; i < rows_.rows; ++i) lacking_[i] += t * a(k, i);
        }
    }

    // The gap of t and (w, m): sum of h_k(t_k) + h_k*(z_k) - t_k z_k, and what the rows lack at these multipliers.
    void measure() {
        double gap = 0, cost = 0, outside = 0;
        for (std::int64_t k = 0; k < rows_.count; ++k) {
            double z = 0;
            for (std::int64_t e = rows_.start[k]; e < rows_.start[k + 1]; ++e)
                z -= rows_.value[e] * w_[rows_.feature[e]];
            for (std::int64_t i = 0; i < rows_.rows; ++i) z -= a(k, i) * m_[i];
            const Best best = best_for(h_, k, z);
            const double own = cost_at(h_, piece_of(h_, k, out_.t[k]), out_.t[k]);
            gap += own + best.value - out_.t[k] * best.z;
            cost += own;
            outside = std::max(outside, std::abs(z - best.z));
        }
        double square = 0, most = 1, largest = 0;
        for (const double x : w_) square += x * x;
        for (std::int64_t i = 0; i < rows_.rows; ++i) {
            gap += std::abs(m_[i] * lacking_[i]);
            largest = std::max(largest, std::abs(lacking_[i]));
        }
        for (const double t : out_.t) most = std::max(most, std::abs(t));
        out_.lacking = largest;
        out_.value = constant_ + cost + 0.5 * square;
        out_.gap = std::max({gap / std::max(1.0, std::abs(out_.value)), outside, largest / most});
    }

    const SparseRows& rows_;
    const SeparableView& h_;
    Control& control_;
    double constant_, weight_ = 1;
    std::vector<double> w_, m_, lacking_, square_;
    std::int64_t numbers_ = 0;  // of rows since the last look at the clock
    Descent out_;
};

}  // namespace

Descent descend(const SparseRows& rows, const SeparableView& h, std::vector<double> t, double constant,
                double tolerance, std::uint64_t seed, Control& control) {
    return Solver(rows, h, std::move(t), constant, control).solve(tolerance, seed);
}

}  // namespace kdsl
