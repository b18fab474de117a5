"""Random data for every shipped spec: what kdsl binds, and the arguments of the spec's oracle on explicit features."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracles"))
from primal_cvxpy import ORACLES, Optimum, features

Floats = NDArray[np.float64]
GAMMA = 0.5
RBF = f"rbf(gamma = {GAMMA})"

SIGNED = ("svm", "loss_hinge", "loss_squared_hinge", "loss_huberized", "loss_perceptron", "loss_logistic")
SEPARABLE = ("svm_hard", "svm_hard_unit")
MAXIMISED = ("svm_hard_unit",)  # oracles minimise: the value of these is minus the oracle's
EXPLICIT = ("lasso", "elastic_net")  # no kernel
PARAMETERS: dict[str, dict[str, float]] = {
    "sphere_soft": {"C": 0.4},
    "sphere_nu": {"nu": 0.3},
    "one_class": {"nu": 0.3},
    "svm_1norm_unit": {"C": 0.9},
    "svm_2norm_unit": {"C": 0.7},
    "svm_nu": {"nu": 0.4},
    "svm_nu_sum": {"nu": 0.4},
    "svm_no_bias": {"C": 1.3, "b0": 0.2},
    "ridge_ball": {"B": 0.7},
    "svr_nu": {"C": 1.5, "nu": 0.4},
    "lasso": {"lambda": 2.0},
    "loss_pinball": {"tau": 0.3},
    "loss_asymmetric": {"tau": 0.4},
}


@dataclass(frozen=True, eq=False)
class Instance:
    """The same problem twice: by the names of the spec, and as arguments of the oracle."""

    name: str
    data: dict[str, Any]
    parameters: dict[str, float]
    kernels: dict[str, str]
    arguments: tuple[Any, ...]

    @property
    def sense(self) -> int:
        return -1 if self.name in MAXIMISED else 1

    def oracle(self) -> Optimum:
        """The optimum by CVXPY, of the problem as a minimisation."""
        renamed = {{"lambda": "lambda_"}.get(name, name): value for name, value in self.parameters.items()}
        return ORACLES[self.name](*self.arguments, **renamed)


def labelled(name: str) -> bool:
    return name.startswith(SIGNED) or name == "monotone_groups"


def instance(name: str, size: int = 20, kernel: str = "linear", seed: int = 0, width: int = 3) -> Instance:
    """`kernel` is "linear" or "rbf"; the two classes are both there, and can be separated where they must be."""
    rng = np.random.default_rng([seed, size, *name.encode()])
    x = rng.normal(size=(size, width))
    signs = np.where(np.arange(size) % 2 == 0, 1.0, -1.0)
    x[:, 0] += signs * (4.0 if name in SEPARABLE else 0.6)
    target = x @ np.linspace(1.0, -0.5, width) + np.sin(2 * x[:, -1]) + 0.4 * rng.normal(size=size)
    if name == "one_class":
        x[:, 0] = np.abs(x[:, 0]) + 1.0  # away from the origin, else w = 0
    data: dict[str, Any] = {"x": x}
    points = x
    if name not in ("one_class", "sphere_hard", "sphere_nu", "sphere_soft"):
        data["y"] = signs if labelled(name) else target
    rest: list[Any] = []
    if name in ("multiclass_delta", "loss_multinomial"):
        data["y"] = np.arange(size) % min(3, size)
    if name == "multiclass_delta":
        data["delta"] = 1.0 + rng.uniform(size=(min(3, size),) * 2)
        rest = [data["delta"]]
    if name == "rank_pairs":
        data["q"] = (np.arange(size) // 10).astype(float)
        rest = [data["q"]]
    if name in ("svm_weighted", "monotone_groups"):
        data["s"] = rng.uniform(0.2, 2.0, size)
        rest = [data["s"]]
    if name == "monotone_groups":
        data["group"] = (np.arange(size) // 2) % 2 if size > 2 else np.arange(size)
        data["lo"] = rng.normal(size=(4, width))
        data["hi"] = data["lo"] + np.abs(rng.normal(size=(4, width)))
        points = np.vstack([x, data["lo"], data["hi"]])
    phi = points if kernel == "linear" or name in EXPLICIT else features(gaussian(points))
    if name == "monotone_groups":
        rest += [data["group"], phi[size : size + 4], phi[size + 4 :]]
    answers = [data["y"]] if "y" in data else []
    used = {"q" if name in ("multiclass_delta", "loss_multinomial") else "k": "linear" if kernel == "linear" else RBF}
    kernels = {} if name in EXPLICIT else used
    return Instance(name, data, PARAMETERS.get(name, {}), kernels, (phi[:size], *answers, *rest))


def gaussian(points: Floats) -> Floats:
    squares = (points**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares[None, :] - 2 * points @ points.T, 0.0)
    return np.asarray(np.exp(-GAMMA * distances))
