// The Python face of the core: what kdsl._core exposes.
#include <nanobind/nanobind.h>

NB_MODULE(_core, module) {
    module.doc() = "The compiled part of kdsl.";
    module.def("version", [] { return KDSL_VERSION; }, "The version of kdsl that this core was built for.");
}
