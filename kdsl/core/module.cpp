// The Python face of the core: what kdsl._core exposes (kdsl/_core.pyi states it with types).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "expansion.hpp"
#include "linear_pass.hpp"
#include "native_hessian.hpp"
#include "python_hessian.hpp"
#include "row_descent.hpp"
#include "solver.hpp"
#include "sum_hessian.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace kdsl {

namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using SingleTable = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto vector_of(const Array& a) {
    return std::vector<std::remove_const_t<typename Array::Scalar>>(a.data(), a.data() + a.size());
}

nb::object array_of(const std::vector<double>& v) {
    return nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<1>>(v.data(), {v.size()}, nb::handle()),
                    nb::rv_policy::copy);
}

Kind kind_of(const std::string& name) {
    const std::pair<const char*, Kind> kinds[] = {{"linear", Kind::linear},
                                                  {"polynomial", Kind::polynomial},
                                                  {"gaussian", Kind::gaussian},
                                                  {"laplacian", Kind::laplacian},
                                                  {"sigmoid", Kind::sigmoid}};
    for (const auto& [word, kind] : kinds)
        if (name == word) return kind;
    throw std::invalid_argument("the core knows no kernel called " + name);
}

// Points of Python, kept alive with the arrays that they look into. Those in single precision are for expansions only.
struct PointsView {
    std::optional<Table> dense;
    std::optional<SingleTable> single;
    std::optional<Longs> start;
    std::optional<Ints> feature;
    std::optional<Doubles> value;
    std::int64_t features = 0;

    static PointsView of_dense(const Table& points) {
        PointsView view;
        view.dense = points;
        view.features = std::int64_t(points.shape(1));
        return view;
    }
    static PointsView of_single(const SingleTable& points) {
        PointsView view;
        view.single = points;
        view.features = std::int64_t(points.shape(1));
        return view;
    }
    static PointsView of_sparse(const Longs& start, const Ints& feature, const Doubles& value, std::int64_t features) {
        if (start.size() < 1 || feature.size() != value.size() || start.data()[0] != 0 ||
            !std::is_sorted(start.data(), start.data() + start.size()) ||
            start.data()[start.size() - 1] > std::int64_t(value.size()))
            throw std::invalid_argument("the arrays of a sparse matrix do not fit together");
        for (std::size_t e = 0; e < feature.size(); ++e)
            if (feature.data()[e] < 0 || feature.data()[e] >= features)
                throw std::invalid_argument("a sparse matrix names a feature that it does not have");
        PointsView view;
        view.start = start;
        view.feature = feature;
        view.value = value;
        view.features = features;
        return view;
    }
    std::int64_t count() const {
        if (single) return std::int64_t(single->shape(0));
        return dense ? std::int64_t(dense->shape(0)) : std::int64_t(start->size()) - 1;
    }
    NewPoints new_points() const {
        if (!single) return {source(), nullptr};
        NewPoints points;
        points.source.count = count();
        points.source.features = features;
        points.single = single->data();
        return points;
    }
    PointSource source() const {
        if (single) throw std::invalid_argument("points in single precision stand in no problem");
        PointSource s;
        s.count = count();
        s.features = features;
        if (dense) {
            s.dense = dense->data();
        } else {
            s.start = start->data();
            s.feature = feature->data();
            s.value = value->data();
        }
        return s;
    }
};

// No numbers where there is no centre.
std::vector<double> centre_of(const std::optional<Doubles>& centre, const PointsView& points) {
    if (!centre) return {};
    if (std::int64_t(centre->size()) != points.features)
        throw std::invalid_argument("the centre is no point of this space");
    return vector_of(*centre);
}

struct KernelOnPoints {
    PointsView view;
    std::unique_ptr<NativeHessian> hessian;

    KernelOnPoints(const std::string& kind, double gamma, double offset, int degree, const PointsView& points,
                   const std::optional<Doubles>& centre, const Longs& start, const Longs& point,
                   const Doubles& coefficient, int threads)
        : view(points) {
        Atoms atoms{vector_of(start), vector_of(point), vector_of(coefficient)};
        if (atoms.start.empty() || atoms.start.front() != 0 ||
            !std::is_sorted(atoms.start.begin(), atoms.start.end()) ||
            atoms.start.back() != std::int64_t(atoms.point.size()) || atoms.point.size() != atoms.coefficient.size())
            throw std::invalid_argument("the arrays of the atoms do not fit together");
        for (const std::int64_t p : atoms.point)
            if (p < 0 || p >= view.count()) throw std::invalid_argument("an atom names a point that is not there");
        const KernelSpec kernel{kind_of(kind), gamma, offset, degree};
        std::vector<double> middle = centre_of(centre, view);
        const nb::gil_scoped_release no_lock;
        hessian = std::make_unique<NativeHessian>(kernel, view.source(), std::move(middle), std::move(atoms),
                                                  choose_micro(), threads);
    }
};

// Lets Python see signals and the caller see progress; from the thread that called, about every 50 ms.
Control::Poll poll_of(nb::object callback) {
    return [callback](std::int64_t iterations, double gap) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return !callback.is_none() && nb::cast<bool>(nb::bool_(callback(iterations, gap)));
    };
}

Hessian& hessian_of(nb::handle object) {
    KernelOnPoints* native = nullptr;
    if (nb::try_cast(object, native) && native != nullptr) return *native->hessian;
    return nb::cast<PythonHessian&>(object);
}

SumHessian sum_of(const nb::list& terms) {
    std::vector<Hessian*> out;
    for (const nb::handle term : terms) out.push_back(&hessian_of(term));
    if (out.empty()) throw std::invalid_argument("a problem needs at least one Hessian");
    for (const Hessian* term : out)
        if (term->size() != out.front()->size()) throw std::invalid_argument("the Hessians differ in size");
    return SumHessian(std::move(out));
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

Strategy strategy_of(const std::string& name) {
    if (name == "automatic") return Strategy::automatic;
    if (name == "full") return Strategy::full;
    if (name == "stored_rows") return Strategy::stored_rows;
    if (name == "working_set") return Strategy::working_set;
    throw std::invalid_argument("no strategy is called " + name);
}

Separable separable_of(const Longs& offsets, const Doubles& left, const Doubles& right, const Doubles& curvature,
                       const Doubles& slope, const Doubles& value) {
    Separable h{vector_of(offsets), vector_of(left),  vector_of(right),
                vector_of(curvature), vector_of(slope), vector_of(value)};
    const std::size_t pieces = h.left.size();
    if (h.offsets.empty() || h.offsets.front() != 0 || h.offsets.back() != std::int64_t(pieces) ||
        h.right.size() != pieces || h.curvature.size() != pieces || h.slope.size() != pieces ||
        h.value.size() != pieces)
        throw std::invalid_argument("the arrays of the pieces do not fit together");
    for (std::int64_t k = 0; k < h.size(); ++k)
        if (h.offsets[k] >= h.offsets[k + 1]) throw std::invalid_argument("a coordinate has no piece");
    return h;
}

nb::dict solve_python(const Longs& offsets, const Doubles& left, const Doubles& right, const Doubles& curvature,
                      const Doubles& slope, const Doubles& value, const Longs& class_begin, bool first_is_free,
                      bool decoupled, std::int64_t rank, const Doubles& direction, const Doubles& start, bool any_start,
                      const Doubles& known, const Doubles& product, const nb::list& hessians, double constant, double tolerance, double kkt_tolerance, double memory,
                      int threads, bool all_threads, const std::string& strategy, std::int64_t working_set,
                      double time_limit, std::int64_t max_iterations, nb::object callback) {
    SumHessian hessian = sum_of(hessians);
    const Problem problem{separable_of(offsets, left, right, curvature, slope, value),
                          Classes{vector_of(class_begin), first_is_free, decoupled, rank, vector_of(direction)},
                          hessian, constant};
    const std::int64_t n = problem.size();
    if (problem.hessian.size() != n || std::int64_t(start.size()) != n || problem.classes.begin.back() != n ||
        (!decoupled && std::int64_t(direction.size()) != rank * problem.classes.size()))
        throw std::invalid_argument("the parts of the problem differ in size");
    if (known.size() != product.size() || (known.size() != 0 && std::int64_t(known.size()) != n))
        throw std::invalid_argument("the known product does not fit the problem");
    const Options options{tolerance, kkt_tolerance, memory, std::max(1, threads), all_threads, strategy_of(strategy),
                          working_set, any_start};
    Control control(time_limit, max_iterations, poll_of(std::move(callback)));
    Outcome outcome;
    {
        std::vector<double> t = vector_of(start);
        Product product_known{vector_of(known), vector_of(product)};
        const nb::gil_scoped_release released;
        outcome = solve(problem, options, std::move(t), std::move(product_known), control);
    }
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
    out["seconds"] = control.seconds();
    out["ray"] = array_of(outcome.ray);
    return out;
}

// How many numbers there are for each of `count` points, all of the first numbers before all of the second; 1 for no points.
std::int64_t for_each(const Doubles& coefficient, std::int64_t count) {
    const std::int64_t size = std::int64_t(coefficient.size());
    if (count == 0 ? size > 0 : size == 0 || size % count > 0)
        throw std::invalid_argument("the points and the coefficients do not fit together");
    return count == 0 ? 1 : size / count;
}

// sum_i coefficient[i] k(row i, col j) for every j; for each of several vectors of coefficients one after another.
nb::object kernel_product(const std::string& kind, double gamma, double offset, int degree, const PointsView& rows,
                          const Doubles& coefficient, const PointsView& cols, int threads, bool single) {
    const std::int64_t m = rows.count(), n = cols.count();
    const std::int64_t many = for_each(coefficient, m);
    if (rows.features != cols.features || rows.source().sparse() != cols.source().sparse())
        throw std::invalid_argument("the points and the coefficients do not fit together");
    KernelBlocks blocks(KernelSpec{kind_of(kind), gamma, offset, degree}, rows.source(), cols.source(),
                        choose_micro());
    const PointSource from = rows.source(), to = cols.source();
    const bool same = m == n && from.dense == to.dense && from.value == to.value && from.start == to.start &&
                      from.feature == to.feature;
    Indices row_index(m), col_index(n);
    std::iota(row_index.begin(), row_index.end(), 0);
    std::iota(col_index.begin(), col_index.end(), 0);
    std::vector<double> out(std::size_t(many * n), 0.0);
    const std::vector<double> weight = vector_of(coefficient);
    Control control(kInfinity, std::numeric_limits<std::int64_t>::max(), poll_of(nb::none()));
    {
        const nb::gil_scoped_release released;
        Pool pool(std::max(1, threads), [&control] { control.check(); });
        if (same)
            out = single ? blocks.product<float>(row_index, weight, pool)
                         : blocks.product<double>(row_index, weight, pool);
        for (std::int64_t v = 0; !same && v < many; ++v) {
            const auto take = [&out, v, n](std::int64_t first, std::int64_t count, const double* sums) {
                std::copy_n(sums, count, &out[v * n + first]);
            };
            const std::vector<double> own(weight.begin() + v * m, weight.begin() + (v + 1) * m);
            if (single)
                blocks.accumulate<float>(row_index, own, col_index, take, pool);
            else
                blocks.accumulate<double>(row_index, own, col_index, take, pool);
        }
    }
    return array_of(out);
}

// An expansion of expansion.hpp in arrays of Python, which are kept alive.
struct ExpansionOnPoints {
    PointsView view;
    std::unique_ptr<Expansion> expansion;

    ExpansionOnPoints(const std::string& kind, double gamma, double offset, int degree, const PointsView& points,
                      const std::optional<Doubles>& centre, int threads)
        : view(points) {
        const KernelSpec kernel{kind_of(kind), gamma, offset, degree};
        std::vector<double> middle = centre_of(centre, view);
        const nb::gil_scoped_release no_lock;
        expansion = std::make_unique<Expansion>(kernel, view.source(), std::move(middle), choose_micro(), threads);
    }

    // For each of several vectors of coefficients one after another; None where single precision is asked for and is not enough.
    nb::object values(const Doubles& coefficient, const PointsView& at, int threads, bool single) const {
        const bool sparse = !at.dense && !at.single;
        for_each(coefficient, view.count());
        if (at.features != view.features || sparse != view.source().sparse())
            throw std::invalid_argument("the points and the coefficients do not fit together");
        const std::vector<double> weight = vector_of(coefficient);
        std::optional<std::vector<double>> out;
        Control control(kInfinity, std::numeric_limits<std::int64_t>::max(), poll_of(nb::none()));
        {
            const nb::gil_scoped_release released;
            Pool pool(std::max(1, threads), [&control] { control.check(); });
            out = single ? expansion->rough_values(weight, at.new_points(), pool)
                         : expansion->values(weight, at.new_points(), pool);
        }
        return out ? array_of(*out) : nb::none();
    }
};

// The rows of linear_pass.hpp in arrays of Python, which are kept alive.
struct RowPass {
    Table points;
    std::optional<Doubles> coefficient;
    std::optional<Table> row;
    LinearPass pass;

    RowPass(const Table& points, const std::optional<Doubles>& coefficient, const std::optional<Table>& row, int threads)
        : points(points), coefficient(coefficient), row(row), pass(source(), threads) {}

    LinearSource source() const {
        const std::size_t n = points.shape(0);
        if ((coefficient && coefficient->size() != n) || (row && row->shape(0) != n))
            throw std::invalid_argument("the parts of the rows differ in length");
        LinearSource s;
        s.count = std::int64_t(n);
        s.features = std::int64_t(points.shape(1));
        s.points = points.data();
        if (coefficient) s.coefficient = coefficient->data();
        if (row) {
            s.rows = std::int64_t(row->shape(1));
            s.row = row->data();
        }
        return s;
    }
    void expect(const Doubles& a, bool column) const {
        const LinearSource& s = pass.source();
        if (std::int64_t(a.size()) != (column ? s.columns() : s.count))
            throw std::invalid_argument("a vector does not fit the rows");
    }
    SeparableView view(const Longs& offsets, const Doubles& left, const Doubles& right, const Doubles& curvature,
                       const Doubles& slope, const Doubles& value) const {
        const std::size_t pieces = left.size();
        if (std::int64_t(offsets.size()) != pass.source().count + 1 || offsets.data()[0] != 0 ||
            offsets.data()[offsets.size() - 1] != std::int64_t(pieces) || right.size() != pieces ||
            curvature.size() != pieces || slope.size() != pieces || value.size() != pieces ||
            !std::is_sorted(offsets.data(), offsets.data() + offsets.size(), std::less_equal<>()))
            throw std::invalid_argument("the arrays of the pieces do not fit together");
        return {offsets.data(), left.data(), right.data(), curvature.data(), slope.data(), value.data()};
    }
    nb::object up(const Doubles& v) {
        expect(v, true);
        return released([&] { return pass.up(v.data()); });
    }
    nb::object squares() {
        return released([&] { return pass.squares(); });
    }
    nb::object down(const Doubles& x) {
        expect(x, false);
        return released([&] { return pass.down(x.data()); });
    }
    nb::object weigh(const Doubles& weight) {
        expect(weight, false);
        return released([&] { return pass.weigh(weight.data()); });
    }
    nb::dict decide(const Longs& offsets, const Doubles& left, const Doubles& right, const Doubles& curvature,
                    const Doubles& slope, const Doubles& value, const Doubles& v, const Doubles& scale) {
        expect(v, true);
        expect(scale, true);
        const SeparableView h = view(offsets, left, right, curvature, slope, value);
        PassDecision found;
        {
            const nb::gil_scoped_release no_lock;
            found = pass.decide(h, v.data(), scale.data());
        }
        nb::dict out;
        out["t"] = array_of(found.t);
        out["undecided"] = nb::cast(nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>>(
                                        found.undecided.data(), {found.undecided.size()}, nb::handle()),
                                    nb::rv_policy::copy);
        out["image"] = array_of(found.image);
        out["curved"] = array_of(found.curved);
        out["cost"] = found.cost;
        return out;
    }
    nb::dict measure(const Longs& offsets, const Doubles& left, const Doubles& right, const Doubles& curvature,
                     const Doubles& slope, const Doubles& value, const Doubles& v, const Doubles& t) {
        expect(v, true);
        expect(t, false);
        const SeparableView h = view(offsets, left, right, curvature, slope, value);
        PassMeasure found;
        {
            const nb::gil_scoped_release no_lock;
            found = pass.measure(h, v.data(), t.data());
        }
        nb::dict out;
        out["t"] = array_of(found.t);
        out["image"] = array_of(found.image);
        out["gap"] = found.gap;
        out["cost"] = found.cost;
        out["outside"] = found.outside;
        return out;
    }

private:
    template <class Pass>
    nb::object released(const Pass& pass) {
        std::vector<double> out;
        {
            const nb::gil_scoped_release no_lock;
            out = pass();
        }
        return array_of(out);
    }
};

nb::dict descend_python(const PointsView& points, const Table& row, const Doubles& target, const Doubles& shift,
                        const Longs& offsets, const Doubles& left, const Doubles& right, const Doubles& curvature,
                        const Doubles& slope, const Doubles& value, const Doubles& t, double constant,
                        double tolerance, std::uint64_t seed, double time_limit, std::int64_t max_iterations,
                        nb::object callback) {
    const PointSource source = points.source();
    const std::size_t pieces = left.size();
    if (!source.sparse() || std::int64_t(row.shape(0)) != source.count || row.shape(1) != target.size() ||
        std::int64_t(shift.size()) != source.features || std::int64_t(t.size()) != source.count ||
        std::int64_t(offsets.size()) != source.count + 1 || offsets.data()[0] != 0 ||
        offsets.data()[offsets.size() - 1] != std::int64_t(pieces) || right.size() != pieces ||
        curvature.size() != pieces || slope.size() != pieces || value.size() != pieces ||
        !std::is_sorted(offsets.data(), offsets.data() + offsets.size(), std::less_equal<>()))
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
    const SeparableView h{offsets.data(), left.data(), right.data(), curvature.data(), slope.data(), value.data()};
    Control control(time_limit, max_iterations, poll_of(std::move(callback)));
    Descent found;
    {
        const nb::gil_scoped_release released;
        found = descend(rows, h, vector_of(t), constant, tolerance, seed, control);
    }
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

}  // namespace kdsl

NB_MODULE(_core, module) {
    using namespace kdsl;
    module.doc() = "The compiled part of kdsl.";
    module.def("version", [] { return KDSL_VERSION; }, "The version of kdsl that this core was built for.");
    module.def("isa", [] { return choose_micro().name; }, "The instruction set in use.");

    nb::class_<PointsView>(module, "Points", "Points that the core looks into; the arrays are kept alive.")
        .def_static("dense", &PointsView::of_dense, "points"_a.noconvert())
        .def_static("dense", &PointsView::of_single, "points"_a.noconvert())
        .def_static("sparse", &PointsView::of_sparse, "start"_a.noconvert(), "feature"_a.noconvert(),
                    "value"_a.noconvert(), "features"_a);
    nb::class_<KernelOnPoints>(module, "KernelHessian", "Q = S'KS for a kernel of the core and compressed atoms S.")
        .def(nb::init<const std::string&, double, double, int, const PointsView&,
                      const std::optional<Doubles>&, const Longs&, const Longs&, const Doubles&, int>(),
             "kind"_a, "gamma"_a, "offset"_a, "degree"_a, "points"_a, "centre"_a.noconvert().none(),
             "start"_a.noconvert(), "point"_a.noconvert(), "coefficient"_a.noconvert(), "threads"_a)
        .def_prop_ro("thin", [](const KernelOnPoints& self) { return self.hessian->is_thin(); },
                     "Whether dense points are held by what is left of them (thin_points.hpp).");
    nb::class_<ExpansionOnPoints>(module, "Expansion", "sum_i coefficient[i] k(point i, z) at many z, the points kept.")
        .def(nb::init<const std::string&, double, double, int, const PointsView&, const std::optional<Doubles>&, int>(),
             "kind"_a, "gamma"_a, "offset"_a, "degree"_a, "points"_a, "centre"_a.noconvert().none(), "threads"_a)
        .def_prop_ro("thin", [](const ExpansionOnPoints& self) { return self.expansion->is_thin(); },
                     "Whether dense points are held by what is left of them (thin_points.hpp).")
        .def("values", &ExpansionOnPoints::values, "coefficient"_a.noconvert(), "at"_a, "threads"_a, "single"_a,
             "The values at other points; None where single precision is asked for and not precise enough.");
    nb::class_<PythonHessian>(module, "RowsHessian", "Q from a function that returns whole rows.")
        .def(nb::init<std::int64_t, nb::callable>(), "size"_a, "rows"_a);
    nb::class_<RowPass>(module, "RowPass", "Passes over the rows [coefficient_k x_k, row_k], read where they lie.")
        .def(nb::init<const Table&, const std::optional<Doubles>&, const std::optional<Table>&, int>(),
             "points"_a.noconvert(), "coefficient"_a.noconvert().none(), "row"_a.noconvert().none(), "threads"_a)
        .def("up", &RowPass::up, "v"_a, "B v")
        .def("squares", &RowPass::squares, "The squared lengths of the rows.")
        .def("down", &RowPass::down, "x"_a, "B'x")
        .def("weigh", &RowPass::weigh, "weight"_a, "B' diag(weight) B, flat")
        .def("decide", &RowPass::decide, "offsets"_a, "left"_a, "right"_a, "curvature"_a, "slope"_a, "value"_a, "v"_a,
             "scale"_a, "What is certain while no price moves by more than the length of its row in a metric.")
        .def("measure", &RowPass::measure, "offsets"_a, "left"_a, "right"_a, "curvature"_a, "slope"_a, "value"_a,
             "v"_a, "t"_a, "The duality gap of t and v, coordinate by coordinate; NaN in t is filled in.");
    module.def("solve", &solve_python, "offsets"_a, "left"_a, "right"_a, "curvature"_a, "slope"_a, "value"_a,
               "class_begin"_a, "first_is_free"_a, "decoupled"_a, "rank"_a, "direction"_a, "start"_a, "any_start"_a,
          "known"_a, "product"_a, "hessians"_a,
               "constant"_a, "tolerance"_a, "kkt_tolerance"_a, "memory"_a, "threads"_a, "all_threads"_a, "strategy"_a,
               "working_set"_a, "time_limit"_a, "max_iterations"_a, "callback"_a.none(),
               "Minimise a normal form in the coordinates that kdsl/core/problem.hpp describes.");
    module.def("descend", &descend_python, "points"_a, "row"_a.noconvert(), "target"_a, "shift"_a, "offsets"_a,
               "left"_a, "right"_a, "curvature"_a, "slope"_a, "value"_a, "t"_a, "constant"_a, "tolerance"_a, "seed"_a,
               "time_limit"_a, "max_iterations"_a, "callback"_a.none(),
               "Dual coordinate descent on sparse rows, with the primal vector at hand.");
    module.def("kernel_product", &kernel_product, "kind"_a, "gamma"_a, "offset"_a, "degree"_a, "rows"_a,
               "coefficient"_a, "cols"_a, "threads"_a, "single"_a,
               "sum_i coefficient[i] k(row i, col j) for every j.");
}
