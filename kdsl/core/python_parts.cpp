// The parts of a problem in Python's arrays; see python_parts.hpp.
#include "python_parts.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace kdsl {

using namespace nb::literals;

namespace {

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

}  // namespace

PointsView PointsView::of_dense(const Table& points) {
    PointsView view;
    view.dense_ = points;
    view.features_ = std::int64_t(points.shape(1));
    return view;
}

PointsView PointsView::of_single(const SingleTable& points) {
    PointsView view;
    view.single_ = points;
    view.features_ = std::int64_t(points.shape(1));
    return view;
}

PointsView PointsView::of_sparse(const Longs& start, const Ints& feature, const Doubles& value,
                                 std::int64_t features) {
    if (start.size() < 1 || feature.size() != value.size() || start.data()[0] != 0 || features < 0 ||
        features > std::numeric_limits<std::int32_t>::max() ||
        !std::is_sorted(start.data(), start.data() + start.size()) ||
        start.data()[start.size() - 1] > std::int64_t(value.size()))
        throw std::invalid_argument("the arrays of a sparse matrix do not fit together");
    for (std::size_t row = 0; row + 1 < start.size(); ++row) {
        std::int64_t before = -1;  // the features of a row rise
        for (std::int64_t e = start.data()[row]; e < start.data()[row + 1]; ++e) {
            const std::int64_t own = feature.data()[e];
            if (own <= before || own >= features)
                throw std::invalid_argument("a sparse matrix names features that it does not have, or twice");
            before = own;
        }
    }
    PointsView view;
    view.start_ = start;
    view.feature_ = feature;
    view.value_ = value;
    view.features_ = features;
    return view;
}

std::int64_t PointsView::count() const {
    if (single_) return std::int64_t(single_->shape(0));
    return dense_ ? std::int64_t(dense_->shape(0)) : std::int64_t(start_->size()) - 1;
}

PointSource PointsView::source() const {
    if (single_) throw std::invalid_argument("points in single precision stand in no problem");
    PointSource source;
    source.count = count();
    source.features = features_;
    if (dense_) {
        source.dense = dense_->data();
    } else {
        source.start = start_->data();
        source.feature = feature_->data();
        source.value = value_->data();
    }
    return source;
}

NewPoints PointsView::new_points() const {
    if (!single_) return {source(), nullptr};
    NewPoints points;
    points.source.count = count();
    points.source.features = features_;
    points.single = single_->data();
    return points;
}

std::vector<double> centre_of(const std::optional<Doubles>& centre, const PointsView& points) {
    if (!centre) return {};
    if (std::int64_t(centre->size()) != points.features())
        throw std::invalid_argument("the centre is no point of this space");
    return vector_of(*centre);
}

Pieces::Pieces(const Longs& offsets, const Doubles& left, const Doubles& right, const Doubles& curvature,
               const Doubles& slope, const Doubles& value)
    : offsets_(offsets), left_(left), right_(right), curvature_(curvature), slope_(slope), value_(value) {
    const std::size_t pieces = left.size(), ends = offsets.size();
    if (ends == 0 || offsets.data()[0] != 0 || offsets.data()[ends - 1] != std::int64_t(pieces) ||
        right.size() != pieces || curvature.size() != pieces || slope.size() != pieces || value.size() != pieces)
        throw std::invalid_argument("the arrays of the pieces do not fit together");
    if (!std::is_sorted(offsets.data(), offsets.data() + ends, std::less_equal<>()))
        throw std::invalid_argument("a coordinate has no piece");
    for (std::size_t p = 0; p < pieces; ++p) {
        const bool numbers = std::isfinite(curvature.data()[p]) && std::isfinite(slope.data()[p]) &&
                             std::isfinite(value.data()[p]);
        if (!numbers || !(left.data()[p] <= right.data()[p]))
            throw std::invalid_argument("a piece is no interval, or its coefficients are no numbers");
    }
}

SeparableView Pieces::view() const {
    return {offsets_.data(), left_.data(), right_.data(), curvature_.data(), slope_.data(), value_.data()};
}

Separable Pieces::copy() const {
    return {vector_of(offsets_),   vector_of(left_),  vector_of(right_),
            vector_of(curvature_), vector_of(slope_), vector_of(value_)};
}

Control::Poll poll_of(nb::object callback) {
    return [callback](std::int64_t iterations, double gap) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return !callback.is_none() && nb::cast<bool>(nb::bool_(callback(iterations, gap)));
    };
}

void bind_parts(nb::module_& module) {
    nb::class_<KernelSpec>(module, "Kernel", "A kernel that the core evaluates itself (kdsl/numerics/native_kernel.py).")
        .def("__init__",
             [](KernelSpec* self, const std::string& kind, double gamma, double offset, int degree) {
                 new (self) KernelSpec{kind_of(kind), gamma, offset, degree};
             },
             "kind"_a, "gamma"_a = 1.0, "offset"_a = 0.0, "degree"_a = 1);
    nb::class_<PointsView>(module, "Points", "Points that the core looks into; the arrays are kept alive.")
        .def_static("dense", &PointsView::of_dense, "points"_a.noconvert())
        .def_static("dense", &PointsView::of_single, "points"_a.noconvert())
        .def_static("sparse", &PointsView::of_sparse, "start"_a.noconvert(), "feature"_a.noconvert(),
                    "value"_a.noconvert(), "features"_a);
    nb::class_<Pieces>(module, "Pieces", "The separable part of a normal form; the arrays are kept alive.")
        .def(nb::init<const Longs&, const Doubles&, const Doubles&, const Doubles&, const Doubles&, const Doubles&>(),
             "offsets"_a, "left"_a, "right"_a, "curvature"_a, "slope"_a, "value"_a);
}

}  // namespace kdsl
