// The Python face of the core: what kdsl._core exposes (kdsl/_core.pyi states it with types).
#include <nanobind/stl/string.h>

#include "micro.hpp"
#include "python_parts.hpp"

using namespace kdsl;

NB_MODULE(_core, module) {
    module.doc() = "The compiled part of kdsl.";
    module.def("version", [] { return KDSL_VERSION; }, "The version of kdsl that this core was built for.");
    module.def("isa", [] { return choose_micro().name; }, "The instruction set in use.");
    bind_parts(module);
    bind_solving(module);
    bind_expansions(module);
    bind_rows(module);
}
