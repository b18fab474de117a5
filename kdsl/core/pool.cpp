// The pool of threads of one solve; see pool.hpp.
#include "pool.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace kdsl {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kAwake{200}, kLate{100}, kCrowded{50'000};
constexpr int kLooks = 64;  // at a value between two at the clock

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// A new thread may be put behind its maker, which never sleeps, and wait there until the system balances the load:
// longer than many a solve. So it begins on another processor, and is free to go anywhere once it runs.
class Beginning {
public:
#if defined(__linux__)
    Beginning() : known_(sched_getaffinity(0, sizeof allowed_, &allowed_) == 0), others_(allowed_) {
        const int here = sched_getcpu();
        if (here >= 0) CPU_CLR(here, &others_);
        known_ = known_ && here >= 0 && CPU_COUNT(&others_) > 0;
    }
    void elsewhere(std::thread& worker) {
        if (known_) pthread_setaffinity_np(worker.native_handle(), sizeof others_, &others_);
        placed_.fetch_add(1);
        placed_.notify_all();
    }
    void free(int worker) {
        for (int placed; (placed = placed_.load()) < worker;) placed_.wait(placed);
        if (known_) sched_setaffinity(0, sizeof allowed_, &allowed_);
    }

private:
    cpu_set_t allowed_;
    bool known_;
    cpu_set_t others_;
    std::atomic<int> placed_{0};
#else
    void elsewhere(std::thread&) {}
    void free(int) {}
#endif
};

// When a thread last found that others wanted its processor, for all pools.
std::atomic<Clock::rep> crowded_until{0};

// Waits until `value` is not `old`: awake for a while, since to be woken takes longer than many a share of work, but not
// where others want the processor, which shows by looks that come late.
template <class T>
T changed(const std::atomic<T>& value, T old) {
    const auto ticks = [](Clock::duration d) { return std::chrono::duration_cast<Clock::duration>(d).count(); };
    Clock::rep now = ticks(Clock::now().time_since_epoch());
    const Clock::rep until = now + ticks(kAwake);
    for (int looks = 1; now < until && now > crowded_until.load(std::memory_order_relaxed); ++looks) {
        if (const T there = value.load(std::memory_order_acquire); there != old) return there;
        relax();
        if (looks % kLooks != 0) continue;
        std::this_thread::yield();
        const Clock::rep before = std::exchange(now, ticks(Clock::now().time_since_epoch()));
        if (now - before > ticks(kLate)) crowded_until.store(now + ticks(kCrowded), std::memory_order_relaxed);
    }
    value.wait(old);
    return value.load();
}

}  // namespace

Pool::Pool(int threads, std::function<void()> between)
    : between_(std::move(between)), shares_(new Share[std::max(threads, 1)]) {
    if (threads < 2) return;
    const auto beginning = std::make_shared<Beginning>();
    for (int worker = 1; worker < threads; ++worker) {
        try {
            workers_.emplace_back([this, worker, beginning] {
                beginning->free(worker);
                serve(worker);
            });
        } catch (const std::system_error&) {
            break;  // no more are to be had: fewer will do
        }
        beginning->elsewhere(workers_.back());
    }
}

Pool::~Pool() {
    ending_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void Pool::serve(int worker) {
    for (std::uint32_t seen = 0;;) {
        seen = changed(round_, seen);
        if (ending_.load()) return;
        inside_.fetch_add(1);
        if (open_.load()) drain(worker);
        if (inside_.fetch_sub(1) == 1) inside_.notify_one();
    }
}

template <class Work>
void Pool::attempt(Work work) {
    try {
        work();
    } catch (...) {
        if (!failed_.exchange(true)) error_ = std::current_exception();
    }
}

void Pool::drain(int worker) {
    for (int k = 0; k < size(); ++k) {
        Share& share = shares_[(worker + k) % size()];
        for (std::int64_t i; !failed_.load(std::memory_order_relaxed) && (i = share.next.fetch_add(1)) < share.end;)
            attempt([&] {
                (*task_)(i, worker);
                if (worker == 0 && between_) between_();
            });
    }
}

// Shares for the workers from `first` on.
void Pool::open(std::int64_t count, int first, const std::function<void(std::int64_t, int)>& task) {
    task_ = &task;
    const int sharing = size() - first;
    for (int worker = 0; worker < size(); ++worker) {
        const int place = worker - first;
        shares_[worker].next.store(place < 0 ? 0 : count * place / sharing);
        shares_[worker].end = place < 0 ? 0 : count * (place + 1) / sharing;
    }
    failed_.store(false);
    error_ = nullptr;
    open_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
}

void Pool::close() {
    open_.store(false);
    for (int left = inside_.load(); left > 0;) left = changed(inside_, left);
    if (error_) std::rethrow_exception(error_);
}

void Pool::run(std::int64_t count, const std::function<void(std::int64_t, int)>& task) {
    if (count <= 1 || workers_.empty()) {
        for (std::int64_t i = 0; i < count; ++i) {
            task(i, 0);
            if (between_) between_();
        }
        return;
    }
    open(count, 0, task);
    drain(0);
    close();
}

void Pool::run_beside(const std::function<void()>& own, std::int64_t count,
                      const std::function<void(std::int64_t, int)>& task) {
    if (count < 1 || workers_.empty()) {
        own();
        return run(count, task);
    }
    open(count, 1, task);
    attempt(own);
    drain(0);
    close();
}

}  // namespace kdsl
