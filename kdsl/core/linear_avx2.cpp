// The loops of linear_loops.hpp for AVX2 with FMA.
#define KDSL_WIDTH 32
#define KDSL_NAME avx2
#include "linear_loops.hpp"
