// Memory on cache-line boundaries, in huge pages where it is large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace kdsl {

struct Release {
    void operator()(void* p) const { std::free(p); }
};
template <class T>
using Aligned = std::unique_ptr<T[], Release>;

// Uninitialised room for n numbers; throws std::bad_alloc.
template <class T>
Aligned<T> aligned(std::size_t n) {
    const std::size_t huge = std::size_t(2) << 20, line = 64;
    const std::size_t unit = n * sizeof(T) >= 4 * huge ? huge : line;
    const std::size_t bytes = (n * sizeof(T) / unit + 1) * unit;
    void* p = std::aligned_alloc(unit, bytes);
    if (p == nullptr) throw std::bad_alloc();
#if defined(__linux__)
    if (unit == huge) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return Aligned<T>(static_cast<T*>(p));
}

}  // namespace kdsl
