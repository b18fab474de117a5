// The loops of micro_loops.hpp for any processor.
#define KDSL_WIDTH 16
#define KDSL_NAME portable
#include "micro_loops.hpp"
