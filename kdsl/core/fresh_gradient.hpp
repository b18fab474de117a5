// The gradient f = Qt that a solve goes by, and how far from optimal it shows the point to be.
//
// Solves   whether the tolerance is met at t, where the stages keep f only roughly in step.
// Given    t and f after a stage.
// Returns  f computed afresh where that matters, and the standing: m - M and the duality gap, or the most that the errors
//          of f allow.
// How      coordinates that violate nothing by a margin well above the drift of f are left as they are. Where f says that
//          the tolerance is met, a sample of the others is computed afresh to learn the drift of all, and those for which
//          it could make a difference; all of them where that does not do, or a sample does not speak for the rest
//          (docs/decisions/0027).
#pragma once

#include <cmath>

#include "measure.hpp"
#include "problem.hpp"

namespace kdsl {

struct Standing {
    double kkt_gap = 0, relative_gap = 0, value = 0;
    double beyond = 0;  // what hard constraints are violated by
    double size = 0;    // of the derivatives

    bool meets(const Options& options) const {
        if (options.kkt_tolerance >= 0) return kkt_gap <= options.kkt_tolerance;
        return relative_gap <= options.tolerance && beyond <= options.tolerance;
    }
};

class FreshGradient {
public:
    // All of it outlives this object; `exchange` where classes are coupled.
    FreshGradient(const Problem& problem, const Options& options, Pool& pool, Exchange* exchange, Control& control);

    std::vector<double>& values() { return f_; }
    const Standing& standing() const { return standing_; }
    std::int64_t iterations() const { return iterations_; }  // that there had been when it was measured
    bool satisfied() const { return standing_.meets(options_); }
    // The t at which f was computed afresh last; at first 0, or what `begin` was told.
    const std::vector<double>& known() const { return known_; }
    std::int64_t refreshes() const { return refreshes_; }
    double entries() const { return entries_; }  // of Q that were computed

    // All of f, in double precision where that is wanted: from nothing, or from a known product where that is nearer, which
    // is told.
    bool begin(const std::vector<double>& t, Product known, bool exact);
    // A stage has left errors of rounded points everywhere.
    void spoil() { stale_.assign(f_.size(), 1); }
    // f after a stage that was to get m - M down to eps; in single precision only the errors of rounded points go.
    void refresh(const std::vector<double>& t, double eps, bool exact = true);

private:
    // The coordinates that are not 0, and their values.
    struct Support {
        Indices rows;
        std::vector<double> coefficient;
    };

    Support support(const std::vector<double>& t) const;
    bool carry(const Product& known, const std::vector<double>& t, Support& from);
    void renew(const Support& from, const Indices& some, bool exact);
    bool sampled(const std::vector<double>& t, const Support& from, const Indices& near, double margin);
    Indices within(const std::vector<double>& t, const Measure& rough, double margin, double wide) const;
    Indices decisive_among(const std::vector<double>& t, const Indices& near, Drift drift) const;
    Indices without_fresh(const Indices& some) const;
    bool is_stale(std::int64_t k) const { return !stale_.empty() && stale_[k] != 0; }
    Measure measured(const std::vector<double>& t, Drift drift = {}) const;
    void take(const Measure& measure);

    const Problem& problem_;
    const Options& options_;
    Pool& pool_;
    Exchange* exchange_;
    Control& control_;
    Indices all_;
    std::vector<double> f_, known_;
    Standing standing_{.kkt_gap = kInfinity, .relative_gap = kInfinity};  // before `begin` nothing is known
    std::int64_t iterations_ = -1;
    double drift_ = 0, stale_drift_ = 0;  // the largest error seen in a gradient that a stage kept, or a rough one
    std::vector<char> stale_;             // where it has not been computed afresh since a rough stage
    std::vector<char> fresh_;             // where it has been in the last refresh
    std::int64_t refreshes_ = 0;
    double entries_ = 0;
};

}  // namespace kdsl
