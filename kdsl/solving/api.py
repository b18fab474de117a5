"""kdsl.solve: a spec and data to a certified Solution, for Python."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kdsl.algebra.derivation import derive
from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.kernel_builder import build_kernel
from kdsl.binding.kernels import DEFAULT_MEMORY, Kernel
from kdsl.binding.parameters import bind_parameters
from kdsl.language.model import Model
from kdsl.language.parser import parse_kernel
from kdsl.language.syntax import KernelExpr
from kdsl.models.solution import Solution
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.posed import pose
from kdsl.solving.solve import solve_posed
from kdsl.solving.spaces import inputs_of


def solve(
    spec: str | os.PathLike[str] | Model,
    data: Mapping[str, Any] | Any,
    params: Mapping[str, float] | None = None,
    kernels: Mapping[str, Any] | None = None,
    *,
    backend: str | None = None,
    tol: float = 1e-6,
    kkt_tol: float | None = None,
    memory: int = DEFAULT_MEMORY,
    threads: int | None = None,
    max_iterations: int | None = None,
    time_limit: float = float("inf"),
    progress: Progress | None = None,
    **binding: Any,
) -> Solution:
    """Solve `spec` (a path, a shipped spec's name, or a checked Model) on `data`.

    data: {"x": X, "y": y} by the names of the spec, or tables by index name as `bind` takes them.
    kernels: {"k": "rbf(gamma = 0.1)"} or {"k": a Python function of two point matrices}.
    binding: what `kdsl.binding.binder.bind` takes besides (target=, features=, scale=, ...).
    """
    began = time.perf_counter()
    model = spec if isinstance(spec, Model) else read_model(spec)
    derivation = derive(model)
    bound = bind(model, tables_from_data(model, data), **binding)
    parameters = bind_parameters(model, dict(params or {}))
    built = build_kernels(model, bound, parameters, kernels or {}, inputs_of(derivation))
    read = time.perf_counter() - began
    options = Options(tol, kkt_tol, max_iterations, time_limit, threads, memory)
    solution = solve_posed(pose(derivation, bound, parameters, built, memory), options, backend, progress=progress)
    seconds = {"read": read, **solution.seconds, "total": time.perf_counter() - began}
    return replace(solution, seconds=seconds)


def read_model(spec: str | os.PathLike[str]) -> Model:
    """The checked model of a path or of a shipped spec's name."""
    from kdsl import resources
    from kdsl.pipeline import read_spec

    path = os.fspath(spec)
    return read_spec(path if os.path.isfile(path) else resources.spec_path(path) or path)


def build_kernels(
    model: Model,
    bound: Any,
    parameters: Mapping[str, float],
    overrides: Mapping[str, Any],
    inputs: Mapping[str, tuple[str, ...]],
) -> dict[str, Kernel]:
    """Every kernel of the model as an object, its formulas computed from the points it is evaluated at."""
    declared: dict[str, KernelExpr] = {kernel.name: kernel.expression for kernel in model.kernels}
    functions: dict[str, Any] = {}
    for name, given in overrides.items():
        if isinstance(given, str):
            declared[name] = parse_kernel(f"{name} = {given}")[0].kernel
        else:
            functions[name] = given
    built = {}
    for name, used in inputs.items():
        points = bound.points[used[0]]
        built[name] = build_kernel(
            declared[name], parameters, points.features, points.names, declared, functions, allow_python=True
        )
    return built
