// What a solve has done so far, counted where it is done: a limit that ends it loses none of it.
#pragma once

#include <cstdint>

namespace kdsl {

// Steps of Newton's method, and the factors that were computed for them.
struct Newtons {
    std::int64_t steps = 0, factors = 0;

    Newtons& operator+=(const Newtons& other) {
        steps += other.steps;
        factors += other.factors;
        return *this;
    }
};

struct Work {
    std::int64_t outer = 0, halved = 0;  // working sets, and those of them that were solved in two halves
    std::int64_t rough = 0;              // stages with points on a lattice
    Newtons newtons;
    double entries = 0;                  // of Q that were computed
};

// Does something when its scope is left, be it by an exception.
template <class Act>
struct AtEnd {
    Act act;
    ~AtEnd() { act(); }
};
template <class Act>
AtEnd(Act) -> AtEnd<Act>;

}  // namespace kdsl
