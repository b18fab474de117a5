"""kdsl: write a kernel machine's primal problem as printed, get its Lagrangian, dual and KKT system derived."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdsl.api.problem import Problem as Problem
    from kdsl.language.diagnostics import Diagnostic as Diagnostic
    from kdsl.language.diagnostics import KdslError as KdslError
    from kdsl.models.model_file import load_model as load_model
    from kdsl.pipeline import derive as derive
    from kdsl.pipeline import parse_spec as parse_spec
    from kdsl.pipeline import read_spec as read_spec
    from kdsl.solving.api import solve as solve

_HOME = {
    "Diagnostic": "kdsl.language.diagnostics",
    "KdslError": "kdsl.language.diagnostics",
    "Problem": "kdsl.api.problem",
    "derive": "kdsl.pipeline",
    "load_model": "kdsl.models.model_file",
    "parse_spec": "kdsl.pipeline",
    "read_spec": "kdsl.pipeline",
    "solve": "kdsl.solving.api",
}

__all__ = [
    "Diagnostic",
    "KdslError",
    "Problem",
    "__version__",
    "derive",
    "load_model",
    "parse_spec",
    "read_spec",
    "solve",
]

__version__: str


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: `import kdsl` alone loads nothing else."""
    if name == "__version__":
        from importlib.metadata import version

        return version("kdsl")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'kdsl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
