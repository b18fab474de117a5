// The normal form in the solver's coordinates, and what the caller asks of the answer.
#pragma once

#include <string>

#include "classes.hpp"
#include "control.hpp"
#include "hessian.hpp"
#include "separable.hpp"
#include "work.hpp"

namespace kdsl {

// min 1/2 t'Qt + sum_k h_k(t_k) + constant, every direction keeping the rows that `classes` describes.
struct Problem {
    Separable h;
    Classes classes;
    Hessian& hessian;
    double constant = 0;

    std::int64_t size() const { return h.size(); }
};

// The whole of Q stored; rows of it, from when they are first wanted; nothing but the block of a working set.
enum class Strategy { automatic, full, stored_rows, working_set };

struct Options {
    double tolerance = 1e-6;      // on the duality gap, relative to max(1, |value|)
    double kkt_tolerance = -1;    // on m - M, in its place where it is not negative
    double memory = 1e9;          // bytes that blocks of Q may take
    int threads = 1;
    bool all_threads = true;      // whether so many are wanted however small the problem is
    Strategy strategy = Strategy::automatic;
    std::int64_t working_set = 0; // coordinates in a working set; 0 leaves the choice to the solver
    bool any_start = false;       // the start is a point that meets the rows, and no more
};

// A point and Q times it, which spare a start near it, or near a multiple of it, that product; both empty: none is known.
struct Product {
    std::vector<double> t, f;
};

struct Outcome {
    Reason reason = Reason::solved;
    std::string strategy;
    std::vector<double> t;
    double kkt_gap = 0;           // m - M with the gradient in double precision; like the next two no number where t has
                                  // moved since it was computed last, for a limit ended the solve
    double relative_gap = 0;      // of the duality gap, at the multipliers between M and m
    double value = 0;             // of the objective
    std::int64_t iterations = 0, refreshes = 0;
    Work work;
    int threads = 1;
    std::vector<double> ray;      // where `unbounded`
};

}  // namespace kdsl
