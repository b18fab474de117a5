// Dense points that have most features in common, held by what is left of them.
//
// Black pixels, categories as numbers, counts: most features of most points have one value, also after all features were
// centred and scaled. A kernel of differences is the same when these values are subtracted, and what is left is sparse.
#pragma once

#include <optional>
#include <vector>

#include "points.hpp"

namespace kdsl {

class ThinPoints {
public:
    // Nothing where points are sparse already, have few features, or too much would be left of them, by a sample. Only for
    // a kernel of differences anything is subtracted: of features without a usual value, that of the `middle`, if there is
    // one. At the points so many threads look.
    static std::optional<ThinPoints> of(const KernelSpec& kernel, const PointSource& points,
                                        const std::vector<double>& middle, int threads);

    // What was subtracted, and what is left; it looks into this object.
    const std::vector<double>& centre() const { return centre_; }
    PointSource source() const;

private:
    ThinPoints(const PointSource& points, std::vector<double> centre, int threads);

    std::vector<double> centre_;
    std::vector<std::int64_t> start_;
    std::vector<std::int32_t> feature_;
    std::vector<double> value_;
};

}  // namespace kdsl
