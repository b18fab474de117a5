// What the calls of Python have in common: its arrays, and the parts of a problem that are made of them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "control.hpp"
#include "expansion.hpp"
#include "points.hpp"
#include "separable_view.hpp"

namespace kdsl {

namespace nb = nanobind;

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using SingleTable = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto vector_of(const Array& a) {
    return std::vector<std::remove_const_t<typename Array::Scalar>>(a.data(), a.data() + a.size());
}

template <class Number>
nb::object array_of(const std::vector<Number>& v) {
    return nb::cast(nb::ndarray<nb::numpy, const Number, nb::ndim<1>>(v.data(), {v.size()}, nb::handle()),
                    nb::rv_policy::copy);
}

// What `work` returns, the GIL released meanwhile.
template <class Work>
auto without_gil(const Work& work) {
    const nb::gil_scoped_release released;
    return work();
}

// Points, kept alive with the arrays that they look into. Those in single precision are for expansions only.
class PointsView {
public:
    static PointsView of_dense(const Table& points);
    static PointsView of_single(const SingleTable& points);
    static PointsView of_sparse(const Longs& start, const Ints& feature, const Doubles& value, std::int64_t features);

    std::int64_t count() const;
    std::int64_t features() const { return features_; }
    bool sparse() const { return start_.has_value(); }
    PointSource source() const;
    NewPoints new_points() const;

private:
    std::optional<Table> dense_;
    std::optional<SingleTable> single_;
    std::optional<Longs> start_;
    std::optional<Ints> feature_;
    std::optional<Doubles> value_;
    std::int64_t features_ = 0;
};

// No numbers where there is no centre.
std::vector<double> centre_of(const std::optional<Doubles>& centre, const PointsView& points);

// Separable of kdsl/solving/normal_form.py in its arrays, which fit together and are kept alive.
class Pieces {
public:
    Pieces(const Longs& offsets, const Doubles& left, const Doubles& right, const Doubles& curvature,
           const Doubles& slope, const Doubles& value);

    std::int64_t size() const { return std::int64_t(offsets_.size()) - 1; }
    SeparableView view() const;
    Separable copy() const;

private:
    Longs offsets_;
    Doubles left_, right_, curvature_, slope_, value_;
};

// Lets Python see signals and the caller see progress; from the thread that called, about every 50 ms.
Control::Poll poll_of(nb::object callback);

void bind_parts(nb::module_& module);
void bind_solving(nb::module_& module);
void bind_expansions(nb::module_& module);
void bind_rows(nb::module_& module);

}  // namespace kdsl
