"""kdsl.solve: a spec and data to a certified Solution, for Python."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.bound import Bound
from kdsl.binding.faults import fault, nearest
from kdsl.binding.kernel_builder import build_kernel
from kdsl.binding.kernel_values import check_values
from kdsl.binding.kernels import DEFAULT_MEMORY, Kernel
from kdsl.binding.parameters import bind_parameters
from kdsl.binding.psd import check_policy
from kdsl.language.model import Kernel as ModelKernel
from kdsl.language.model import Model
from kdsl.language.parser import parse_kernel
from kdsl.language.syntax import NOWHERE, KernelCall, KernelExpr, Name
from kdsl.models.solution import Solution
from kdsl.solving.asked_options import asked_options
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.derived import derivation_of, model_of
from kdsl.solving.keywords import check_keywords
from kdsl.solving.posed import Posed, pose
from kdsl.solving.solve import solve_posed
from kdsl.solving.spaces import inputs_of
from kdsl.solving.warm_start import Trail
from kdsl.solving.watched import Step, watched


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem with its data, before any solver is called; `binding` is what is needed to bind the data again."""

    posed: Posed
    binding: Mapping[str, Any]
    seconds: Mapping[str, float]

    def solve(
        self,
        options: Options,
        backend: str | None = None,
        progress: Progress | None = None,
        step: Step | None = None,
        trail: Trail | None = None,
    ) -> Solution:
        """The certified solution; `seconds` count from the reading of the data, `step` watches the certificate.

        `trail` is what the last solve of the same problem has left, for other values of its parameters.
        """
        posed = self.posed if step is None else watched(self.posed, step)
        solution = solve_posed(posed, options, backend, trail, progress)
        lowering = self.seconds["lower"] + solution.seconds["lower"]
        total = self.seconds["read"] + self.seconds["lower"] + solution.seconds["total"]
        seconds = {"read": self.seconds["read"], **solution.seconds, "lower": lowering, "total": total}
        asked = {"tol": options.tol, "kkt_tol": options.kkt_tol}
        return replace(solution, seconds=seconds, binding=self.binding, asked=asked)


def prepare(
    spec: str | os.PathLike[str] | Model,
    data: Mapping[str, Any] | Any,
    params: Mapping[str, float] | None = None,
    kernels: Mapping[str, Any] | None = None,
    *,
    memory: int = DEFAULT_MEMORY,
    seed: int = 0,
    psd: str = "refuse",
    allow_python: bool = True,
    **binding: Any,
) -> Prepared:
    """Read, check, derive, bind and audit: what `solve` does before it solves, with the same arguments."""
    check_policy(psd)
    began = time.perf_counter()
    model = spec if isinstance(spec, Model) else read_model(spec)
    check_keywords(model, binding, solve)
    model, functions = with_kernels(model, kernels or {})
    bound = bind(model, tables_from_data(model, data), **binding)
    parameters = bind_parameters(model, dict(params or {}))
    read = time.perf_counter()
    derivation = derivation_of(model, parameters)
    built = build_kernels(model, bound, parameters, functions, inputs_of(derivation), allow_python)
    posed = pose(derivation, bound, parameters, built, memory, psd, seed)
    texts = {name: given for name, given in (kernels or {}).items() if isinstance(given, str)}
    seconds = {"read": read - began, "lower": time.perf_counter() - read}
    return Prepared(posed, {**binding, "kernels": texts, "psd": psd, "seed": seed}, seconds)


def solve(
    spec: str | os.PathLike[str] | Model,
    data: Mapping[str, Any] | Any,
    params: Mapping[str, float] | None = None,
    kernels: Mapping[str, Any] | None = None,
    *,
    backend: str | None = None,
    tol: float = 1e-6,
    kkt_tol: float | None = None,
    memory: int | None = None,
    threads: int | None = None,
    max_iterations: int | None = None,
    time_limit: float = float("inf"),
    seed: int = 0,
    psd: str = "refuse",
    allow_python: bool = True,
    progress: Progress | None = None,
    **binding: Any,
) -> Solution:
    """Solve `spec` (a path, a shipped spec's name, or a checked Model) on `data`.

    data: {"x": X, "y": y} by the names of the spec, or tables by index name as `bind` takes them.
    kernels: {"k": "rbf(gamma = 0.1)"} or {"k": a Python function of two point matrices}.
    memory: bytes that may be used; by default a quarter of what there is by the solver, 256 MiB by what surrounds it.
    psd: refuse, clip, shift or accept a Gram matrix with a negative eigenvalue.
    binding: what `kdsl.binding.binder.bind` takes besides (target=, features=, scale=, ...).
    """
    options = asked_options(tol, kkt_tol, max_iterations, time_limit, threads, memory, seed)
    room = DEFAULT_MEMORY if memory is None else memory
    prepared = prepare(
        spec, data, params, kernels, memory=room, seed=seed, psd=psd, allow_python=allow_python, **binding
    )
    return prepared.solve(options, backend, progress)


def read_model(spec: str | os.PathLike[str]) -> Model:
    """The checked model of a path or of a shipped spec's name."""
    from kdsl.pipeline import read_text

    return model_of(*read_text(os.fspath(spec)))


def with_kernels(model: Model, overrides: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
    """The model with kernels given as text in the place of its own, and the Python functions by kernel.

    A text may go on with kernels that it needs: `normalized(of = q), q = poly(degree = 3)`.
    """
    declared: dict[str, KernelExpr] = {kernel.name: kernel.expression for kernel in model.kernels}
    functions: dict[str, Any] = {}
    helpers: list[ModelKernel] = []
    for name, given in overrides.items():
        if name not in declared:
            raise fault("K560", f"the model `{model.name}` has no kernel `{name}`", help=nearest(name, declared))
        if isinstance(given, str):
            first, *others = parse_kernel(f"{name} = {given}")
            declared[name] = first.kernel
            helpers += [ModelKernel(other.name.id, other.kernel, NOWHERE) for other in others]
        elif not callable(given):
            raise TypeError(f"the kernel `{name}` is a text or a function of two matrices of points, not {given!r}")
        else:
            functions[name] = given
            declared[name] = KernelCall(Name(name), ())
    for helper in helpers:
        if helper.name in declared:
            raise fault(
                "K560", f"there is a kernel `{helper.name}` already", help="give the other one a name of its own"
            )
        declared[helper.name] = helper.expression
    kernels = tuple(kernel._replace(expression=declared[kernel.name]) for kernel in model.kernels)
    return model._replace(kernels=(*kernels, *helpers)), functions


def build_kernels(
    model: Model,
    bound: Bound,
    parameters: Mapping[str, float],
    functions: Mapping[str, Any],
    inputs: Mapping[str, tuple[str, ...]],
    allow_python: bool = True,
) -> dict[str, Kernel]:
    """Every kernel of the model as an object, its formulas computed from the points it is evaluated at."""
    declared: dict[str, KernelExpr] = {kernel.name: kernel.expression for kernel in model.kernels}
    built = {}
    for name, used in inputs.items():
        points = bound.points[used[0]]
        built[name] = build_kernel(
            declared[name], parameters, points.features, points.names, declared, functions, allow_python
        )
        for each in used:
            check_values(built[name], bound.points[each], name)
    return built
