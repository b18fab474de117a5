// The loops of micro_loops.hpp for ARM's NEON, which every 64-bit processor of theirs has.
#define KDSL_WIDTH 16
#define KDSL_NEON
#define KDSL_NAME neon
#include "micro_loops.hpp"
