// Chooses the instruction set when the program runs.
#include "micro.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace kdsl {

namespace {

#if defined(__x86_64__)
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

// Whether the processor has a unit for tiles and the system lets this process keep data in it, which has to be asked.
bool may_use_tiles() {
#if defined(__linux__)
    constexpr unsigned kTile = 1u << 24, kBytes = 1u << 25;
    constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTile) != 0 && (d & kBytes) != 0 &&
           syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
#else
    return false;
#endif
}

const Micro* avx512(bool with_tiles) {
    static const Micro table = [] {
        Micro made = micro_avx512;
        if (!__builtin_cpu_supports("avx512vnni")) made.panels_l = {};
        return made;
    }();
    static const Micro tiled = [] {
        Micro made = table;
        made.name = "amx";
        made.tiles = may_use_tiles() ? &tiles_amx : nullptr;
        return made;
    }();
    return !with_tiles ? &table : tiled.tiles != nullptr ? &tiled : nullptr;
}
#endif

const Micro* find(const std::string& name) {
    if (name == "portable") return &micro_portable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (name == "avx2" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &micro_avx2;
    if ((name == "avx512" || name == "amx") && has_avx512()) return avx512(name == "amx");
#elif defined(__aarch64__)
    if (name == "neon") return &micro_neon;
#endif
    return nullptr;
}

}  // namespace

const Micro& choose_micro() {
    if (const char* forced = std::getenv("KDSL_ISA"); forced != nullptr && *forced != '\0') {
        if (const Micro* table = find(forced)) return *table;
        throw std::runtime_error("KDSL_ISA=" + std::string(forced) +
                                 " is not one of portable, avx2, avx512, amx, neon, or this processor lacks it");
    }
    for (const char* name : {"amx", "avx512", "avx2", "neon"})
        if (const Micro* table = find(name)) return *table;
    return micro_portable;
}

}  // namespace kdsl
