// Passes over explicit rows as Python sees them; see linear_pass.hpp.
#include <nanobind/stl/optional.h>

#include <stdexcept>

#include "linear_pass.hpp"
#include "python_parts.hpp"

namespace kdsl {

using namespace nb::literals;

namespace {

// The rows in arrays of Python, which are kept alive.
class RowPass {
public:
    RowPass(const Table& points, const std::optional<Doubles>& coefficient, const std::optional<Table>& row,
            int threads)
        : points_(points), coefficient_(coefficient), row_(row), pass_(source(), threads) {}

    nb::object up(const Doubles& v) {
        expect(v, true);
        return array_of(without_gil([&] { return pass_.up(v.data()); }));
    }
    nb::object squares() {
        return array_of(without_gil([&] { return pass_.squares(); }));
    }
    nb::object down(const Doubles& x) {
        expect(x, false);
        return array_of(without_gil([&] { return pass_.down(x.data()); }));
    }
    nb::object weigh(const Doubles& weight) {
        expect(weight, false);
        return array_of(without_gil([&] { return pass_.weigh(weight.data()); }));
    }
    nb::dict decide(const Pieces& h, const Doubles& v, const Doubles& scale) {
        expect(v, true);
        expect(scale, true);
        expect(h);
        const PassDecision found = without_gil([&] { return pass_.decide(h.view(), v.data(), scale.data()); });
        nb::dict out;
        out["t"] = array_of(found.t);
        out["undecided"] = array_of(found.undecided);
        out["image"] = array_of(found.image);
        out["curved"] = array_of(found.curved);
        out["cost"] = found.cost;
        return out;
    }
    nb::dict measure(const Pieces& h, const Doubles& v, const Doubles& t) {
        expect(v, true);
        expect(t, false);
        expect(h);
        const PassMeasure found = without_gil([&] { return pass_.measure(h.view(), v.data(), t.data()); });
        nb::dict out;
        out["t"] = array_of(found.t);
        out["image"] = array_of(found.image);
        out["gap"] = found.gap;
        out["cost"] = found.cost;
        out["outside"] = found.outside;
        return out;
    }

private:
    LinearSource source() const {
        const std::size_t n = points_.shape(0);
        if ((coefficient_ && coefficient_->size() != n) || (row_ && row_->shape(0) != n))
            throw std::invalid_argument("the parts of the rows differ in length");
        LinearSource s;
        s.count = std::int64_t(n);
        s.features = std::int64_t(points_.shape(1));
        s.points = points_.data();
        if (coefficient_) s.coefficient = coefficient_->data();
        if (row_) {
            s.rows = std::int64_t(row_->shape(1));
            s.row = row_->data();
        }
        return s;
    }
    void expect(const Doubles& a, bool column) const {
        const LinearSource& s = pass_.source();
        if (std::int64_t(a.size()) != (column ? s.columns() : s.count))
            throw std::invalid_argument("a vector does not fit the rows");
    }
    void expect(const Pieces& h) const {
        if (h.size() != pass_.source().count) throw std::invalid_argument("the pieces do not fit the rows");
    }

    Table points_;
    std::optional<Doubles> coefficient_;
    std::optional<Table> row_;
    LinearPass pass_;
};

}  // namespace

void bind_rows(nb::module_& module) {
    nb::class_<RowPass>(module, "RowPass", "Passes over the rows [coefficient_k x_k, row_k], read where they lie.")
        .def(nb::init<const Table&, const std::optional<Doubles>&, const std::optional<Table>&, int>(),
             "points"_a.noconvert(), "coefficient"_a.noconvert().none(), "row"_a.noconvert().none(), "threads"_a)
        .def("up", &RowPass::up, "v"_a, "B v")
        .def("squares", &RowPass::squares, "The squared lengths of the rows.")
        .def("down", &RowPass::down, "x"_a, "B'x")
        .def("weigh", &RowPass::weigh, "weight"_a, "B' diag(weight) B, flat")
        .def("decide", &RowPass::decide, "h"_a, "v"_a, "scale"_a,
             "What is certain while no price moves by more than the length of its row in a metric.")
        .def("measure", &RowPass::measure, "h"_a, "v"_a, "t"_a,
             "The duality gap of t and v, coordinate by coordinate; NaN in t is filled in.");
}

}  // namespace kdsl
