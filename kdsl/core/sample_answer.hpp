// A rough answer for a sample of the coordinates, the others being 0.
//
// Given    a Problem, h as it is or with wider pieces, and 0 as a point that meets the rows.
// Returns  who of the sample moved, and where to.
// How      dense.hpp on the block of the sample, roughly and in single precision; each sample is the same one on every run.
#pragma once

#include "dense.hpp"
#include "problem.hpp"
#include "work.hpp"

namespace kdsl {

struct SampleAnswer {
    Indices rows;  // that moved, and where to
    std::vector<double> coefficient;
    double at_ends = 0;  // of these are at the end of a piece
};

class Sample {
public:
    // All of it outlives this object.
    Sample(const Problem& problem, const Micro& micro, Pool& pool);

    double size() const { return double(some_.size()); }
    // How many coordinates there are to each of the sample.
    double each() const { return double(problem_.size()) / size(); }
    SampleAnswer answer(const Separable& h, Control& control, Work& work);

private:
    const Problem& problem_;
    const Micro& micro_;
    Pool& pool_;
    Indices some_;
    std::int64_t stride_;
    Aligned<float> room_;
    GramBlock<float> block_;
    StandingFactor<float> standing_;
};

}  // namespace kdsl
