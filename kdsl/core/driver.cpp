// A plain program for the sanitisers (tests/campaigns/sanitise_core.sh): every strategy, precision and kind of row,
// two solves at once. Exits with 1 where an answer is not optimal to its tolerance, or leaves all numbers where it need not
// be. Usage: driver [seconds for each solve]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "native_hessian.hpp"
#include "solver.hpp"
#include "sum_hessian.hpp"

namespace kdsl {
bool rows_are_passed();        // driver_rows.cpp
bool kernels_are_evaluated();  // driver_expansion.cpp
}

namespace {

using namespace kdsl;

enum class Shape { bias, no_row, groups, coupled };

struct Case {
    Shape shape;
    Kind kind;
    bool sparse, kinked;
    Strategy strategy;
    std::int64_t n;
    double C;
    std::int64_t d = 5, working_set = 40;
    bool sums = false;    // the rows ask for sums other than 0
    bool single = false;  // every atom is one point
    bool around = false;  // 0 is inside every piece, and any start will do
};

Classes classes_of(Shape shape, std::int64_t n) {
    switch (shape) {
        case Shape::bias: return {{0, n}, false, true, 0, {}};
        case Shape::no_row: return {{0, n}, true, true, 0, {}};
        case Shape::groups: return {{0, n / 3, n / 2, n}, true, true, 0, {}};
        case Shape::coupled: return {{0, n / 3, n / 2, n}, false, false, 2, {1, 0, 1, 1, 0.5, -1}};
    }
    return {};
}

// A regression-like h with a kink at 0, or a box, at 0 or around it.
Separable separable_of(const Case& c, std::mt19937& random) {
    std::normal_distribution<double> normal;
    Separable h;
    h.offsets.push_back(0);
    for (std::int64_t k = 0; k < c.n; ++k) {
        const double y = normal(random);
        const auto piece = [&](double left, double right, double curvature, double slope) {
            h.left.push_back(left);
            h.right.push_back(right);
            h.curvature.push_back(curvature);
            h.slope.push_back(slope);
            h.value.push_back(0);
        };
        if (c.kinked) piece(-c.C, 0, 0, -y - 0.1);
        if (c.around || (!c.kinked && !c.sums && c.shape != Shape::no_row))  // else nothing could move
            piece(-c.C, c.C, 0, -y);
        else
            piece(0, c.C, c.kinked ? 0.1 : 0.0, (c.kinked ? 0.1 : 0.0) - y);
        h.offsets.push_back(std::int64_t(h.left.size()));
    }
    return h;
}

bool solves(const Case& c, double seconds) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    const std::int64_t d = c.d;
    std::vector<double> x(c.n * d);
    for (double& value : x) value = normal(random);
    std::vector<std::int64_t> start(c.n + 1);
    std::vector<std::int32_t> feature(c.n * d);
    for (std::int64_t i = 0; i <= c.n; ++i) start[i] = i * d;
    for (std::int64_t e = 0; e < c.n * d; ++e) feature[e] = std::int32_t(e % d);
    PointSource points;
    points.count = c.n;
    points.features = d;
    if (c.sparse) {
        points.start = start.data();
        points.feature = feature.data();
        points.value = x.data();
    } else {
        points.dense = x.data();
    }
    Atoms atoms;  // singles, and every tenth a sum of six points
    atoms.start.push_back(0);
    for (std::int64_t k = 0; k < c.n; ++k) {
        const std::int64_t many = k % 10 == 9 && c.kinked && !c.single ? 6 : 1;
        for (std::int64_t e = 0; e < many; ++e) {
            atoms.point.push_back((k + e) % c.n);
            atoms.coefficient.push_back(1.0 / double(many));
        }
        atoms.start.push_back(std::int64_t(atoms.point.size()));
    }
    const double gamma = c.d > 5 ? 1 / double(c.d) : 0.5;
    NativeHessian one(KernelSpec{c.kind, gamma, 1.0, 2}, points, {}, atoms, choose_micro(), 2);
    SumHessian hessian({&one});
    const Problem problem{separable_of(c, random), classes_of(c.shape, c.n), hessian, 0.0};
    Options options;
    options.tolerance = 1e-7;
    options.threads = 3;
    options.strategy = c.strategy;
    options.working_set = c.working_set;
    Control control(seconds, std::int64_t(1) << 40, [](std::int64_t, double) { return false; });
    options.any_start = c.sums || c.around;
    std::vector<double> start_at(c.n, 0.0);
    for (std::int64_t k = 0; c.sums && k < c.n; ++k) start_at[k] = 0.3 * (problem.h.left[k] + problem.h.right[k]);
    const Outcome outcome = solve(problem, options, std::move(start_at), {}, control);
    const bool good = outcome.reason == Reason::solved && outcome.relative_gap <= options.tolerance && outcome.iterations > 0;
    std::printf("%s shape %d kernel %d sparse %d kinked %d %s n %ld: %ld steps, %ld of Newton with %ld factors, "
                "%ld of %ld sets in halves, gap %.1e\n",
                good ? "ok  " : "FAIL", int(c.shape), int(c.kind), int(c.sparse), int(c.kinked),
                outcome.strategy.c_str(), long(c.n), long(outcome.iterations), long(outcome.work.newtons.steps),
                long(outcome.work.newtons.factors), long(outcome.work.halved), long(outcome.work.outer), outcome.relative_gap);
    return good;
}

// Pairs of points, some of which ask for the opposite of others, without a bound: in single precision Q is not positive
// semidefinite along what they hardly determine, and they may go on for ever. Nothing is asked but to stay among numbers.
bool stays_finite(Strategy strategy, std::int64_t n, double seconds) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    std::vector<double> x(6 * n);
    for (double& value : x) value = normal(random);
    for (std::int64_t i = 2 * n; i < 4 * n; ++i) x[i] = x[i - 2 * n] + 0.1 * normal(random);
    PointSource points;
    points.count = 3 * n;
    points.features = 2;
    points.dense = x.data();
    Atoms atoms;
    Separable h;
    atoms.start.push_back(0), h.offsets.push_back(0);
    const auto coordinate = [&](double upper, double slope) {
        atoms.start.push_back(std::int64_t(atoms.point.size()));
        h.left.push_back(0), h.right.push_back(upper), h.curvature.push_back(0), h.slope.push_back(slope), h.value.push_back(0);
        h.offsets.push_back(std::int64_t(h.left.size()));
    };
    for (std::int64_t k = 0; k < n; ++k) {
        atoms.point.insert(atoms.point.end(), {k, n + k});
        atoms.coefficient.insert(atoms.coefficient.end(), {1.0, -1.0});
        coordinate(kInfinity, 0);
    }
    for (std::int64_t k = 0; k < n; ++k) {
        atoms.point.push_back(2 * n + k);
        atoms.coefficient.push_back(normal(random) > 0 ? 1.0 : -1.0);
        coordinate(1, -1);
    }
    NativeHessian one(KernelSpec{Kind::gaussian, 0.5, 1.0, 2}, points, {}, atoms, choose_micro(), 2);
    SumHessian hessian({&one});
    const Problem problem{h, {{0, 2 * n}, true, true, 0, {}}, hessian, 0.0};
    Options options;
    options.tolerance = 1e-4;
    options.threads = 3;
    options.strategy = strategy;
    Control control(seconds, 200 * n, [](std::int64_t, double) { return false; });
    const Outcome outcome = solve(problem, options, std::vector<double>(2 * n, 0.0), {}, control);
    const bool good = std::ranges::all_of(outcome.t, [](double t) { return std::isfinite(t); });
    std::printf("%s unbounded pairs, %s n %ld: %ld steps\n", good ? "ok  " : "FAIL", outcome.strategy.c_str(), long(2 * n),
                long(outcome.iterations));
    return good;
}

}  // namespace

int main(int count, char** arguments) {
    const double seconds = count > 1 ? std::atof(arguments[1]) : 60;
    std::vector<Case> cases;
    for (const Shape shape : {Shape::bias, Shape::no_row, Shape::groups, Shape::coupled})
        for (const bool kinked : {false, true})
            for (const Strategy strategy : {Strategy::full, Strategy::working_set})
                for (const std::int64_t n : {37, 700})
                    cases.push_back({shape, Kind::gaussian, kinked, kinked, strategy, n, n > 100 ? 10.0 : 1.0});
    for (const Kind kind : {Kind::linear, Kind::polynomial, Kind::laplacian})
        for (const bool sparse : {false, true})
            cases.push_back({Shape::bias, kind, sparse, false, Strategy::automatic, 150, 0.1});
    // Points on a lattice or in parts, and sums that other threads take meanwhile.
    for (const std::int64_t d : {21, 40})
        for (const Strategy strategy : {Strategy::working_set, Strategy::stored_rows})
            cases.push_back({Shape::bias, Kind::gaussian, false, false, strategy, 2100, 0.1, d, 256, d == 40});
    for (const Kind kind : {Kind::polynomial, Kind::sigmoid})
        for (const Strategy strategy : {Strategy::working_set, Strategy::stored_rows})
            cases.push_back({Shape::bias, kind, false, false, strategy, 2100, 0.1, 21, 256});
    // Sets in two halves.
    for (const Shape shape : {Shape::bias, Shape::groups})
        for (const bool single : {false, true})
            cases.push_back({shape, Kind::gaussian, false, true, Strategy::working_set, 1500, 30.0, 5, 0, false, single});
    // Ends that a sample's answer makes likely, and products with the whole matrix.
    for (const Shape shape : {Shape::bias, Shape::groups})
        cases.push_back({shape, Kind::gaussian, false, false, Strategy::working_set, 2500, 0.3, 5, 0, false, true, true});
    cases.push_back({Shape::bias, Kind::gaussian, false, false, Strategy::full, 1300, 10.0});
    bool good = true;
    for (std::size_t i = 0; i + 1 < cases.size(); i += 2) {  // two at once
        bool second = false;
        std::thread other([&] { second = solves(cases[i + 1], seconds); });
        good = solves(cases[i], seconds) && good;
        other.join();
        good = second && good;
    }
    good = solves(cases.back(), seconds) && good;
    for (const Strategy strategy : {Strategy::full, Strategy::working_set})
        for (const std::int64_t n : {300, 800}) good = stays_finite(strategy, n, seconds) && good;
    good = rows_are_passed() && good;
    good = kernels_are_evaluated() && good;
    return good ? 0 : 1;
}
