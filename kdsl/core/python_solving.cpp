// Problems and their solution as Python sees them: the solve of solver.hpp, and the descent of row_descent.hpp.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "native_hessian.hpp"
#include "python_hessian.hpp"
#include "python_parts.hpp"
#include "row_descent.hpp"
#include "solver.hpp"
#include "sum_hessian.hpp"

namespace kdsl {

using namespace nb::literals;

namespace {

using Known = std::pair<Doubles, Doubles>;

constexpr double kMostMemory = 0x1p60;  // bytes; an infinite number of them is no whole number

struct KernelOnPoints {
    PointsView view;
    std::unique_ptr<NativeHessian> hessian;

    KernelOnPoints(const KernelSpec& kernel, const PointsView& points, const std::optional<Doubles>& centre,
                   const Longs& start, const Longs& point, const Doubles& coefficient, int threads, double memory)
        : view(points) {
        Atoms atoms{vector_of(start), vector_of(point), vector_of(coefficient)};
        if (atoms.start.empty() || atoms.start.front() != 0 ||
            !std::is_sorted(atoms.start.begin(), atoms.start.end()) ||
            atoms.start.back() != std::int64_t(atoms.point.size()) || atoms.point.size() != atoms.coefficient.size())
            throw std::invalid_argument("the arrays of the atoms do not fit together");
        for (const std::int64_t p : atoms.point)
            if (p < 0 || p >= view.count()) throw std::invalid_argument("an atom names a point that is not there");
        std::vector<double> middle = centre_of(centre, view);
        hessian = without_gil([&] {
            return std::make_unique<NativeHessian>(kernel, view.source(), std::move(middle), std::move(atoms),
                                                   choose_micro(), threads, memory);
        });
    }
};

Hessian& hessian_of(nb::handle object) {
    KernelOnPoints* native = nullptr;
    if (nb::try_cast(object, native) && native != nullptr) return *native->hessian;
    return nb::cast<PythonHessian&>(object);
}

SumHessian sum_of(const std::vector<nb::object>& terms) {
    std::vector<Hessian*> out;
    for (const nb::object& term : terms) out.push_back(&hessian_of(term));
    if (out.empty()) throw std::invalid_argument("a problem needs at least one Hessian");
    for (const Hessian* term : out)
        if (term->size() != out.front()->size()) throw std::invalid_argument("the Hessians differ in size");
    return SumHessian(std::move(out));
}

Strategy strategy_of(const std::string& name) {
    if (name == "automatic") return Strategy::automatic;
    if (name == "full") return Strategy::full;
    if (name == "stored_rows") return Strategy::stored_rows;
    if (name == "working_set") return Strategy::working_set;
    throw std::invalid_argument("no strategy is called " + name);
}

const char* word(Reason reason) {
    switch (reason) {
        case Reason::solved: return "solved";
        case Reason::stalled: return "stalled";
        case Reason::iteration_limit: return "iteration_limit";
        case Reason::time_limit: return "time_limit";
        case Reason::interrupted: return "interrupted";
        case Reason::unbounded: return "unbounded";
    }
    return "solver_error";
}

nb::dict told(const Outcome& outcome, double seconds) {
    nb::dict out;
    out["reason"] = word(outcome.reason);
    out["strategy"] = outcome.strategy;
    out["t"] = array_of(outcome.t);
    out["kkt_gap"] = outcome.kkt_gap;
    out["relative_gap"] = outcome.relative_gap;
    out["value"] = outcome.value;
    out["iterations"] = outcome.iterations;
    out["refreshes"] = outcome.refreshes;
    out["halved"] = outcome.work.halved;
    out["newton_steps"] = outcome.work.newtons.steps;
    out["factorisations"] = outcome.work.newtons.factors;
    out["rough"] = outcome.work.rough;
    out["outer"] = outcome.work.outer;
    out["entries"] = outcome.work.entries;
    out["threads"] = outcome.threads;
    out["seconds"] = seconds;
    out["ray"] = array_of(outcome.ray);
    return out;
}

// The terms are kept alive, whatever becomes of the list that they came in.
nb::dict solve_python(const Pieces& h, const Classes& classes, const std::vector<nb::object>& hessians, double constant,
                      const Doubles& start, const std::optional<Known>& known, const Options& options,
                      double time_limit, std::int64_t max_iterations, nb::object callback) {
    SumHessian hessian = sum_of(hessians);
    const Problem problem{h.copy(), classes, hessian, constant};
    const std::int64_t n = problem.size();
    if (problem.hessian.size() != n || std::int64_t(start.size()) != n || classes.begin.back() != n)
        throw std::invalid_argument("the parts of the problem differ in size");
    Product product;
    if (known) product = {vector_of(known->first), vector_of(known->second)};
    if (known && (std::int64_t(product.t.size()) != n || std::int64_t(product.f.size()) != n))
        throw std::invalid_argument("the known product does not fit the problem");
    Control control(time_limit, max_iterations, poll_of(std::move(callback)));
    std::vector<double> t = vector_of(start);
    const Outcome outcome =
        without_gil([&] { return solve(problem, options, std::move(t), std::move(product), control); });
    return told(outcome, control.seconds());
}

nb::dict descend_python(const PointsView& points, const Table& row, const Doubles& target, const Doubles& shift,
                        const Pieces& h, const Doubles& t, double constant, double tolerance, std::uint64_t seed,
                        double time_limit, std::int64_t max_iterations, nb::object callback) {
    const PointSource source = points.source();
    if (!source.sparse() || std::int64_t(row.shape(0)) != source.count || row.shape(1) != target.size() ||
        std::int64_t(shift.size()) != source.features || std::int64_t(t.size()) != source.count ||
        h.size() != source.count)
        throw std::invalid_argument("the parts of the problem do not fit together");
    SparseRows rows;
    rows.count = source.count;
    rows.features = source.features;
    rows.rows = std::int64_t(target.size());
    rows.start = source.start;
    rows.feature = source.feature;
    rows.value = source.value;
    rows.row = row.data();
    rows.target = target.data();
    rows.shift = shift.data();
    Control control(time_limit, max_iterations, poll_of(std::move(callback)));
    const Descent found = without_gil(
        [&] { return descend(rows, h.view(), vector_of(t), constant, tolerance, seed, control); });
    nb::dict out;
    out["reason"] = word(found.reason);
    out["t"] = array_of(found.t);
    out["relative_gap"] = found.gap;
    out["value"] = found.value;
    out["rounds"] = found.rounds;
    out["steps"] = found.steps;
    return out;
}

}  // namespace

void bind_solving(nb::module_& module) {
    nb::class_<KernelOnPoints>(module, "KernelHessian", "Q = S'KS for a kernel of the core and compressed atoms S.")
        .def(nb::init<const KernelSpec&, const PointsView&, const std::optional<Doubles>&, const Longs&, const Longs&,
                      const Doubles&, int, double>(),
             "kernel"_a, "points"_a, "centre"_a.noconvert().none(), "start"_a.noconvert(), "point"_a.noconvert(),
             "coefficient"_a.noconvert(), "threads"_a, "memory"_a)
        .def_prop_ro("blur", [](const KernelOnPoints& self) { return self.hessian->blur(); },
                     "What rounding makes of distances, in the exponent of a Gaussian kernel.")
        .def_prop_ro("thin", [](const KernelOnPoints& self) { return self.hessian->is_thin(); },
                     "Whether dense points are held by what is left of them (thin_points.hpp).");
    nb::class_<PythonHessian>(module, "RowsHessian", "Q from a function that returns whole rows.")
        .def(nb::init<std::int64_t, nb::callable>(), "size"_a, "rows"_a);
    nb::class_<Classes>(module, "Classes", "How the rows tie the coordinates together (classes.hpp).")
        .def("__init__",
             [](Classes* self, const Longs& begin, bool first_is_free, const std::optional<Table>& direction) {
                 const std::int64_t* const first = begin.data();
                 if (begin.size() == 0 || first[0] != 0 || !std::is_sorted(first, first + begin.size()))
                     throw std::invalid_argument("the classes are not one behind the other");
                 if ((first_is_free && begin.size() < 2) || (direction && direction->shape(0) + 1 != begin.size()))
                     throw std::invalid_argument("the directions do not fit the classes");
                 new (self) Classes{vector_of(begin), first_is_free, !direction, 0, {}};
                 if (direction) {
                     self->rank = std::int64_t(direction->shape(1));
                     self->direction = vector_of(*direction);
                 }
             },
             "begin"_a, "first_is_free"_a, "direction"_a.none());
    nb::class_<Options>(module, "Options", "What the caller asks of the answer (problem.hpp).")
        .def("__init__",
             [](Options* self, double tolerance, std::optional<double> kkt_tolerance, double memory, int threads,
                bool all_threads, const std::string& strategy, std::int64_t working_set, bool any_start) {
                 if (!(memory >= 0) || std::isnan(tolerance) || working_set < 0)
                     throw std::invalid_argument("tolerance, memory and working set are numbers that are not negative");
                 memory = std::min(memory, kMostMemory);
                 new (self) Options{tolerance,   kkt_tolerance.value_or(-1.0), memory,      std::max(1, threads),
                                    all_threads, strategy_of(strategy),        working_set, any_start};
             },
             nb::kw_only(), "tolerance"_a, "kkt_tolerance"_a.none(), "memory"_a, "threads"_a, "all_threads"_a,
             "strategy"_a, "working_set"_a, "any_start"_a);
    module.def("solve", &solve_python, "h"_a, "classes"_a, "hessians"_a, "constant"_a, "start"_a, "known"_a.none(),
               "options"_a, "time_limit"_a, "max_iterations"_a, "callback"_a.none(),
               "Minimise a normal form in the coordinates that kdsl/core/problem.hpp describes.");
    module.def("descend", &descend_python, "points"_a, "row"_a.noconvert(), "target"_a, "shift"_a, "h"_a, "t"_a,
               "constant"_a, "tolerance"_a, "seed"_a, "time_limit"_a, "max_iterations"_a, "callback"_a.none(),
               "Dual coordinate descent on sparse rows, with the primal vector at hand.");
}

}  // namespace kdsl
