// The loops of linear_loops.hpp for any processor.
#define KDSL_WIDTH 16
#define KDSL_NAME portable
#include "linear_loops.hpp"
