// The loops of linear_pass.cpp for one instruction set; linear_loops.hpp says what each does.
#pragma once

#include <cstdint>

namespace kdsl {

inline constexpr std::int64_t kRowPad = 8;     // rows in a block are padded to a multiple of this
inline constexpr std::int64_t kBlockRows = 64;

struct LinearLoops {
    void (*up)(const double* block, std::int64_t rows, std::int64_t width, const double* v, double* out);
    void (*lengths)(const double* block, std::int64_t rows, std::int64_t width, const double* scale, double* out);
    void (*down)(const double* block, std::int64_t rows, std::int64_t width, const double* x, double* out);
    void (*weigh)(const double* block, std::int64_t rows, std::int64_t width, const double* weight, double* scaled,
                  double* total);
};

extern const LinearLoops linear_portable;
#if defined(__x86_64__)
extern const LinearLoops linear_avx2;
extern const LinearLoops linear_avx512;
#endif

// Those that go with choose_micro().
const LinearLoops& linear_loops();

}  // namespace kdsl
