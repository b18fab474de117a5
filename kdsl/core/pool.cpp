// The pool of threads of one solve; see pool.hpp.
#include "pool.hpp"

#include <algorithm>

namespace kdsl {

Pool::Pool(int threads, std::function<void()> between) : between_(std::move(between)) {
    for (int worker = 1; worker < std::max(1, threads); ++worker)
        workers_.emplace_back([this, worker] { serve(worker); });
}

Pool::~Pool() {
    ending_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void Pool::serve(int worker) {
    for (std::uint32_t seen = 0;;) {
        round_.wait(seen);
        seen = round_.load();
        if (ending_.load()) return;
        inside_.fetch_add(1);
        if (open_.load()) drain(worker);
        if (inside_.fetch_sub(1) == 1) inside_.notify_one();
    }
}

void Pool::drain(int worker) {
    for (std::int64_t i; !failed_.load(std::memory_order_relaxed) && (i = next_.fetch_add(1)) < count_;) {
        try {
            (*task_)(i, worker);
            if (worker == 0 && between_) between_();
        } catch (...) {
            if (!failed_.exchange(true)) error_ = std::current_exception();
        }
    }
}

void Pool::run(std::int64_t count, const std::function<void(std::int64_t, int)>& task) {
    task_ = &task;
    count_ = count;
    next_.store(0);
    failed_.store(false);
    error_ = nullptr;
    const bool shared = count > 1 && !workers_.empty();
    if (shared) {
        open_.store(true);
        round_.fetch_add(1);
        round_.notify_all();
    }
    drain(0);
    if (shared) {
        open_.store(false);
        for (int left; (left = inside_.load()) > 0;) inside_.wait(left);
    }
    if (error_) std::rethrow_exception(error_);
}

}  // namespace kdsl
