"""Puts a derivation to the test on random small instances: W = min L, weak duality, primal optimum = dual optimum."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.dual import Dual
from kdsl.algebra.dual_program import DualProgram, numeric_plq
from kdsl.algebra.entropies import entropy_value
from kdsl.algebra.instance import Instance, random_instance
from kdsl.algebra.interpret import CvxpyArithmetic, FloatArithmetic, Interpreter, KnownBySquare, LossCall, Places
from kdsl.algebra.numeric import Array, evaluate, shape_of
from kdsl.algebra.numeric_quadratics import disciplined, quadratic_model
from kdsl.algebra.primal import Condition, Multinomial
from kdsl.algebra.trusted_solvers import Answer, solve
from kdsl.language.model import Constraint, Model, Variable

MIN_L_TOLERANCE = 1e-6
OPTIMUM_TOLERANCE = 1e-5
_TRIES = 12
_REST = 1e-4  # of the slopes where a descent has come to rest


Verdict = Literal["passed", "refuted", "untested"]


class Check(NamedTuple):
    """One kind of check: how often it was made, the worst relative error, and whether all were within tolerance."""

    name: str
    times: int
    worst: float
    tolerance: float
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.times > 0 and self.worst <= self.tolerance

    @property
    def verdict(self) -> Verdict:
        return "untested" if not self.times else "passed" if self.passed else "refuted"

    @property
    def detail(self) -> str:
        made = f"{self.times} instance{'s' if self.times != 1 else ''}, worst relative error {self.worst:.1e}"
        return f"{made}{'; ' + self.note if self.note else ''}" if self.times else f"not made: {self.note}"


class Evidence(NamedTuple):
    checks: tuple[Check, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        """Every check that was made passed, and the optimum was compared at least once."""
        return self.verdict == "passed"

    @property
    def verdict(self) -> Verdict:
        """Refuted by a single check that failed; untested where the optimum was never compared."""
        found = {check.name: check.verdict for check in self.checks}
        return "refuted" if "refuted" in found.values() else found[PRIMAL_IS_DUAL]


W_IS_MIN_L = "W(multipliers) = min L"
WEAK_DUALITY = "dual value <= primal value at feasible points"
PRIMAL_IS_DUAL = "primal optimum = dual optimum"


def verify(derivation: Derivation, seed: int = 0, instances: int = 3, time_limit: float = 20.0) -> Evidence:
    """Evidence for a derivation, from solvers that never saw the dual, as far as the time limit lets it go."""
    started = time.perf_counter()
    generator = np.random.default_rng(seed)
    errors: dict[str, list[float]] = {W_IS_MIN_L: [], WEAK_DUALITY: [], PRIMAL_IS_DUAL: []}
    notes: dict[str, str] = {}
    tries = unsolved = 0
    while tries < _TRIES and len(errors[PRIMAL_IS_DUAL]) < instances:
        if tries and time.perf_counter() - started > time_limit:
            break
        tries += 1
        trial = _Trial(
            derivation, random_instance(derivation.model, generator, fixed=dict(derivation.primal.known)), generator
        )
        answer, optimum = trial.primal_optimum()
        if answer is not Answer.SOLVED:
            unsolved += answer is Answer.UNKNOWN
            continue
        sampled = trial.sample()
        if sampled is not None:
            lowest, note = trial.lowest_lagrangian(sampled)
            if lowest is None:
                notes[W_IS_MIN_L] = note
            else:
                errors[W_IS_MIN_L].append(_relative(trial.dual_value(sampled), lowest))
            feasible = trial.feasible_value()
            if feasible is not None:
                errors[WEAK_DUALITY].append(max(0.0, _excess(trial.dual_value(sampled), feasible)))
        answer, best = trial.dual_optimum()
        if answer is Answer.UNKNOWN or (answer is Answer.NO_OPTIMUM and trial.local):
            unsolved += 1  # a local solver cannot tell a bounded problem from an unbounded one
            continue
        errors[PRIMAL_IS_DUAL].append(_relative(best, optimum))
    if len(errors[PRIMAL_IS_DUAL]) < instances:
        notes[PRIMAL_IS_DUAL] = _left_out(tries, unsolved, tries - unsolved - len(errors[PRIMAL_IS_DUAL]))
    tolerances = {W_IS_MIN_L: MIN_L_TOLERANCE, WEAK_DUALITY: MIN_L_TOLERANCE, PRIMAL_IS_DUAL: OPTIMUM_TOLERANCE}
    checks = tuple(
        Check(name, len(found), max(found, default=0.0), tolerances[name], notes.get(name, ""))
        for name, found in errors.items()
    )
    return Evidence(checks, time.perf_counter() - started)


def _left_out(tries: int, unsolved: int, without: int) -> str:
    """Why fewer instances were compared than were asked for."""
    parts = []
    if unsolved:
        parts.append(f"{unsolved} that no solver was sure of")
    if without:
        parts.append(f"{without} without an optimum")
    found = f"of {tries} instance{'s' if tries != 1 else ''}, "
    return found + " and ".join(parts) if parts else "the time limit came first"


def _relative(a: float, b: float) -> float:
    return abs(a - b) / max(1.0, abs(a), abs(b)) if np.isfinite(a) and np.isfinite(b) else np.inf


def _excess(dual: float, primal: float) -> float:
    return (dual - primal) / max(1.0, abs(dual), abs(primal))


class _Trial:
    """One random instance of one derivation."""

    def __init__(self, derivation: Derivation, instance: Instance, generator: np.random.Generator) -> None:
        self._derivation, self._instance, self._generator = derivation, instance, generator
        self._values = instance.values({})
        self.local = False  # whether the primal optimum is a local solver's

    # ---------------------------------------------------------------- primal

    def primal_optimum(self, tilt: float = 0.0) -> tuple[Answer, float]:
        """The least value of the primal as written, inf where there is none."""
        import cvxpy

        unknowns = _CvxpyUnknowns(self._derivation, self._instance)
        interpreter = Interpreter(self._derivation.model, self._instance, unknowns.readers, CvxpyArithmetic())
        constraints = _constraints(self._derivation, interpreter, unknowns)
        objective = disciplined(cvxpy.Expression.cast_to_const(interpreter.objective()))
        if constraints is None or not objective.is_convex():
            self.local = True
            return self._local_optimum(tilt)
        target = objective
        if tilt:
            target = objective + tilt * sum(cvxpy.sum_squares(v - 1.0) for v in unknowns.flat)
        answer = solve(cvxpy.Problem(cvxpy.Minimize(target), constraints))
        return answer, float(np.asarray(objective.value).item()) if answer is Answer.SOLVED else np.inf

    def _local_optimum(self, tilt: float) -> tuple[Answer, float]:
        """For problems convex only after a change of variable: the best of several runs of a local solver."""
        from scipy.optimize import minimize

        model = self._derivation.model
        layout = _FloatUnknowns(model, self._instance)

        def at(point: Array) -> Interpreter:
            return Interpreter(model, self._instance, layout.readers(point), FloatArithmetic())

        def gaps(point: Array, relation: str) -> Array:
            interpreter = at(point)
            found = [gap for c in model.constraints for _, r, gap in interpreter.gaps(c) if r == relation]
            return np.asarray(found if relation == "=" else [-gap for gap in found])

        constraints = [{"type": "ineq", "fun": lambda x: gaps(x, "<=")}]
        if gaps(np.zeros(layout.size), "=").size:
            constraints.append({"type": "eq", "fun": lambda x: gaps(x, "=")})

        def tilted(point: Array) -> float:
            return float(at(point).objective() + tilt * ((point - 1.0) ** 2).sum())

        best: Array | None = None
        for _ in range(3):
            start = self._generator.normal(size=layout.size)
            found = minimize(
                tilted,
                start,
                method="SLSQP",
                bounds=layout.bounds(model),
                constraints=constraints,
                options={"maxiter": 1000, "ftol": 1e-13},
            )
            if found.success and (best is None or found.fun < tilted(best)):
                best = np.asarray(found.x)
        return (Answer.UNKNOWN, np.inf) if best is None else (Answer.SOLVED, float(at(best).objective()))

    def feasible_value(self) -> float | None:
        """The primal value at a feasible point that is not the optimum."""
        answer, value = self.primal_optimum(tilt=0.5)
        return value if answer is Answer.SOLVED else None

    # ------------------------------------------------------------------ dual

    def sample(self) -> Mapping[str, Array] | None:
        """A random point of the exact dual's feasible set: the projection of a random vector."""
        import cvxpy

        exact = self._derivation.exact
        program = DualProgram(exact, self._values)
        distance: Any = 0.0
        extra = []
        for variable in exact.variables:
            unknown = program.unknowns[variable.label]
            distance = distance + cvxpy.sum_squares(unknown - self._generator.normal(0.5, 1.0, unknown.shape))
            if _divides(exact, variable.label):
                extra.append(unknown >= 0.3)
        if solve(cvxpy.Problem(cvxpy.Minimize(distance), program.constraints + extra)) is not Answer.SOLVED:
            return None
        return self._shaped(exact, program)

    def _shaped(self, dual: Dual, program: DualProgram) -> Mapping[str, Array]:
        shaped = {}
        for variable in dual.variables:
            value = np.asarray(program.unknowns[variable.label].value, dtype=np.float64)
            if variable.lower is not None and not variable.lower:
                value = np.maximum(value, 0.0)
            shaped[variable.label] = value.reshape(shape_of(variable.sets, self._values))
        return shaped

    def dual_value(self, multipliers: Mapping[str, Array]) -> float:
        """W at a point of the exact dual, evaluated monomial by monomial."""
        exact = self._derivation.exact
        values = self._values.with_multipliers(multipliers).with_definitions(exact.definitions)
        total = float(evaluate(exact.objective, values))
        for term in exact.conjugates:
            shape = shape_of(term.sets, values)
            lengths = dict(zip(term.indices, shape, strict=True))
            for places in product(*(range(n) for n in shape)):
                pieces = numeric_plq(term.function, values, lengths, dict(zip(term.indices, places, strict=True)))
                total -= _piecewise(pieces, float(multipliers[term.label][places]))
        return total + entropy_value(exact, multipliers, values)

    def dual_optimum(self) -> tuple[Answer, float]:
        """The greatest value of the dual as printed, inf where there is none."""
        import cvxpy

        program = DualProgram(self._derivation.dual, self._values)
        objective = program.objective()
        problem = cvxpy.Problem(cvxpy.Maximize(objective), program.constraints)
        answer = solve(problem)
        return answer, float(problem.value) if answer is Answer.SOLVED else np.inf

    # ------------------------------------------------------------- min L

    def lowest_lagrangian(self, multipliers: Mapping[str, Array]) -> tuple[float | None, str]:
        """min L over the primal unknowns, L read from the text; (None, why) where it cannot be formed that way."""
        everything = self._all_multipliers(multipliers)
        primal = self._derivation.primal
        named = all(_is_named(term.text) for term in primal.losses)
        if not named:
            return None, "a loss written out in the objective has no multiplier in the text"
        if primal.losses or any(name == "norm" for name, _ in primal.objective.symbols()):
            return self._lowest_convex(everything)
        return self._lowest_quadratic(everything), ""

    def _all_multipliers(self, multipliers: Mapping[str, Array]) -> Mapping[str, Array]:
        """The sampled multipliers and those that left the dual."""
        values = self._values.with_multipliers(multipliers)
        result = dict(multipliers)
        for gone in self._derivation.eliminated:
            family = self._derivation.lagrangian.multiplier(gone.label)
            lengths = dict(zip(family.indices, shape_of(family.sets, values), strict=True))
            value = evaluate(gone.value, values, lengths)
            result[gone.label] = np.maximum(value, 0.0) if gone.positive_part else value
        return result

    def _lowest_quadratic(self, multipliers: Mapping[str, Array]) -> float:
        """The exact minimum of a quadratic, from its values, -inf where there is none: no solver is involved."""
        layout = _FloatUnknowns(self._derivation.model, self._instance)
        here = np.zeros(layout.size)
        readers = layout.readers(here)
        interpreter = Interpreter(self._derivation.model, self._instance, readers, FloatArithmetic())

        def lagrangian(point: Array) -> float:
            here[:] = point
            return float(self._lagrangian(interpreter, readers, multipliers))

        constant, gradient, hessian = quadratic_model(lagrangian, layout.size)
        step, *_ = np.linalg.lstsq(hessian, -gradient, rcond=1e-10)
        if np.linalg.norm(hessian @ step + gradient) > 1e-6 * max(1.0, float(np.linalg.norm(gradient))):
            return -np.inf
        return float(constant + gradient @ step + 0.5 * step @ hessian @ step)

    def _lowest_convex(self, multipliers: Mapping[str, Array]) -> tuple[float | None, str]:
        import cvxpy

        model = self._derivation.model
        unknowns = _CvxpyUnknowns(self._derivation, self._instance)
        residuals = _Residuals(self._derivation, multipliers, cvxpy.Variable)
        interpreter = Interpreter(model, self._instance, unknowns.readers, CvxpyArithmetic(), residuals)
        body = disciplined(self._lagrangian(interpreter, unknowns.readers, multipliers) + residuals.total())
        if not body.is_convex():
            return self._lowest_smooth(multipliers, residuals.count)
        problem = cvxpy.Problem(cvxpy.Minimize(body))
        answer = solve(problem)
        if answer is Answer.UNKNOWN:
            return None, "no solver was sure"
        return float(problem.value) if answer is Answer.SOLVED else -np.inf, ""

    def _lowest_smooth(self, multipliers: Mapping[str, Array], count: int) -> tuple[float | None, str]:
        """Where CVXPY does not see that the text is convex: by a descent, trusted where it comes to rest.

        count: the residuals of losses, which are unknowns beside the primal's.
        """
        from scipy.optimize import minimize

        model = self._derivation.model
        layout = _FloatUnknowns(model, self._instance)

        def lagrangian(point: Array) -> float:
            readers, rest = layout.readers(point), iter(point[layout.size :])
            residuals = _Residuals(self._derivation, multipliers, lambda: float(next(rest)))
            interpreter = Interpreter(model, self._instance, readers, FloatArithmetic(), residuals)
            return float(self._lagrangian(interpreter, readers, multipliers) + residuals.total())

        found = minimize(lagrangian, np.zeros(layout.size + count), method="BFGS", options={"gtol": 1e-6})
        if np.abs(found.jac).max() > _REST:
            return None, "a descent on the text of the loss did not come to rest"
        return float(found.fun), ""

    def _lagrangian(
        self,
        interpreter: Interpreter,
        readers: Mapping[str, Callable[[Places], Any]],
        multipliers: Mapping[str, Array],
    ) -> Any:
        total = interpreter.objective()
        model = self._derivation.model
        for constraint in model.constraints:
            labels = [c.label for c in self._derivation.primal.conditions if _comes_from(c, constraint)]
            branches: dict[Places, int] = {}
            for places, _, gap in interpreter.gaps(constraint):
                number = branches.get(places, 0)
                branches[places] = number + 1
                label = labels[number]
                total = total + float(multipliers[label][places]) * gap
        for variable in model.variables:
            for end, sign, relation in ((variable.interval.lower, -1.0, ">="), (variable.interval.upper, 1.0, "<=")):
                label = f"{variable.name} {relation} {end}"
                squared = f"{variable.name}^2 >= 0"
                if end is None or variable.kernel is not None:
                    continue
                for places, _ in interpreter.members(variable.indices, variable.where):
                    value = readers[variable.name](places)
                    if label in multipliers:
                        total = total + float(multipliers[label][places]) * sign * (value - float(end))
                    elif squared in multipliers:  # the sign of the square stands in for the sign
                        total = total - float(multipliers[squared][places]) * value * value
        return total


def _comes_from(condition: Condition, constraint: Constraint) -> bool:
    return condition.kind in ("stated", "ball") and condition.span.start == constraint.span.start


class _Residuals:
    """Puts a `fresh` residual in the place of each loss's argument, and prices the difference."""

    def __init__(self, derivation: Derivation, multipliers: Mapping[str, Array], fresh: Callable[[], Any]) -> None:
        self._terms = derivation.primal.losses
        self._multipliers = multipliers
        self._fresh = fresh
        self._order: dict[tuple[int, ...], int] = {}
        self._prices: list[Any] = []

    @property
    def count(self) -> int:
        return len(self._prices)

    def __call__(self, call: LossCall) -> Any:
        number = self._order.setdefault(call.key, len(self._order))
        term = self._terms[number]
        price = self._multipliers[term.label]
        places = _places(term.indices, call.opened)
        if isinstance(term.function, Multinomial):
            residual: Any = [self._fresh() for _ in call.argument]
            for k, argument in enumerate(call.argument):
                self._prices.append(float(price[(*places, k)]) * term.orientation * (argument - residual[k]))
        else:
            residual = self._fresh()
            self._prices.append(float(price[places]) * term.orientation * (call.argument - residual))
        return call.definition(residual)

    def total(self) -> Any:
        return sum(self._prices)


def _places(indices: tuple[str, ...], opened: tuple[tuple[str, int], ...]) -> Places:
    """Where a loss term stands: i and i' are two sums over i, one inside the other by way of a `let`."""
    left = list(opened)
    found: list[int] = []
    for index in reversed(indices):
        last = max(n for n, (letter, _) in enumerate(left) if letter == index.rstrip("'"))
        found.insert(0, left[last][1])
        del left[last:]
    return tuple(found)


class _CvxpyUnknowns:
    def __init__(self, derivation: Derivation, instance: Instance) -> None:
        import cvxpy

        squared = {u.shown for u in derivation.primal.unknowns if u.origin == "square"}
        self.flat: list[Any] = []
        self.signs: list[Any] = []
        self.readers: dict[str, Callable[[Places], Any]] = {}
        for variable in derivation.model.variables:
            table: dict[Places, Any] = {}
            shape = tuple(int(z.size) if z.size.isdigit() else instance.sizes[z.size] for z in variable.sets)
            for places in product(*(range(n) for n in shape)):
                if variable.kernel is not None:
                    unknown = cvxpy.Variable(instance.dimensions[variable.kernel])
                else:
                    unknown = cvxpy.Variable(nonneg=variable.name in squared)
                    self._bound(unknown, variable, variable.name in squared)
                table[places] = KnownBySquare(unknown) if variable.name in squared else unknown
                self.flat.append(unknown)
            self.readers[variable.name] = table.__getitem__

    def _bound(self, unknown: Any, variable: Variable, squared: bool) -> None:
        low, high = variable.interval.lower, variable.interval.upper
        if low is not None and not squared:
            self.signs.append(unknown >= float(low))
        if high is not None and not squared:
            self.signs.append(unknown <= float(high))


class _FloatUnknowns:
    """All primal unknowns laid out in one vector."""

    def __init__(self, model: Model, instance: Instance) -> None:
        self._places: dict[str, dict[Places, tuple[int, int]]] = {}
        self._scalar = {v.name: v.kernel is None for v in model.variables}
        start = 0
        for variable in model.variables:
            length = 1 if variable.kernel is None else instance.dimensions[variable.kernel]
            shape = tuple(int(z.size) if z.size.isdigit() else instance.sizes[z.size] for z in variable.sets)
            table = self._places.setdefault(variable.name, {})
            for places in product(*(range(n) for n in shape)):
                table[places] = (start, start + length)
                start += length
        self.size = start

    def bounds(self, model: Model) -> list[tuple[float | None, float | None]]:
        """The domain of every coordinate."""
        result: list[tuple[float | None, float | None]] = [(None, None)] * self.size
        for variable in model.variables:
            low, high = (None if end is None else float(end) for end in variable.interval[:2])
            for start, end in self._places[variable.name].values():
                result[start:end] = [(low, high)] * (end - start)
        return result

    def readers(self, point: Array) -> Mapping[str, Callable[[Places], Any]]:
        def reader(name: str) -> Callable[[Places], Any]:
            def read(places: Places) -> Any:
                low, high = self._places[name][places]
                return float(point[low]) if self._scalar[name] else point[low:high]

            return read

        return {name: reader(name) for name in self._places}


def _constraints(derivation: Derivation, interpreter: Interpreter, unknowns: _CvxpyUnknowns) -> list[Any] | None:
    """The primal's constraints; None where one of them is convex only after a change of variable."""
    import cvxpy

    constraints = list(unknowns.signs)
    for constraint in derivation.model.constraints:
        ball = any(c.label == constraint.label and c.tight for c in derivation.primal.conditions)
        for _, relation, found in interpreter.gaps(constraint):
            gap = cvxpy.Expression.cast_to_const(found)  # max(r, 0) <= 3 has a branch without an unknown
            if relation == "=" and not ball:
                constraints.append(gap == 0)
            elif not gap.is_convex():
                flipped = -gap
                if not (ball and flipped.is_convex()):
                    return None
                constraints.append(flipped <= 0)
            else:
                constraints.append(gap <= 0)
    return constraints


def _divides(dual: Dual, label: str) -> bool:
    return any(
        power < 0 and getattr(factor, "name", "") == label for m in dual.objective.terms for factor, power in m.factors
    )


def _piecewise(pieces: list[tuple[float, float, float, float, float]], theta: float) -> float:
    for _, right, q, c, d in pieces:
        if theta <= right:
            return 0.5 * q * theta**2 + c * theta + d
    return float("inf")


def _is_named(text: str) -> bool:
    """Whether a loss was called by a name of its own, so that the text shows its argument."""
    return text not in ("max", "abs", "pos", "square")
