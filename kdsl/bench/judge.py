"""How good an answer is, recomputed in float64 with NumPy alone: no solver's word, kdsl's included, is taken for it.

kkt_gap   m - M of the dual in coordinates theta, w = sum_i atom_i theta_i phi(x_i), rows sum_{i in group} row_i theta_i
          fixed (Keerthi et al. 2001; LIBSVM's stopping quantity): the steepest descent that keeps every row
rel_gap   (P - D) / max(1, |P|, |D|), P the primal value at the best bias for w, D a dual value
residual  |K beta + lambda beta - y| / |y|, largest entries
error     |decision values - those recomputed from the same expansion| / max(1, largest)
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdsl.bench.problems import BOUND, GENERAL, HUBER_C, PINBALL_TAU, Kind, Problem
from kdsl.numerics.arrays import Floats

Measure = Literal["kkt_gap", "rel_gap", "residual", "error"]
Arrays = Mapping[str, Any]
BLOCK = 1 << 24  # kernel values at a time
NEAR = (1e-12, 1e-9, 1e-7, 1e-5)  # how near to a bound, relative to its box, counts as on it: the kindest is taken
OWN_EDGES, OWN_BREAKS = (-2.0, -0.5, 0.25, 1.0), (-2.0 / 3.0, 0.0, 4.0 / 3.0)
OTHER_MEASURES: Mapping[Kind, Measure] = {
    "ridge": "residual",
    "predict": "error",
    "linear": "rel_gap",
    "plain": "rel_gap",
    "averages": "rel_gap",
    "pairs": "rel_gap",
    "biases": "rel_gap",
    "qp": "rel_gap",
}


def measure_of(kind: Kind) -> Measure:
    return OTHER_MEASURES.get(kind, "kkt_gap")


class Judge:
    """Judges answers to one problem; the best dual value seen so far is the bound that primal values are held to."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.bound = -np.inf
        self._seen: dict[bytes, float] = {}

    def __call__(self, arrays: Arrays) -> float:
        digest = blake2b()
        for _, value in sorted(arrays.items()):
            digest.update(np.ascontiguousarray(value).tobytes())
        key = digest.digest()
        if key not in self._seen:
            self._seen[key] = float(self._judge(arrays))
        return self._seen[key]

    def _judge(self, arrays: Arrays) -> float:
        problem, kind = self.problem, self.problem.task.kind
        if not all(np.isfinite(value).all() for value in arrays.values()):
            return np.inf
        if kind == "qp":
            return _program_gap(problem, arrays)
        if kind == "linear":
            return self._linear(arrays)
        if kind in GENERAL:
            return _general(problem, arrays)
        if kind == "ridge":
            beta = np.asarray(arrays["beta"])
            left = kernel_image(problem, problem.X, beta, problem.X) + problem.task.value("lambda") * beta
            return float(np.abs(left - problem.y).max() / np.abs(problem.y).max())
        if kind == "predict":
            wanted = kernel_image(problem, problem.X, arrays["beta"], problem.more["new"]) + float(arrays["b"])
            return float(np.abs(arrays["values"] - wanted).max() / max(1.0, float(np.abs(wanted).max())))
        if kind == "path":
            prices = zip(price_path(problem), np.asarray(arrays["beta"]), strict=True)
            return max(kkt_gap(problem, beta, C) for C, beta in prices)
        return kkt_gap(problem, np.asarray(arrays["beta"]))

    def _linear(self, arrays: Arrays) -> float:
        """The primal value of (w, b), as given and with the best bias, above the best dual value known."""
        X, y, C = self.problem.X, self.problem.y, self.problem.task.value("C")
        if "alpha" in arrays:
            alpha = np.clip(arrays["alpha"], 0.0, C)
            v = alpha @ (y[:, None] * X)
            lost = abs(float(alpha @ y)) * (1.0 + float(np.abs(arrays["b"])))  # what leaving the row may have gained
            self.bound = max(self.bound, float(alpha.sum() - v @ v / 2) - lost)
        w = np.asarray(arrays["w"], np.float64)
        f = X @ w
        slack = min(_hinges(y, f + b).sum() for b in (float(arrays["b"]), best_bias(y, f)))
        value = float(w @ w / 2 + C * slack)
        return (value - self.bound) / max(1.0, abs(value), abs(self.bound)) if np.isfinite(self.bound) else np.inf


def price_path(problem: Problem) -> Floats:
    """The values of C of a path."""
    return np.logspace(-2.0, 2.0, int(problem.task.value("steps")))


# ------------------------------------------------------------------ kernels


def kernel_image(problem: Problem, points: Floats, beta: Floats, at: Floats) -> Floats:
    """sum_i beta_i exp(-gamma ||points_i - at_j||^2) for every j, by blocks, in float64."""
    used = np.flatnonzero(beta)
    support, weight = points[used], np.asarray(beta, np.float64)[used]
    own = np.einsum("ij,ij->i", support, support)
    out = np.zeros(len(at))
    step = max(1, BLOCK // max(1, len(used)))
    for i in range(0, len(at), step):
        part = at[i : i + step]
        squares = part @ support.T
        squares *= -2.0
        squares += own
        squares += np.einsum("ij,ij->i", part, part)[:, None]
        np.maximum(squares, 0.0, out=squares)
        squares *= -problem.gamma
        out[i : i + step] = np.exp(squares, out=squares) @ weight
    return out


# ------------------------------------------------------------------ m - M


class Dual(NamedTuple):
    """min 1/2 beta'K beta + sum_i h(theta_i) + shift_i theta_i with beta = atom theta, rows kept for each group.

    h' on the p-th piece, between edges[p] and edges[p + 1], is curvature[p] theta + slope[p].
    """

    atom: Floats
    row: Floats
    group: NDArray[np.int64]
    edges: tuple[float, ...]
    slopes: tuple[float, ...]
    curvatures: tuple[float, ...]
    shift: Floats


def dual_of(problem: Problem, C: float | None = None) -> Dual:
    """The dual of a kind with one kernel and at most one row for each group, derived by hand."""
    kind, y = problem.task.kind, problem.y
    n = len(y)
    ones, zeros, together = np.ones(n), np.zeros(n), np.zeros(n, np.int64)
    if kind in ("c-svc", "path"):
        upper = problem.task.value("C") if C is None else C
        return Dual(y, y, together, (0.0, upper), (-1.0,), (0.0,), zeros)
    if kind == "svr":
        upper, eps = problem.task.value("C"), problem.task.value("eps")
        return Dual(ones, ones, together, (-upper, 0.0, upper), (-eps, eps), (0.0, 0.0), -y)
    if kind == "nu-svc":
        return Dual(y, ones, (y > 0).astype(np.int64), (0.0, 1.0), (0.0,), (0.0,), zeros)
    if kind == "one-class":
        return Dual(ones, ones, together, (0.0, 1.0), (0.0,), (0.0,), zeros)
    if kind == "huber":
        return Dual(ones, ones, together, (-HUBER_C, HUBER_C), (0.0,), (1.0,), -y)
    if kind == "pinball":
        return Dual(ones, ones, together, (PINBALL_TAU - 1.0, PINBALL_TAU), (0.0,), (0.0,), -y)
    if kind == "squared hinge":
        return Dual(y, y, together, (0.0, np.inf), (-1.0,), (0.5,), zeros)
    if kind == "own loss":
        return Dual(ones, ones, together, OWN_EDGES, OWN_BREAKS, (0.0, 0.0, 0.0), -y)
    raise ValueError(f"m - M is not what a problem of the kind {kind} is judged by")


def kkt_gap(problem: Problem, beta: Floats, C: float | None = None) -> float:
    """m - M; infinite where theta leaves its box or its rows."""
    dual = dual_of(problem, C)
    lower, upper = dual.edges[0], dual.edges[-1]
    width = upper - lower if np.isfinite(upper) else max(1.0, float(np.abs(beta).max(initial=0.0)))
    theta = dual.atom * beta
    outside = max(float((lower - theta).max()), float((theta - upper).max()))
    if outside > 1e-5 * width or _row_error(problem, dual, theta) > 1e-5 * max(1.0, float(np.abs(theta).sum())):
        return np.inf
    f = dual.atom * kernel_image(problem, problem.X, beta, problem.X) + dual.shift
    return min(_gap_near(dual, theta, f, near * width) for near in NEAR)


def _row_error(problem: Problem, dual: Dual, theta: Floats) -> float:
    """By how much the worst row is missed; the nu forms have multipliers that sum to nu times their number."""
    kind, n = problem.task.kind, len(theta)
    sums = np.bincount(dual.group, dual.row * theta, minlength=int(dual.group.max()) + 1)
    share = problem.task.value("nu") * n if kind in ("nu-svc", "one-class") else 0.0
    return float(np.abs(sums - share / len(sums)).max())


def _gap_near(dual: Dual, theta: Floats, f: Floats, near: float) -> float:
    """max over groups of m - M, points within `near` of an edge counted as on it."""
    edges = np.asarray(dual.edges)
    left, right = np.full(len(theta), -np.inf), np.full(len(theta), np.inf)
    for p, (slope, curvature) in enumerate(zip(dual.slopes, dual.curvatures, strict=True)):
        derivative = f + slope + curvature * theta
        below = (theta > edges[p] + near) & (theta <= edges[p + 1] + near)
        above = (theta >= edges[p] - near) & (theta < edges[p + 1] - near)
        left[below], right[above] = derivative[below], derivative[above]
    rising = np.where(dual.row > 0, -right, left)
    falling = np.where(dual.row > 0, -left, right)
    gaps = [rising[here].max() - falling[here].min() for here in (dual.group == g for g in np.unique(dual.group))]
    return max(0.0, float(max(gaps)))


# ------------------------------------------------------------------ primal and dual values


def _hinges(y: Floats, f: Floats) -> Floats:
    return np.maximum(0.0, 1.0 - y * f)


def best_bias(y: Floats, f: Floats) -> float:
    """b that makes sum_i (1 - y_i (f_i + b))+ smallest: a break point where the slope changes its sign."""
    breaks = y - f
    order = np.argsort(breaks)
    slope = -float((y > 0).sum()) + np.arange(1, len(y) + 1)
    return float(breaks[order[int(np.argmax(slope >= 0))]])


def _general(problem: Problem, arrays: Arrays) -> float:
    """The relative gap of C-SVC with more conditions, or by how much the worst of these is violated if that is more.

    alpha are the multipliers of the margins, extra those of the further conditions (none for biases of groups).
    """
    task, X, y = problem.task, problem.X, problem.y
    C = task.value("C")
    alpha, extra = np.clip(arrays["alpha"], 0.0, C), np.maximum(arrays["extra"], 0.0)
    points, beta, price = X, alpha * y, 0.0
    if task.kind == "averages":
        beta = beta - (extra[0] - extra[1]) * problem.more["g"]
        price = BOUND * float(extra.sum())
    if task.kind == "pairs":
        points, beta = np.vstack([X, problem.more["lo"], problem.more["hi"]]), np.r_[beta, -extra, extra]
    image = kernel_image(problem, points, beta, points)
    energy, f = float(beta @ image) / 2, image[: len(y)]
    violation = 0.0
    if task.kind == "averages":
        violation = max(0.0, abs(float(problem.more["g"] @ f)) - BOUND)
    if task.kind == "pairs":
        low, high = np.split(image[len(y) :], 2)
        violation = max(0.0, float((low - high).max(initial=0.0)))
    group = problem.more.get("group", np.zeros(len(y), np.int64))
    slack, lost = 0.0, 0.0
    for g in np.unique(group):
        here = group == g
        b = best_bias(y[here], f[here])
        slack += float(_hinges(y[here], f[here] + b).sum())
        lost += abs(b * float(alpha[here] @ y[here]))
    value, dual = energy + C * slack, float(alpha.sum()) - energy - price
    return max((abs(value - dual) + lost) / max(1.0, abs(value), abs(dual)), violation)


def _program_gap(problem: Problem, arrays: Arrays) -> float:
    """The relative gap of a quadratic program, or its worst relative residual if that is more."""
    from kdsl.solving.backends.explicit import Answer
    from kdsl.solving.general_qp import certify

    answer = Answer(arrays["x"], arrays["y"], arrays["z"], "solved", "", 0, None)
    return certify(problem.more["program"], answer).worst
