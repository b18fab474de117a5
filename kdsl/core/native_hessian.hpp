// Q = S'KS for a kernel K that the core evaluates itself and sparse atoms S.
//
// Most atoms are one example, some a pair, a few a whole group. K is evaluated between the points that a block's atoms
// touch and combined. The product K S_k of an atom with many points is computed once and kept, so that it costs as
// much as one row of K however often it is used.
#pragma once

#include <limits>
#include <optional>
#include <tuple>

#include "aligned.hpp"
#include "hessian.hpp"
#include "kernel_blocks.hpp"
#include "thin_points.hpp"

namespace kdsl {

// The columns of S, compressed: atom k has coefficient[e] at point[e] for start[k] <= e < start[k+1].
struct Atoms {
    std::vector<std::int64_t> start, point;
    std::vector<double> coefficient;

    std::int64_t size() const { return std::int64_t(start.size()) - 1; }
    std::int64_t entries(std::int64_t k) const { return start[k + 1] - start[k]; }
};

class NativeHessian final : public Hessian, public RowSource {
public:
    // `centre`, if it is one, is subtracted from dense points, at which so many threads look. Throws
    // std::invalid_argument for one that is not finite. `memory`: bytes of which products of heavy atoms may take a part.
    NativeHessian(const KernelSpec& kernel, const PointSource& points, std::vector<double> centre, Atoms atoms,
                  const Micro& micro, int threads, double memory = 1e9);

    std::int64_t size() const override { return atoms_.size(); }
    bool is_thin() const { return thin_.has_value(); }
    // What double precision makes of distances, which are sums that nearly cancel, in the exponent of a Gaussian kernel.
    double blur() const { return gaussian_ ? std::numeric_limits<double>::epsilon() * largest_ : 0; }
    bool has_single() const override { return fits_single_; }
    // Values of a polynomial may be of any size, and are summed as they are; those of a linear kernel in double precision.
    bool is_even() const override { return !polynomial_; }
    // Of a linear kernel only working sets are evaluated entry by entry.
    double entry_cost() const override;
    // The products of heavy atoms.
    void prepare(Pool& pool) override;
    double roughness(Pool& pool) override;
    // Points that cannot be rounded stay as they are, whatever other terms of Q do.
    void set_rough(bool rough) override { rough_ = rough && may_be_rough(); }
    void block(const Indices& set, float* out, std::int64_t stride, Pool& pool) override;
    void block(const Indices& set, double* out, std::int64_t stride, Pool& pool) override;
    std::unique_ptr<SetRows> set_rows(const Indices& set, Pool& pool) override;
    RowSource* row_source() override { return single_ && !linear_ ? this : nullptr; }
    bool whole() const override { return false; }
    void rows(const Indices& which, const Indices& cols, float* out, std::int64_t stride, Pool& pool) override;
    void rows(const Indices& which, const Indices& cols, double* out, std::int64_t stride, Pool& pool) override;
    void accumulate(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols, bool exact,
                    double* f, Pool& pool) override;
    std::unique_ptr<Sums> sums(const Indices& rows, const std::vector<double>& coefficient, const Indices& cols,
                               double* f, Pool& pool) override;

private:
    bool may_be_rough() const { return distinct_ && fits_single_ && !linear_ && blocks_.has_rough(); }
    class SingleSums;
    class SingleRows;
    template <class T>
    void any_block(const Indices& set, T* out, std::int64_t stride, Pool& pool);
    struct Single {
        Indices points;
        std::vector<double> scale;
        double same;  // every coefficient is this one, where it is not 0
    };
    Single single(const Indices& set) const;
    const Single& single_or_all(const Indices& set, Single& room);
    // Rows and columns of atoms of one point each; the same list twice makes a symmetric block.
    template <class T>
    void single_block(const Indices& row_set, const Indices& col_set, T* out, std::int64_t stride, Pool& pool);
    template <class T>
    const T* gram_of(const Indices& points, Pool& pool);
    bool is_heavy(std::int64_t k) const { return heavy_slot_[k] >= 0; }
    // The points of the light atoms of `set`, each once, those of single examples first; slot_ holds their places
    // until the next call.
    Indices points_of(const Indices& set);
    void accumulate(const Indices& rows, const std::vector<double>& weight, const Indices& cols, bool exact,
                    const KernelBlocks::Take& take, Pool& pool);
    void accumulate_all(const Indices& rows, const std::vector<double>& coefficient, bool exact, double* f, Pool& pool);
    double times(std::int64_t k, const std::vector<double>& values) const;
    std::optional<std::pair<std::size_t, double>> multiple_of(std::size_t h) const;

    std::optional<ThinPoints> thin_;          // what is left of dense points, where that is little
    PointSource source_;
    std::vector<double> centre_;
    std::int64_t points_, features_;
    bool linear_, polynomial_, gaussian_;
    Extent extent_;
    double largest_;                          // of the kernel's sum
    bool fits_single_;                        // no value of the kernel leaves the range of single precision
    bool rough_ = false;                      // single precision is that of points rounded to 16 bits
    KernelBlocks blocks_;
    Atoms atoms_;
    bool single_;                             // no atom has more than one point
    bool distinct_;                           // nor is one that of another atom as well
    std::vector<std::int64_t> heavy_;         // atoms with many points,
    std::vector<std::int64_t> heavy_slot_;    // where each is in heavy_, or -1,
    std::vector<std::vector<double>> product_;  // and K S_k of each
    std::vector<std::int64_t> slot_;
    Single all_;                              // of all coordinates, once they are asked for

    template <class T>
    struct Room {
        Aligned<T> values;
        std::size_t size = 0;
    };
    std::tuple<Room<float>, Room<double>> rooms_;
};

}  // namespace kdsl
