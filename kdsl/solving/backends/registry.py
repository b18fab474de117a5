"""Finds backends by name: those of kdsl, and those that other distributions announce as `kdsl.backends`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.suggestions import nearest
from kdsl.solving.backends.guarded import guarded
from kdsl.solving.backends.interface import Backend
from kdsl.solving.backends.own import FORCED

GROUP = "kdsl.backends"
SHIPPED = (
    "direct",
    "cg",
    "coordinate",
    "lowrank",
    "newton",
    "sparse_linear",
    "own",
    "osqp_backend",
    "qpsolvers_backends",
    "cvxpy_backend",
)


@cache
def shipped() -> tuple[Backend, ...]:
    """The backends that come with kdsl, installed or not; no solver is imported."""
    found: list[Backend] = []
    for name in SHIPPED:
        module = import_module(f"kdsl.solving.backends.{name}")
        found.extend(module.BACKENDS if hasattr(module, "BACKENDS") else (module.BACKEND,))
    return tuple(found)


def backends() -> tuple[tuple[Backend, ...], tuple[Diagnostic, ...]]:
    """All backends, and a warning for each entry point that could not be used."""
    found = list(shipped())
    names = {backend.name for backend in found}
    warnings: list[Diagnostic] = []
    for entry in _entries():
        try:
            loaded = entry.load()
        except Exception as error:  # whatever a stranger's module does wrong
            warnings.append(_broken(entry, f"{type(error).__name__}: {error}"))
            continue
        for backend in loaded if isinstance(loaded, tuple | list) else (loaded,):
            if not isinstance(backend, Backend):
                warnings.append(_broken(entry, f"it is of type {type(backend).__name__}, not a Backend"))
            elif backend.name in names:
                warnings.append(_broken(entry, f"the name `{backend.name}` is taken"))
            else:
                names.add(backend.name)
                found.append(guarded(backend))
    return tuple(found), tuple(warnings)


def find_backend(name: str) -> Backend:
    """The backend of that name, which must be installed; what others announce is read for names that are not kdsl's."""
    known = (*shipped(), *FORCED)
    if all(backend.name != name for backend in known):
        known, _ = backends()
    for backend in known:
        if backend.name == name:
            if not backend.installed():
                raise KdslError([_absent(backend)])
            return backend
    raise KdslError([_unknown(str(name), [backend.name for backend in known])])


def _entries() -> Iterable[EntryPoint]:
    return entry_points(group=GROUP)


def _unknown(name: str, known: list[str]) -> Diagnostic:
    near = nearest(name, known) or next((k for k in known if k.endswith(f":{name}")), "")
    hint = f"did you mean `{near}`?" if near else "`kdsl backends` lists them"
    return Diagnostic("K602", f"there is no backend `{name}`", help=hint)


def _absent(backend: Backend) -> Diagnostic:
    what = f"`pip install {backend.package}`" if backend.package else "build kdsl with its compiled core"
    return Diagnostic("K603", f"the backend `{backend.name}` is not installed", help=what)


def _broken(entry: EntryPoint, reason: str) -> Diagnostic:
    return Diagnostic(
        "K604",
        f"the backend announced as `{entry.name}` ({entry.value}) cannot be used",
        why=reason,
        help=f"mend or remove the distribution that announces it in the group `{GROUP}`",
        severity="warning",
    )
