"""A checked problem between two solves: its derivation, its data and its last dual point are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.primal import Primal
from kdsl.language.diagnostics import KdslError
from kdsl.language.model import Model

if TYPE_CHECKING:
    from kdsl.binding.bound import Bound
    from kdsl.models.solution import Solution
    from kdsl.solving.posed import Posed
    from kdsl.solving.warm_start import Trail


@dataclass(frozen=True, eq=False)
class _Kept:
    """The data as bound, how they were asked for, the problem as posed, and what its last solve has left."""

    bound: Bound
    binding: Mapping[str, Any]
    key: object
    posed: Posed
    trail: Trail

    @property
    def calls_python(self) -> bool:
        """Whether its kernel matrices hold values of a Python function, which may look at what has changed since."""
        from kdsl.binding.python_kernel import calls_python

        return any(space.kernel is not None and calls_python(space.kernel) for space in self.posed.spaces.values())


class Session:
    """One model; `text` writes the specification for model files, `located` puts an error at its lines."""

    def __init__(
        self,
        model: Model,
        text: Callable[[], str],
        functions: Mapping[str, Callable[..., Any]],
        located: Callable[[KdslError], KdslError],
    ) -> None:
        self.model = model
        self._text = text
        self._functions = functions
        self._located = located
        self._derivations: dict[object, Derivation] = {}
        self._depends: bool | None = None  # whether the derivation depends on the values of parameters
        self._kept: _Kept | None = None

    @property
    def primal(self) -> Primal:
        try:
            return self.model.primal
        except KdslError as error:
            raise self._located(error) from None

    def derivation(self, values: Mapping[str, float]) -> Derivation:
        """Every step from the model on; made once, unless the values of parameters order what is derived."""
        if self._depends is None:
            self._depends = not self._formulates()
        key = tuple(sorted(values.items())) if self._depends else None
        if key not in self._derivations:
            known = {p.name: p.default for p in self.model.parameters if p.default is not None}
            known.update({name: Fraction(value) for name, value in values.items()})
            try:
                self._derivations[key] = derive(self.model, known)
            except KdslError as error:
                raise self._located(error) from None
        return self._derivations[key]

    @cached_property
    def _printed(self) -> Model:
        """The model with its specification as printed, which is what model files hold."""
        return self.model._replace(source=self._text())

    def _formulates(self) -> bool:
        try:
            return self.model.primal is not None
        except KdslError:
            return False

    def solve(
        self,
        data: Any,
        given: Mapping[str, float],
        kernels: Mapping[str, Any],
        *,
        backend: str | None,
        tol: float,
        kkt_tol: float | None = None,
        memory: int | None = None,
        threads: int | None = None,
        max_iterations: int | None = None,
        time_limit: float = float("inf"),
        seed: int = 0,
        psd: str = "refuse",
        allow_python: bool = True,
        progress: Any = None,
        **binding: Any,
    ) -> Solution:
        from kdsl.binding.binder import bind, tables_from_data
        from kdsl.binding.kernels import DEFAULT_MEMORY
        from kdsl.binding.parameters import bind_parameters
        from kdsl.solving.api import Prepared, build_kernels, with_kernels
        from kdsl.solving.api import solve as solve_spec
        from kdsl.solving.asked_options import asked_options
        from kdsl.solving.keywords import check_keywords
        from kdsl.solving.posed import pose
        from kdsl.solving.spaces import inputs_of, problem_values
        from kdsl.solving.warm_start import Trail

        began = time.perf_counter()
        check_keywords(self.model, binding, solve_spec)
        options = asked_options(tol, kkt_tol, max_iterations, time_limit, threads, memory, seed)
        room = DEFAULT_MEMORY if memory is None else memory
        kept = self._kept
        parameters = bind_parameters(self.model, dict(given))
        model, functions = with_kernels(self._printed, kernels)
        if data is not None:
            kept = None
            bound = bind(model, tables_from_data(model, data), **binding)
        elif kept is None:
            raise ValueError("the problem has no data yet: solve(data={'x': X, ...})")
        elif binding:
            raise ValueError(f"{', '.join(binding)}: the data are bound already; give them again with it")
        else:
            bound, binding = kept.bound, {**kept.binding}
        read = time.perf_counter()
        derivation = self.derivation(parameters)._replace(model=model)
        called = {**self._functions, **functions}
        texts = {name: text for name, text in kernels.items() if isinstance(text, str)}
        key = (self._kernel_key(model, parameters), room, seed, psd)
        if kept is not None and kept.key == key and not self._depends and not kept.calls_python:
            numbers = problem_values(bound, parameters, kept.posed.spaces)
            posed = replace(kept.posed, parameters=parameters, values=numbers, derivation=derivation)
        else:
            built = build_kernels(model, bound, parameters, called, inputs_of(derivation), allow_python)
            posed = pose(derivation, bound, parameters, built, room, psd, seed)
        seconds = {"read": read - began, "lower": time.perf_counter() - read}
        prepared = Prepared(posed, {**binding, "kernels": texts, "psd": psd, "seed": seed}, seconds)
        trail = kept.trail if kept is not None and not self._depends else Trail()
        self._kept = _Kept(bound, binding, key, posed, trail)
        return prepared.solve(options, backend, progress, trail=trail)

    @staticmethod
    def _kernel_key(model: Model, parameters: Mapping[str, float]) -> object:
        """What Gram matrices depend on: the kernels and the values of the parameters in them."""
        expressions = tuple((kernel.name, kernel.expression) for kernel in model.kernels)
        from kdsl.solving.warm_start import words_in

        names = set(words_in(expressions))
        return expressions, tuple((name, value) for name, value in parameters.items() if name in names)
