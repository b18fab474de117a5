// The loops of micro_loops.hpp for AVX2 and FMA.
#define KDSL_WIDTH 32
#define KDSL_NAME avx2
#include "micro_loops.hpp"
