// Memory on cache-line boundaries; see aligned.hpp.
#include "aligned.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace kdsl {

namespace {

constexpr std::size_t kLine = 64, kHuge = std::size_t(2) << 20;
// Bytes of what is large, and of all that is kept.
constexpr std::size_t kLarge = 4 * kHuge, kMost = std::size_t(256) << 20;
// A piece may be so many times as large as what is wanted of it.
constexpr std::size_t kRoomy = 2;

// Those given back last are at the end. Whoever finds them in use does without: so does a child that was forked while
// another thread used them.
struct Kept {
    std::mutex mutex;
    std::vector<Memory> pieces;

    std::size_t bytes() const {
        std::size_t sum = 0;
        for (const Memory& piece : pieces) sum += piece.bytes;
        return sum;
    }
    // False where there is no room to remember it.
    bool keep(Memory memory) noexcept {
        try {
            pieces.push_back(memory);
        } catch (const std::bad_alloc&) {
            return false;
        }
#if defined(MADV_FREE)
        madvise(memory.at, memory.bytes, MADV_FREE);
#endif
        while (bytes() > kMost) drop(1);
        return true;
    }
    void drop(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) std::free(pieces[i].at);
        pieces.erase(pieces.begin(), pieces.begin() + std::ptrdiff_t(count));
    }
};
Kept& kept = *new Kept;  // for good: memory is given back until the process has ended

void* allocate(std::size_t unit, std::size_t bytes) {
    if (void* const p = std::aligned_alloc(unit, bytes)) return p;
    if (const std::unique_lock<std::mutex> lock(kept.mutex, std::try_to_lock); lock) kept.drop(kept.pieces.size());
    if (void* const p = std::aligned_alloc(unit, bytes)) return p;
    throw std::bad_alloc();
}

}  // namespace

Memory take_memory(std::size_t bytes) {
    const std::size_t unit = bytes >= kLarge ? kHuge : kLine;
    const std::size_t wanted = (bytes / unit + 1) * unit;
    if (unit == kHuge) {
        const std::unique_lock<std::mutex> lock(kept.mutex, std::try_to_lock);
        const auto fits = [&](const Memory& p) { return p.bytes >= wanted && p.bytes <= kRoomy * wanted; };
        if (lock)
            if (const auto found = std::ranges::find_if(kept.pieces, fits); found != kept.pieces.end()) {
                const Memory memory = *found;
                kept.pieces.erase(found);
                return memory;
            }
    }
    void* const p = allocate(unit, wanted);
#if defined(__linux__)
    if (unit == kHuge) madvise(p, wanted, MADV_HUGEPAGE);
#endif
    return {p, wanted};
}

void give_back(Memory memory) noexcept {
#if defined(MADV_FREE)  // else what is kept would be lost to everybody else
    if (memory.bytes >= kLarge && memory.bytes <= kMost) {
        if (const std::unique_lock<std::mutex> lock(kept.mutex, std::try_to_lock); lock && kept.keep(memory)) return;
    }
#endif
    std::free(memory.at);
}

}  // namespace kdsl
