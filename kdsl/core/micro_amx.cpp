// The loops of micro_tiles.hpp, for AVX-512 beside AMX (tiles and 8-bit integers).
#define KDSL_WIDTH 64
#define KDSL_TILES
#include "micro_loops.hpp"

namespace kdsl {

const Tiles tiles_amx = {
    {block<Limbs>, accumulate<Limbs>, nullptr, transpose<Limbs>, nullptr},
    split<float>,
    split<double>,
};

}  // namespace kdsl
