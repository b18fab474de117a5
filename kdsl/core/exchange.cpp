// A small simplex method over classes; see exchange.hpp.
#include "exchange.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "separable.hpp"

namespace kdsl {

namespace {

constexpr double kPivot = 1e-11;
constexpr int kRefactorise = 64;

}  // namespace

Exchange::Exchange(const Classes& classes) : classes_(classes), m_(classes.rank + 1) { start(); }

double Exchange::entry(const Column& column, std::int64_t row) const {
    if (row == classes_.rank) return 1.0;
    if (column.cls < 0) return 0.0;
    const double d = classes_.direction[column.cls * classes_.rank + row];
    return column.rises ? d : -d;
}

Exchange::Cost Exchange::cost(const Column& column) const {
    if (column.cls < 0) return {0.0, 0.0};
    const double c = column.rises ? rise_[column.cls] : -fall_[column.cls];
    return std::isinf(c) ? Cost{1.0, 0.0} : Cost{0.0, c};
}

// The slack, and `rank` independent classes with weight 0, found by Gram-Schmidt with the largest remainder first.
// Nothing is judged here: the directions that classes.hpp asks for have remainders far above rounding.
void Exchange::start() {
    const std::int64_t r = classes_.rank;
    std::vector<double> rest(classes_.direction);
    for (std::int64_t found = 0; found < r; ++found) {
        std::int64_t best = -1;
        double most = 0;
        for (std::int64_t c = classes_.first_is_free; c < classes_.size(); ++c) {
            double norm = 0;
            for (std::int64_t i = 0; i < r; ++i) norm += rest[c * r + i] * rest[c * r + i];
            if (norm > most) most = norm, best = c;
        }
        if (best < 0) throw std::invalid_argument("the directions of the classes do not span the rows");
        const std::vector<double> unit(rest.begin() + best * r, rest.begin() + (best + 1) * r);
        for (std::int64_t c = 0; c < classes_.size(); ++c) {
            double along = 0;
            for (std::int64_t i = 0; i < r; ++i) along += unit[i] * rest[c * r + i];
            for (std::int64_t i = 0; i < r; ++i) rest[c * r + i] -= along / most * unit[i];
        }
        basis_.push_back({best, true});
    }
    basis_.push_back({-1, true});
    factorise();
}

// Gauss-Jordan with partial pivoting: the basis has at most 65 columns.
void Exchange::factorise() {
    const std::int64_t m = m_;
    std::vector<double> a(m * m);
    inverse_.assign(m * m, 0.0);
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < m; ++j) a[i * m + j] = entry(basis_[j], i);
        inverse_[i * m + i] = 1.0;
    }
    for (std::int64_t k = 0; k < m; ++k) {
        std::int64_t pivot = k;
        for (std::int64_t i = k + 1; i < m; ++i)
            if (std::abs(a[i * m + k]) > std::abs(a[pivot * m + k])) pivot = i;
        for (std::int64_t j = 0; j < m; ++j) {
            std::swap(a[k * m + j], a[pivot * m + j]);
            std::swap(inverse_[k * m + j], inverse_[pivot * m + j]);
        }
        const double scale = 1.0 / a[k * m + k];
        for (std::int64_t j = 0; j < m; ++j) a[k * m + j] *= scale, inverse_[k * m + j] *= scale;
        for (std::int64_t i = 0; i < m; ++i) {
            const double factor = i == k ? 0.0 : a[i * m + k];
            if (factor == 0.0) continue;
            for (std::int64_t j = 0; j < m; ++j) {
                a[i * m + j] -= factor * a[k * m + j];
                inverse_[i * m + j] -= factor * inverse_[k * m + j];
            }
        }
    }
    x_.resize(m);
    for (std::int64_t i = 0; i < m; ++i) x_[i] = std::max(0.0, inverse_[i * m + m - 1]);
    since_factorised_ = 0;
}

void Exchange::price() {
    y_infinite_.assign(m_, 0.0);
    y_finite_.assign(m_, 0.0);
    for (std::int64_t i = 0; i < m_; ++i) {
        const Cost c = cost(basis_[i]);
        for (std::int64_t j = 0; j < m_; ++j) {
            y_infinite_[j] += c.infinite * inverse_[i * m_ + j];
            y_finite_[j] += c.finite * inverse_[i * m_ + j];
        }
    }
}

double Exchange::multiplier(std::int64_t c) const {
    double sum = 0;
    for (std::int64_t i = 0; i < classes_.rank; ++i)
        sum += (y_finite_[i] + large_ * y_infinite_[i]) * classes_.direction[c * classes_.rank + i];
    return sum;
}

double Exchange::solve(const std::vector<double>& rise, const std::vector<double>& fall) {
    rise_ = rise;
    fall_ = fall;
    double size = 1e-300;
    for (std::int64_t c = classes_.first_is_free; c < classes_.size(); ++c) {
        if (std::isfinite(rise_[c])) size = std::max(size, std::abs(rise_[c]));
        if (std::isfinite(fall_[c])) size = std::max(size, std::abs(fall_[c]));
    }
    const std::int64_t limit = 200 + 20 * (m_ + classes_.size());
    for (std::int64_t pivots = 0; pivots < limit; ++pivots) {
        if (since_factorised_ >= kRefactorise) factorise();
        price();
        Column entering{-1, true};
        Cost best{-1e-9, -1e-13 * size};
        bool by_infinite = false, enters = false;
        large_ = 0;
        const auto consider = [&](const Column& column, double infinite, double finite) {
            if (infinite > 1e-9 && finite < 0) large_ = std::max(large_, -finite / infinite);
            if (infinite < best.infinite) {
                best.infinite = infinite, entering = column, by_infinite = enters = true;
            } else if (!by_infinite && infinite < 1e-9 && finite < best.finite) {
                best.finite = finite, entering = column, enters = true;
            }
        };
        consider({-1, true}, -y_infinite_[m_ - 1], -y_finite_[m_ - 1]);
        for (std::int64_t c = classes_.first_is_free; c < classes_.size(); ++c) {
            double along_infinite = 0, along_finite = 0;
            for (std::int64_t i = 0; i < classes_.rank; ++i) {
                const double d = classes_.direction[c * classes_.rank + i];
                along_infinite += y_infinite_[i] * d;
                along_finite += y_finite_[i] * d;
            }
            for (const bool rises : {true, false}) {
                const Column column{c, rises};
                const Cost own = cost(column);
                if (own.infinite != 0) continue;
                const double infinite = (rises ? -along_infinite : along_infinite) - y_infinite_[m_ - 1];
                const double finite = own.finite - (rises ? along_finite : -along_finite) - y_finite_[m_ - 1];
                consider(column, infinite, finite);
            }
        }
        if (!enters) break;
        std::vector<double> u(m_, 0.0);
        for (std::int64_t i = 0; i < m_; ++i)
            for (std::int64_t j = 0; j < m_; ++j) u[i] += inverse_[i * m_ + j] * entry(entering, j);
        double least = kInfinity;
        for (std::int64_t i = 0; i < m_; ++i)
            if (u[i] > kPivot) least = std::min(least, x_[i] / u[i]);
        std::int64_t leaving = -1;
        for (std::int64_t i = 0; i < m_; ++i) {
            if (!(u[i] > kPivot) || x_[i] / u[i] > least + 1e-15) continue;
            const bool dear = cost(basis_[i]).infinite > 0;
            if (leaving < 0 || (dear && cost(basis_[leaving]).infinite == 0) ||
                (dear == (cost(basis_[leaving]).infinite > 0) && u[i] > u[leaving]))
                leaving = i;
        }
        if (leaving < 0) break;
        basis_[leaving] = entering;
        const double scale = 1.0 / u[leaving];
        for (std::int64_t j = 0; j < m_; ++j) inverse_[leaving * m_ + j] *= scale;
        for (std::int64_t i = 0; i < m_; ++i)
            if (i != leaving && u[i] != 0.0)
                for (std::int64_t j = 0; j < m_; ++j) inverse_[i * m_ + j] -= u[i] * inverse_[leaving * m_ + j];
        for (std::int64_t i = 0; i < m_; ++i) x_[i] = std::max(0.0, inverse_[i * m_ + m_ - 1]);
        ++since_factorised_;
    }
    movers_.clear();
    double v = 0;
    for (std::int64_t i = 0; i < m_; ++i) {
        const Cost own = cost(basis_[i]);
        if (x_[i] < 1e-13 || basis_[i].cls < 0 || own.infinite != 0) continue;
        v -= x_[i] * own.finite;
        movers_.push_back({basis_[i].cls, basis_[i].rises, x_[i]});
    }
    return v;
}

}  // namespace kdsl
