// f(z) = sum_i coefficient[i] k(x_i, z) at many points z: what prediction computes. Several vectors of coefficients, one
// after another, share the values k(x_i, z), and so do what they return.
//
// The points x_i are centred, scaled and kept in each precision that is asked for, dense ones by little where they have most
// features in common (thin_points.hpp). New points are read where they lie, in either precision, and packed panel by panel; a value does not depend on which worker computes it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "limb_points.hpp"
#include "points.hpp"
#include "pool.hpp"
#include "thin_points.hpp"

namespace kdsl {

// Points to evaluate at: those of the source, or dense ones in single precision.
struct NewPoints {
    PointSource source;
    const float* single = nullptr;  // source.count x source.features
};

class Expansion {
public:
    // The source must outlive this object. `centre` is subtracted from dense points that are not thin; empty: nothing is.
    Expansion(const KernelSpec& kernel, const PointSource& points, std::vector<double> centre, const Micro& micro,
              int threads);

    bool is_thin() const { return thin_.has_value(); }
    std::vector<double> values(const std::vector<double>& coefficient, const NewPoints& at, Pool& pool);
    // The terms in single precision, sums of many of them in double. Nothing where that is not precise enough: where
    // sums so large lose digits that matter, or where one of kSample points, evaluated in double precision as well,
    // differs by more than kDoubt of the largest value.
    std::optional<std::vector<double>> rough_values(const std::vector<double>& coefficient, const NewPoints& at,
                                                    Pool& pool);

    static constexpr std::int64_t kSample = 16;
    static constexpr double kDoubt = 1e-4;

private:
    template <class T>
    struct Room;

    template <class T>
    const PointsOf<T>& support(Pool& pool);
    // out[m * |index| + j] = f_m(point index[j]); returns the largest sum of one of these points with itself.
    template <class T>
    double evaluate(const std::vector<double>& coefficient, const NewPoints& at, const std::vector<std::int64_t>& index,
                    double* out, Pool& pool);
    template <class T>
    void add_rows(const PointsOf<T>& rows, const std::vector<Value<T>>& weight, const Form& form, std::int64_t panels,
                  Room<T>& room) const;
    // How many vectors of coefficients there are.
    std::int64_t many(const std::vector<double>& coefficient) const {
        return points_.count > 0 ? std::int64_t(coefficient.size()) / points_.count : 1;
    }
    // The largest sum of a new point with itself; infinite where it is not worth computing beforehand.
    double largest(const NewPoints& at, const std::vector<std::int64_t>& index, Pool& pool) const;
    // Up to kPanel<T> points; returns the largest sum.
    template <class T>
    double pack(const NewPoints& at, const std::int64_t* index, std::int64_t count, T* panel, T* bias) const;
    double pack(const NewPoints& at, const std::int64_t* index, std::int64_t count, Limbs* panel, Scaled* bias) const;
    template <class From>
    double pack_limbs(const From* from, const std::int64_t* index, std::int64_t count, Limbs* panel,
                      Scaled* bias) const;
    template <class T, class From>
    void pack_dense(const From* const* from, std::int64_t count, T* panel, double* size) const;
    template <class T>
    void pack_sparse(const PointSource& source, const std::int64_t* index, std::int64_t count, T* panel,
                     double* size) const;

    KernelSpec kernel_;
    std::optional<ThinPoints> thin_;
    PointSource points_;
    std::vector<double> centre_;  // what is subtracted from new points
    const Micro& micro_;
    std::tuple<std::unique_ptr<LimbPoints>, std::unique_ptr<Points<float>>, std::unique_ptr<Points<double>>> support_;
    std::mutex preparing_;
};

}  // namespace kdsl
