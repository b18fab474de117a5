// A sum over rows for many columns, in parts that the workers of a pool may take in any order and at any time.
#pragma once

#include <cstdint>

namespace kdsl {

class Sums {
public:
    virtual ~Sums() = default;

    // Parts of kColumns columns in their order, the last of what is left.
    static constexpr std::int64_t kColumns = 32;
    virtual std::int64_t parts() const = 0;
    // Takes each part once, in whatever order.
    virtual void take(std::int64_t part, int worker) = 0;
};

}  // namespace kdsl
