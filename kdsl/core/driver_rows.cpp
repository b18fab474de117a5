// The part of the plain driver (driver.cpp) that runs the passes over rows and the descent on sparse rows.
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "linear_pass.hpp"
#include "row_descent.hpp"

namespace kdsl {

namespace {

struct Arrays {
    std::vector<std::int64_t> offsets{0};
    std::vector<double> left, right, curvature, slope, value;

    SeparableView view() const {
        return {offsets.data(), left.data(), right.data(), curvature.data(), slope.data(), value.data()};
    }
    void piece(double from, double to, double bend, double tilt) {
        left.push_back(from);
        right.push_back(to);
        curvature.push_back(bend);
        slope.push_back(tilt);
        value.push_back(0);
    }
};

// Every second coordinate has a kink at 0, every fifth is curved and has no upper bound.
Arrays costs(std::int64_t n, std::mt19937& random) {
    std::normal_distribution<double> normal;
    Arrays h;
    for (std::int64_t k = 0; k < n; ++k) {
        const double y = normal(random);
        if (k % 2 == 0) h.piece(-1, 0, 0, -y - 0.1);
        if (k % 5 == 0)
            h.piece(0, kInfinity, 0.5, 0.1 - y);
        else
            h.piece(0, 1, 0, 0.1 - y);
        h.offsets.push_back(std::int64_t(h.left.size()));
    }
    return h;
}

bool passes_agree(std::int64_t n, std::int64_t d, std::int64_t m) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    std::vector<double> points(n * d), coefficient(n), row(n * m), v(d + m), scale(d + m, 0.05);
    for (auto* part : {&points, &coefficient, &row, &v})
        for (double& x : *part) x = normal(random);
    const Arrays h = costs(n, random);
    LinearSource source;
    source.count = n;
    source.features = d;
    source.rows = m;
    source.points = points.data();
    source.coefficient = coefficient.data();
    source.row = m > 0 ? row.data() : nullptr;
    LinearPass pass(source, 3);
    const std::vector<double> prices = pass.up(v.data()), squares = pass.squares(), ones(n, 1.0);
    const std::vector<double> gram = pass.weigh(ones.data()), image = pass.down(ones.data());
    double trace = 0, total = 0, product = 0, sum = 0;
    for (std::int64_t i = 0; i < d + m; ++i) trace += gram[i * (d + m) + i];
    for (const double s : squares) total += s;
    for (const double p : prices) sum += p;
    for (std::int64_t i = 0; i < d + m; ++i) product += image[i] * v[i];
    const PassDecision decided = pass.decide(h.view(), v.data(), scale.data());
    const std::vector<double> unknown(n, std::numeric_limits<double>::quiet_NaN());
    const PassMeasure best = pass.measure(h.view(), v.data(), unknown.data());
    std::int64_t wrong = 0;
    for (std::int64_t k = 0; k < n; ++k) wrong += !std::isnan(decided.t[k]) && decided.t[k] != best.t[k];
    const bool good = std::abs(trace - total) <= 1e-9 * total && std::abs(product - sum) <= 1e-8 * total &&
                      std::abs(best.gap) <= 1e-8 * total && wrong == 0;
    std::printf("%s passes n %ld d %ld rows %ld: %ld undecided\n", good ? "ok  " : "FAIL", long(n), long(d), long(m),
                long(decided.undecided.size()));
    return good;
}

bool descends(std::int64_t n, std::int64_t d, std::int64_t m) {
    std::mt19937 random(6);
    std::normal_distribution<double> normal;
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> feature;
    std::vector<double> value, row(n * m), target(m, 0.0), shift(d, 0.0);
    for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t j = k % 3; j < d; j += 7) {
            feature.push_back(std::int32_t(j));
            value.push_back(normal(random));
        }
        start.push_back(std::int64_t(feature.size()));
    }
    for (double& x : row) x = normal(random);
    SparseRows rows;
    rows.count = n;
    rows.features = d;
    rows.rows = m;
    rows.start = start.data();
    rows.feature = feature.data();
    rows.value = value.data();
    rows.row = row.data();
    rows.target = target.data();
    rows.shift = shift.data();
    const Arrays h = costs(n, random);
    Control control(60, std::int64_t(1) << 40, [](std::int64_t, double) { return false; });
    const Descent found = descend(rows, h.view(), std::vector<double>(n, 0.3), 0.0, 1e-7, 1, control);
    const bool good = found.reason == Reason::solved && found.gap <= 1e-7;
    std::printf("%s descent n %ld d %ld rows %ld: %ld rounds, gap %.1e\n", good ? "ok  " : "FAIL", long(n), long(d),
                long(m), long(found.rounds), found.gap);
    return good;
}

}  // namespace

bool rows_are_passed() {
    bool good = true;
    for (const std::int64_t n : {1, 63, 64, 65, 20'000})
        for (const std::int64_t m : {0, 2}) good = passes_agree(n, n > 1000 ? 21 : 140, m) && good;
    for (const std::int64_t m : {0, 1}) good = descends(300, 900, m) && good;
    return good;
}

}  // namespace kdsl
