// A pool of std::thread that lives as long as one solve.
//
// Nothing is shared between solves: two at once are safe, and a forked child has nothing to rebuild.
// Each worker has its share of the tasks, the same from round to round, so that what it wrote is still in its cache;
// who is done helps the others, so a task's result must not depend on which worker runs it. A round ends when its
// tasks are done: a worker that the system has not yet woken is not waited for.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace kdsl {

class Pool {
public:
    // `between` runs in the calling thread between its own tasks and may throw, which cancels the rest.
    Pool(int threads, std::function<void()> between);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    int size() const { return int(workers_.size()) + 1; }

    // task(index, worker) for each index below `count`; returns when all are done, rethrows the first exception.
    void run(std::int64_t count, const std::function<void(std::int64_t, int)>& task);
    // The same, the tasks being for the others: the calling thread does `own` first, then helps.
    void run_beside(const std::function<void()>& own, std::int64_t count,
                    const std::function<void(std::int64_t, int)>& task);

private:
    // Tasks [next, end), on a line of the cache of its own.
    struct alignas(64) Share {
        std::atomic<std::int64_t> next{0};
        std::int64_t end = 0;
    };

    void serve(int worker);
    void drain(int worker);
    void open(std::int64_t count, int first, const std::function<void(std::int64_t, int)>& task);
    void close();
    template <class Work>
    void attempt(Work work);

    std::function<void()> between_;
    std::vector<std::thread> workers_;
    const std::function<void(std::int64_t, int)>* task_ = nullptr;
    std::unique_ptr<Share[]> shares_;
    std::atomic<std::uint32_t> round_{0};
    std::atomic<int> inside_{0};
    std::atomic<bool> open_{false};
    std::atomic<bool> failed_{false};
    std::atomic<bool> ending_{false};
    std::exception_ptr error_;
};

}  // namespace kdsl
