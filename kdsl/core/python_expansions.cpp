// Sums of kernel values as Python sees them: products with a kernel matrix, and the expansions of expansion.hpp.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "hessian.hpp"
#include "kernel_blocks.hpp"
#include "python_parts.hpp"

namespace kdsl {

using namespace nb::literals;

namespace {

// How many numbers there are for each of `count` points, all of the first numbers before all of the second; 1 for no points.
std::int64_t for_each(const Doubles& coefficient, std::int64_t count) {
    const std::int64_t size = std::int64_t(coefficient.size());
    if (count == 0 ? size > 0 : size == 0 || size % count > 0)
        throw std::invalid_argument("the points and the coefficients do not fit together");
    return count == 0 ? 1 : size / count;
}

// sum_i coefficient[i] k(row i, col j) for every j; for each of several vectors of coefficients one after another.
nb::object kernel_product(const KernelSpec& kernel, const PointsView& rows, const Doubles& coefficient,
                          const PointsView& cols, int threads, bool single) {
    const std::int64_t m = rows.count(), n = cols.count();
    const std::int64_t many = for_each(coefficient, m);
    if (rows.features() != cols.features() || rows.sparse() != cols.sparse())
        throw std::invalid_argument("the points and the coefficients do not fit together");
    const PointSource from = rows.source(), to = cols.source();
    KernelBlocks blocks(kernel, from, to, choose_micro());
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
class ExpansionOnPoints {
public:
    ExpansionOnPoints(const KernelSpec& kernel, const PointsView& points, const std::optional<Doubles>& centre,
                      int threads)
        : view_(points) {
        std::vector<double> middle = centre_of(centre, view_);
        expansion_ = without_gil([&] {
            return std::make_unique<Expansion>(kernel, view_.source(), std::move(middle), choose_micro(), threads);
        });
    }

    bool is_thin() const { return expansion_->is_thin(); }

    // For each of several vectors of coefficients one after another; None where single precision is asked for and is not enough.
    nb::object values(const Doubles& coefficient, const PointsView& at, int threads, bool single) const {
        for_each(coefficient, view_.count());
        if (at.features() != view_.features() || at.sparse() != view_.sparse())
            throw std::invalid_argument("the points and the coefficients do not fit together");
        const std::vector<double> weight = vector_of(coefficient);
        Control control(kInfinity, std::numeric_limits<std::int64_t>::max(), poll_of(nb::none()));
        const auto out = without_gil([&]() -> std::optional<std::vector<double>> {
            Pool pool(std::max(1, threads), [&control] { control.check(); });
            if (single) return expansion_->rough_values(weight, at.new_points(), pool);
            return expansion_->values(weight, at.new_points(), pool);
        });
        return out ? array_of(*out) : nb::none();
    }

private:
    PointsView view_;
    std::unique_ptr<Expansion> expansion_;
};

}  // namespace

void bind_expansions(nb::module_& module) {
    nb::class_<ExpansionOnPoints>(module, "Expansion", "sum_i coefficient[i] k(point i, z) at many z, the points kept.")
        .def(nb::init<const KernelSpec&, const PointsView&, const std::optional<Doubles>&, int>(), "kernel"_a,
             "points"_a, "centre"_a.noconvert().none(), "threads"_a)
        .def_prop_ro("thin", &ExpansionOnPoints::is_thin,
                     "Whether dense points are held by what is left of them (thin_points.hpp).")
        .def("values", &ExpansionOnPoints::values, "coefficient"_a.noconvert(), "at"_a, "threads"_a, "single"_a,
             "The values at other points; None where single precision is asked for and not precise enough.");
    module.def("kernel_product", &kernel_product, "kernel"_a, "rows"_a, "coefficient"_a, "cols"_a, "threads"_a,
               "single"_a, "sum_i coefficient[i] k(row i, col j) for every j.");
}

}  // namespace kdsl
