// Limits, progress and interruption of one solve.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace kdsl {

enum class Reason { solved, stalled, iteration_limit, time_limit, interrupted, unbounded };

// Thrown from the calling thread to leave a solve early; the point reached so far is kept.
struct Stopped {
    Reason reason;
};

class Control {
public:
    // Called from the calling thread about every 50 ms; returns true to stop and may throw.
    using Poll = std::function<bool(std::int64_t iterations, double gap)>;

    Control(double time_limit, std::int64_t max_iterations, Poll poll)
        : poll_(std::move(poll)), began_(Clock::now()), asked_(began_), limit_(time_limit), most_(max_iterations) {}

    double seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

    // To be called from the calling thread at least every few milliseconds.
    void check() {
        const auto now = Clock::now();
        if (std::chrono::duration<double>(now - began_).count() > limit_) throw Stopped{Reason::time_limit};
        if (iterations >= most_) throw Stopped{Reason::iteration_limit};
        if (now - asked_ < std::chrono::milliseconds(50)) return;
        asked_ = now;
        if (poll_ && poll_(iterations, gap)) throw Stopped{Reason::interrupted};
    }

    std::int64_t remaining() const { return most_ - iterations; }

    // For another thread: what is left of the limits, and nobody to call.
    Control quiet() const { return Control(limit_ - seconds(), remaining(), nullptr); }

    std::int64_t iterations = 0;
    double gap = 0;

private:
    using Clock = std::chrono::steady_clock;
    Poll poll_;
    Clock::time_point began_, asked_;
    double limit_;
    std::int64_t most_;
};

}  // namespace kdsl
