"""The compiled engine: brings a NormalForm into the core's coordinates, runs kdsl/core, and brings the answer back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from kdsl import _core, allowance
from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.native_kernel import NativeKernel, OffersNative, centre_of, core_points
from kdsl.numerics.quiet_products import dot
from kdsl.solving.engine_coordinates import EngineForm, engine_form, meets_rows, starting_point
from kdsl.solving.normal_form import HilbertBlock, NormalForm
from kdsl.solving.priced_rows import MANY, start_by_prices
from kdsl.solving.raw_solution import Fact, RawSolution, Status

Callback = Callable[[int, float], bool | None]
Strategy = Literal["automatic", "full", "stored_rows", "working_set"]

_STRATEGIES = {
    "full": "the whole kernel matrix is stored: it is small, or dear to compute again",
    "stored_rows": "rows of the kernel matrix are kept from when they are needed: an entry costs more than reading it",
    "working_set": "kernel values are computed when a working set needs them: that is quicker than reading them",
}
_ROUGH = "; first those of points rounded to 16 bits, which are corrected"
_HALVED = "; working sets whose steps take long are solved in two halves by two threads at once"
_NEWTON = "; where pairs end slowly, Newton steps move all free multipliers together"
_THIN = "; dense points are held by what differs from their usual features"
_COUNTS = ("outer", "halved", "newton_steps", "factorisations", "entries")
_FACTS = ("kkt_gap", "relative_gap", "value", "strategy", "refreshes", "rough")
_MESSAGES: dict[Status, str] = {
    "solved": "the duality gap is within the tolerance",
    "stalled": "rounding in double precision stopped progress before the tolerance was reached",
    "iteration_limit": "the iteration limit was reached",
    "time_limit": "the time limit was reached",
    "interrupted": "stopped by the callback",
    "unbounded": "the objective falls for ever along a ray",
}
_BLUR = 1e-9  # of a kernel value, that rounding may make of it
_BYTES = 4.0  # of a kernel value that is stored
_ROWS = 1e-9  # of what they add up: rows are met that lack no more
_SOLVED_BY_SLOPE = "m - M is within the tolerance"


def solve(
    problem: NormalForm,
    start: Floats | None = None,
    tol: float = 1e-6,
    max_iterations: int | None = None,
    callback: Callback | None = None,
    *,
    kkt_tol: float | None = None,
    time_limit: float = math.inf,
    threads: int | None = None,
    memory: float | None = None,
    strategy: Strategy = "automatic",
    working_set: int = 0,
    classes_at_once: int = MANY,
) -> RawSolution:
    """Minimise until the duality gap relative to max(1, |value|) is at most `tol`, or m - M at most `kkt_tol`.

    `start` need not be feasible. `callback(iterations, m - M)` is called about every 50 ms and stops the solve by
    returning True; Ctrl-C raises KeyboardInterrupt. `threads` defaults to the processors that this process may use, or
    to one where the problem is so small that others would come too late; `memory` (bytes for blocks of Q) to a quarter
    of what it may take. Where coupled rows leave more than `classes_at_once` classes of parallel columns, some are met
    by prices first (priced_rows.py).
    """
    began = time.perf_counter()
    memory = allowance.memory() / 4 if memory is None else memory
    all_threads = threads is not None
    threads = threads or allowance.processors()
    linear, constant = _shifts(problem)
    form = engine_form(problem, linear)
    v = starting_point(form, start)
    if v is None:
        theta = np.clip(np.zeros(problem.size), problem.separable.lower, problem.separable.upper)
        message = "no point within the bounds meets the rows"
        return RawSolution(theta, 0, "infeasible", message, time.perf_counter() - began)
    classes = form.classes
    rounds: list[RawSolution] = []
    any_start = start is None  # will do as well, if it meets the rows
    stopped: Status | None = None
    if len(classes.begin) - 1 > classes_at_once and (classes_at_once == 0 or not classes.decoupled):

        def inner(part: NormalForm, begin: Floats | None, accuracy: float) -> RawSolution:
            found = solve(
                part,
                begin,
                accuracy,
                None if max_iterations is None else max_iterations - _iterations(rounds),
                callback,
                time_limit=time_limit - (time.perf_counter() - began),
                threads=threads if all_threads else None,
                memory=memory,
                strategy=strategy,
                working_set=working_set,
                classes_at_once=len(form.source) + 1,
            )
            rounds.append(found)
            if callback is not None and callback(_iterations(rounds), float(found.facts.get("kkt_gap", math.inf))):
                return replace(found, status="interrupted")
            return found

        asked = tol if kkt_tol is None else min(tol, kkt_tol / 100)
        priced = start_by_prices(problem, start, asked, inner, classes_at_once)
        if priced is not None:
            stopped, near = priced.stopped, starting_point(form, priced.theta)
            v, any_start = (v, any_start) if near is None else (near, False)
    hessians = _hessians(problem, form, threads, memory)
    answer = _core.solve(
        form.separable.for_core(),
        _core.Classes(classes.begin, classes.first_is_free, classes.direction),
        hessians,
        problem.constant + constant,
        np.ascontiguousarray(v),
        _known(problem, form),
        _core.Options(
            tolerance=tol,
            kkt_tolerance=kkt_tol,
            memory=memory,
            threads=threads,
            all_threads=all_threads,
            strategy=strategy,
            working_set=working_set,
            any_start=any_start,
        ),
        0.0 if stopped == "interrupted" else time_limit - (time.perf_counter() - began),
        2**62 if max_iterations is None else max_iterations - _iterations(rounds),
        callback,
    )
    status = stopped if stopped == "interrupted" else cast(Status, answer["reason"])
    theta = np.clip(form.to_theta(answer["t"]), problem.separable.lower, problem.separable.upper)
    facts: dict[str, Fact] = {name: answer[name] for name in _FACTS}
    facts |= {name: sum(cast(float, f.facts.get(name, 0)) for f in rounds) + answer[name] for name in _COUNTS}
    how = _reason(answer["strategy"], strategy, _BYTES * len(form.source) ** 2 > memory)
    how += (_ROUGH if answer["rough"] else "") + (_HALVED if facts["halved"] else "")
    how += _NEWTON if facts["newton_steps"] else ""
    how += _THIN if any(isinstance(term, _core.KernelHessian) and term.thin for term in hessians) else ""
    facts |= {"how": how, "isa": _core.isa(), "threads": answer["threads"], "rounds": len(rounds)}
    ray = form.to_theta(answer["ray"]) if status == "unbounded" else None
    seconds = time.perf_counter() - began
    message = _SOLVED_BY_SLOPE if status == "solved" and kkt_tol is not None else _MESSAGES[status]
    if status == "solved" and not any_start and not meets_rows(form, form.to_t(answer["t"]), _ROWS):
        status, message = "stalled", "the start was so far away that rounding there hid whether it met the rows"
    message += f"; rows met by prices in {len(rounds)} rounds first" if rounds else ""
    return RawSolution(theta, _iterations(rounds) + answer["iterations"], status, message, seconds, facts, ray)


def _reason(taken: str, asked: Strategy, beyond_memory: bool) -> str:
    """What was done with kernel values, and why that."""
    if asked == taken:
        return f"{taken.replace('_', ' ')}, as was asked for"
    if asked == "automatic" and taken == "working_set" and beyond_memory:
        return "kernel values are computed when a working set needs them: all of them take more than the memory allowed"
    return _STRATEGIES[taken] + ("" if asked == "automatic" else f"; these kernels cannot be had as {asked}")


def _known(problem: NormalForm, form: EngineForm) -> tuple[Floats, Floats] | None:
    """A known product in the engine's coordinates."""
    if problem.known is None:
        return None
    theta, gradient = (np.r_[part, np.zeros(len(form.slack_row))][form.source] for part in problem.known)
    return theta * form.scale, gradient / form.scale


def _iterations(solutions: list[RawSolution]) -> int:
    return sum(solution.iterations for solution in solutions)


def _shifts(problem: NormalForm) -> tuple[Floats, float]:
    """The linear term sum_H S'Ks and the constant sum_H 1/2 s'Ks of the blocks that have an offset s."""
    linear, constant = np.zeros(problem.size), 0.0
    for block in problem.blocks:
        if block.shift is not None:
            image = block.gram.matvec(block.shift)
            linear += block.atoms.T @ image
            constant += 0.5 * dot(block.shift, image)
    return linear, constant


def _hessians(
    problem: NormalForm, form: EngineForm, threads: int, memory: float
) -> list[_core.KernelHessian | _core.RowsHessian]:
    """The terms of Q for the core: kernels that it evaluates itself, and one function that returns rows of the rest."""
    terms: list[_core.KernelHessian | _core.RowsHessian] = []
    rest = []
    for block in problem.blocks:
        kernel = native_of(block)
        atoms = _atoms(block.atoms, form)
        if kernel is None:
            rest.append((block, atoms))
            continue
        where = (kernel.for_core(), core_points(kernel, None), centre_of(kernel))
        term = _core.KernelHessian(*where, atoms.start, atoms.point, atoms.coefficient, threads, memory)
        if term.blur > _BLUR:  # points of several clusters far apart: only differences tell their distances
            rest.append((block, atoms))
        else:
            terms.append(term)
    if rest or not terms:
        terms.append(_core.RowsHessian(len(form.source), _rows_function(rest, len(form.source))))
    return terms


class _Atoms(NamedTuple):
    """The columns of S in the engine's order and scale, compressed; slacks have none."""

    start: Ints
    point: Ints
    coefficient: Floats
    points: int

    def matrix(self) -> sp.csc_array[Any]:
        return sp.csc_array((self.coefficient, self.point, self.start), (self.points, len(self.start) - 1))


def _atoms(atoms: sp.csc_array[Any], form: EngineForm) -> _Atoms:
    count = len(form.source)
    if count == form.size == atoms.nnz and (np.diff(atoms.indptr) == 1).all():  # the most usual: one point each
        start, taken, scale = np.arange(count + 1), form.source, form.scale
    else:
        entries = np.zeros(count, np.int64)
        entries[: form.size] = np.diff(atoms.indptr)
        entries = entries[form.source]
        start = np.zeros(count + 1, np.int64)
        np.cumsum(entries, out=start[1:])
        first = atoms.indptr[np.minimum(form.source, form.size)].astype(np.int64)
        taken = np.arange(start[-1]) + np.repeat(first - start[:-1], entries)
        scale = np.repeat(form.scale, entries)
    return _Atoms(start, atoms.indices[taken].astype(np.int64), atoms.data[taken] / scale, atoms.shape[0])


def native_of(block: HilbertBlock) -> NativeKernel | None:
    """The kernel of a block if the core can evaluate it, as its Gram oracle says."""
    if not isinstance(block.gram, OffersNative):
        return None
    kernel = block.gram.native()
    return kernel if kernel is not None and kernel.gamma >= 0 and kernel.degree >= 0 else None


def _rows_function(blocks: list[tuple[HilbertBlock, _Atoms]], n: int) -> Callable[[Ints], Floats]:
    """Rows of Q in the engine's coordinates."""
    terms = [(block, atoms.matrix()) for block, atoms in blocks]

    def rows(indices: Ints) -> Floats:
        out = np.zeros((len(indices), n))
        for block, columns in terms:
            chosen = sp.csr_array(columns[:, indices])
            points = np.flatnonzero(np.diff(chosen.indptr)).astype(np.int64)
            if len(points) == 0:
                continue
            gram = np.asarray(block.gram.rows(points), dtype=np.float64)
            if not np.isfinite(gram).all():
                i, j = np.argwhere(~np.isfinite(gram))[0]
                raise ValueError(
                    f"the kernel of {block.name} is {gram[i, j]} between points {int(points[i]) + 1} and {int(j) + 1}"
                )
            out += (columns.T @ (sp.csr_array(chosen[points]).T @ gram).T).T
        return out

    return rows
