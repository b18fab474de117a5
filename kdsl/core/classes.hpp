// How the rows A t = a tie the coordinates together.
//
// Coordinates whose columns of A are parallel form a class. They are scaled so that every column of a class is the
// same vector D_c, of largest entry 1, and so that classes are contiguous; then a row reads
// sum_c D_c (sum of the class) = a. Moving weight inside a class keeps the rows. Where the D_c are linearly
// independent (no row, one row, the nu forms, a bias for each group, simplex rows) nothing else does: `decoupled`.
// Coordinates that meet no row are a class of their own, `free`, and move alone.
#pragma once

#include <cstdint>
#include <vector>

namespace kdsl {

struct Classes {
    std::vector<std::int64_t> begin;  // class c holds coordinates begin[c] .. begin[c+1]
    bool first_is_free = false;
    bool decoupled = true;
    std::int64_t rank = 0;            // the rows that are left when dependent ones are dropped; 0 when decoupled
    // D_c in combinations of the rows that are clearly independent, rank numbers for each class; empty when decoupled.
    std::vector<double> direction;

    std::int64_t size() const { return std::int64_t(begin.size()) - 1; }
    bool is_free(std::int64_t c) const { return first_is_free && c == 0; }
};

}  // namespace kdsl
