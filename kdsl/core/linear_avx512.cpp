// The loops of linear_loops.hpp for AVX-512 (F, BW, DQ, VL).
#define KDSL_WIDTH 64
#define KDSL_NAME avx512
#include "linear_loops.hpp"
