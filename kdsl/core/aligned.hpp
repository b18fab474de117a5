// Memory on cache-line boundaries, in huge pages where it is large.
//
// Large pieces that are given back are kept for the next solve: the system clears every page that it hands out, which
// may take longer than computing what is written there. Meanwhile it is free to take their pages for something else.
#pragma once

#include <cstddef>
#include <memory>

namespace kdsl {

struct Memory {
    void* at;
    std::size_t bytes;
};
// At least `bytes` of room, uninitialised; throws std::bad_alloc.
Memory take_memory(std::size_t bytes);
void give_back(Memory memory) noexcept;

struct Release {
    std::size_t bytes = 0;
    void operator()(void* p) const noexcept { give_back({p, bytes}); }
};
template <class T>
using Aligned = std::unique_ptr<T[], Release>;

// Uninitialised room for n numbers; throws std::bad_alloc.
template <class T>
Aligned<T> aligned(std::size_t n) {
    const Memory memory = take_memory(n * sizeof(T));
    return Aligned<T>(static_cast<T*>(memory.at), Release{memory.bytes});
}

}  // namespace kdsl
