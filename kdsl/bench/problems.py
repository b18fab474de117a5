"""The problems of the benchmark: what is asked (a Task) and the data for it, made from a fixed seed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats

Kind = Literal[
    "c-svc",
    "svr",
    "nu-svc",
    "one-class",
    "ridge",
    "path",
    "predict",
    "linear",
    "plain",
    "averages",
    "pairs",
    "biases",
    "huber",
    "pinball",
    "squared hinge",
    "own loss",
    "qp",
]
GENERAL: tuple[Kind, ...] = ("plain", "averages", "pairs", "biases")  # C-SVC, and with composite atoms or further rows
LOSSES: tuple[Kind, ...] = (
    "huber",
    "pinball",
    "squared hinge",
    "own loss",
)  # on the data of the C-SVC, its labels taken as numbers
PAIRS, GROUPS, BOUND = 200, 8, 0.1
HUBER_C, PINBALL_TAU = 1.345, 0.5


class Task(NamedTuple):
    """One problem: `data` names a generator below, `values` are the model's parameters; qp: `data` is a file's name."""

    kind: Kind
    data: str
    n: int
    d: int
    values: tuple[tuple[str, float], ...] = (("C", 1.0),)

    def value(self, name: str) -> float:
        return dict(self.values)[name]


class Problem(NamedTuple):
    """A task with its data: `gamma` is the Gaussian kernel's, `more` what some kinds need besides."""

    task: Task
    X: NDArray[Any]
    y: Floats
    gamma: float
    more: Mapping[str, Any]


def make(task: Task) -> Problem:
    """The data of a task, the same on every call."""
    if task.kind == "qp":
        return Problem(task, np.zeros((0, 0)), np.zeros(0), 0.0, {"program": _program(task)})
    X, y = GENERATORS[task.data](task.n, task.d)
    return Problem(task, X, y, float(1.0 / (task.d * X.var())), _more(task, X))


def standardised(X: Floats) -> Floats:
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), np.float64)


def _signs(n: int) -> Floats:
    return np.where(np.arange(n) % 2, 1.0, -1.0)


def two_gaussians(n: int, d: int) -> tuple[Floats, Floats]:
    """y = -1, 1 in turn, X = N(0, I) + y / sqrt(d), standardised."""
    y = _signs(n)
    X = np.random.default_rng(0).normal(size=(n, d)) + y[:, None] / np.sqrt(d)
    return standardised(X), y


def two_gaussians_raw(n: int, d: int) -> tuple[NDArray[np.float32], Floats]:
    """The same, neither standardised nor in double precision: the linear problem."""
    y = _signs(n)
    X = np.random.default_rng(0).standard_normal(size=(n, d), dtype=np.float32)
    X += (y / np.sqrt(d)).astype(np.float32)[:, None]
    return X, y


def exclusive_or(n: int, d: int) -> tuple[Floats, Floats]:
    """y = sign(x_0 x_1), a tenth of the signs turned."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return standardised(X), np.sign(X[:, 0] * X[:, 1]) * np.where(rng.random(n) < 0.1, -1.0, 1.0)


def checkerboard(n: int, d: int) -> tuple[Floats, Floats]:
    """Four by four fields, a twentieth of the signs turned."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, size=(n, d))
    y = np.where(np.floor(X).sum(axis=1) % 2, 1.0, -1.0) * np.where(rng.random(n) < 0.05, -1.0, 1.0)
    return standardised(X), y


def many_features(n: int, d: int) -> tuple[Floats, Floats]:
    """scikit-learn's make_classification, standardised."""
    from sklearn.datasets import make_classification

    informative, redundant = min(d // 2, 20), min(d // 5, 10)
    X, y = make_classification(
        n, d, n_informative=informative, n_redundant=redundant, flip_y=0.05, class_sep=1.0, random_state=0
    )
    return standardised(X), 2.0 * y - 1.0


def friedman(n: int, d: int) -> tuple[Floats, Floats]:
    """scikit-learn's make_friedman1 with noise 1, standardised: regression."""
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n, d, noise=1.0, random_state=0)
    return standardised(X), np.asarray(y, np.float64)


def images(n: int, d: int) -> tuple[Floats, Floats]:
    """Ten prototypes, deformed along 30 directions, four fifths of the pixels black: odd against even digits."""
    rng = np.random.default_rng(0)
    digit = rng.integers(10, size=n)
    hidden = rng.normal(size=(10, 30))[digit] + 1.4 * rng.normal(size=(n, 30))
    ink = hidden @ rng.normal(size=(30, d)) / np.sqrt(30.0) + 0.1 * rng.normal(size=(n, d))
    X = np.clip(ink - 1.0, 0.0, 1.0)
    return standardised(X), np.where(digit % 2, 1.0, -1.0)


GENERATORS: Mapping[str, Callable[[int, int], tuple[NDArray[Any], Floats]]] = {
    "two Gaussians": two_gaussians,
    "two Gaussians, raw": two_gaussians_raw,
    "exclusive or": exclusive_or,
    "checkerboard": checkerboard,
    "make_classification": many_features,
    "friedman1": friedman,
    "images": images,
}


def _more(task: Task, X: Floats) -> dict[str, Any]:
    """What the model of this kind wants besides points and labels."""
    rng = np.random.default_rng(1)
    if task.kind == "averages":  # sum_i g_i f(x_i): the difference of f's averages where the first feature is > 0, <= 0
        first = X[:, 0] > 0
        return {"g": np.where(first, 1.0 / first.sum(), -1.0 / (~first).sum())}
    if task.kind == "pairs":  # examples, and the same with one feature raised
        chosen = min(PAIRS, len(X))
        low = X[rng.choice(len(X), chosen, replace=False)]
        high = low.copy()
        high[np.arange(chosen), rng.integers(X.shape[1], size=chosen)] += 1.0
        return {"lo": low, "hi": high}
    if task.kind == "biases":
        return {"group": rng.integers(GROUPS, size=len(X))}
    if task.kind == "predict":
        return {"new": X[rng.permutation(len(X))] + 0.1 * rng.normal(size=X.shape)}
    return {}


# ------------------------------------------------------------------ quadratic programs


def shared_folder() -> Path | None:
    """The folder of data that the repository does not hold: KDSL_SHARED, by default ../shared beside the checkout."""
    beside = Path(__file__).resolve().parents[2].parent / "shared"
    folder = Path(os.environ.get("KDSL_SHARED", beside))
    return folder if folder.is_dir() else None


def program_names() -> tuple[str, ...]:
    """Random programs, and the files of Maros and Meszaros's collection where they are."""
    folder = shared_folder()
    files = () if folder is None else sorted((folder / "peers" / "maros_meszaros").glob("*.mat"))
    return (*RANDOM_PROGRAMS, *(path.stem for path in files))


def _program(task: Task) -> Any:
    from kdsl.solving.qp_files import read_qp

    if task.data in RANDOM_PROGRAMS:
        return RANDOM_PROGRAMS[task.data](task.n)
    folder = shared_folder()
    if folder is None:
        raise FileNotFoundError("the shared data are not there: set KDSL_SHARED")
    return read_qp(str(folder / "peers" / "maros_meszaros" / f"{task.data}.mat"))


def _random_program(n: int, dense: bool) -> Any:
    """A strictly convex program with n variables in boxes, and n/2 rows that a known point meets."""
    import scipy.sparse as sp

    from kdsl.solving.expand import ExplicitQP

    rng = np.random.default_rng(0)
    density = 1.0 if dense else min(1.0, 5.0 / n)
    F = sp.random_array((n, n), density=density, rng=rng, data_sampler=rng.normal)
    A = sp.csr_array(sp.random_array((n // 2, n), density=density, rng=rng, data_sampler=rng.normal))
    inside = A @ rng.uniform(-0.5, 0.5, n)
    width = rng.uniform(0.0, 1.0, n // 2)
    P = sp.csc_array(F @ F.T / (n * density) + 1e-2 * sp.eye_array(n))
    return ExplicitQP(P, rng.normal(size=n), A, inside - width, inside + width, np.full(n, -1.0), np.full(n, 1.0))


RANDOM_PROGRAMS: Mapping[str, Callable[[int], Any]] = {
    "random, dense": partial(_random_program, dense=True),
    "random, sparse": partial(_random_program, dense=False),
}
