// Chooses the instruction set when the program runs.
#include "micro.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace kdsl {

namespace {

const Micro* find(const std::string& name) {
    if (name == "portable") return &micro_portable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (name == "avx2" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &micro_avx2;
    if (name == "avx512" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        static const Micro without_lattice = [] {
            Micro table = micro_avx512;
            table.panels_l = {};
            return table;
        }();
        return __builtin_cpu_supports("avx512vnni") ? &micro_avx512 : &without_lattice;
    }
#endif
    return nullptr;
}

}  // namespace

const Micro& choose_micro() {
    if (const char* forced = std::getenv("KDSL_ISA"); forced != nullptr && *forced != '\0') {
        if (const Micro* table = find(forced)) return *table;
        throw std::runtime_error("KDSL_ISA=" + std::string(forced) +
                                 " is not one of portable, avx2, avx512, or this processor lacks it");
    }
    for (const char* name : {"avx512", "avx2"})
        if (const Micro* table = find(name)) return *table;
    return micro_portable;
}

}  // namespace kdsl
