"""The ten primals as CVXPY states them: functions are coordinates in an explicit factor of the Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd


def rbf(points: Any, gamma: float) -> Any:
    """The Gram matrix of exp(-gamma |x - z|^2)."""
    squares = (points**2).sum(axis=1)
    return np.exp(-gamma * (squares[:, None] + squares[None, :] - 2 * points @ points.T))


def factor(gram: Any) -> Any:
    """Features, one row for each point, whose inner products are the Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-14 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def least(objective: Any, constraints: list[Any]) -> float:
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status == "optimal"
    return float(problem.value)


def signs(column: pd.Series, positive: str) -> Any:
    return np.where(column == positive, 1.0, -1.0)


def asymmetric_epsilon(folder: Path) -> float:
    table = pd.read_csv(folder / "demand.csv")
    features, y = factor(rbf(table[["temperature"]].to_numpy(), 0.5)), table["y"].to_numpy()
    w, b = cp.Variable(features.shape[1]), cp.Variable()
    error = y - features @ w - b
    return least(
        cp.sum_squares(w) / 2 + 10 * cp.sum(cp.pos(error - 0.1)) + 2 * cp.sum(cp.pos(-error - 0.4)),
        [],
    )


def pinball_monotone(folder: Path) -> float:
    table, pairs = pd.read_csv(folder / "growth.csv"), pd.read_csv(folder / "pairs.csv")
    ages = np.concatenate([table["age"], pairs["lo.age"], pairs["hi.age"]])[:, None]
    features = factor(rbf(ages, 0.5))
    n, m = len(table), len(pairs)
    w, b = cp.Variable(features.shape[1]), cp.Variable()
    error = table["y"].to_numpy() - features[:n] @ w - b
    rising = features[n + m :] @ w >= features[n : n + m] @ w
    return least(cp.sum_squares(w) / 2 + cp.sum(cp.maximum(0.9 * error, -0.1 * error)), [rising])


def one_class_labelled(folder: Path) -> float:
    """With rho = R - |c|^2, for the problem as printed is not convex."""
    table = pd.read_csv(folder / "parts.csv")
    gram = rbf(table[["width", "height"]].to_numpy(), 0.5)
    features, y, s = factor(gram), table["y"].to_numpy(), table["s"].to_numpy()
    c, rho = cp.Variable(features.shape[1]), cp.Variable()
    outside = np.diag(gram) - 2 * features @ c - rho
    return least(rho + cp.sum_squares(c) + 0.1 * s @ cp.pos(cp.multiply(y, outside)), [])


def rank_ties(folder: Path) -> float:
    table = pd.read_csv(folder / "wines.csv")
    features, y = factor(rbf(table[["sugar", "acid"]].to_numpy(), 0.5)), table["y"].to_numpy()
    w = cp.Variable(features.shape[1])
    better, worse = np.nonzero(y[:, None] > y[None, :])
    first, second = np.nonzero((y[:, None] == y[None, :]) & ~np.eye(len(y), dtype=bool))
    shortfall = cp.pos(1 - (features[better] - features[worse]) @ w)
    excess = cp.pos((features[first] - features[second]) @ w)
    return least(cp.sum_squares(w) / 2 + cp.sum_squares(shortfall) + cp.sum_squares(excess), [])


def fair_classifier(folder: Path) -> float:
    table = pd.read_csv(folder / "loans.csv")
    features, y = factor(rbf(table[["income", "years"]].to_numpy(), 0.1)), signs(table["y"], "repaid")
    w, b = cp.Variable(features.shape[1]), cp.Variable()
    f = features @ w + b
    covariance = table["a"].to_numpy() @ f / len(table)
    return least(cp.sum_squares(w) / 2 + cp.sum(cp.pos(1 - cp.multiply(y, f))), [cp.abs(covariance) <= 0.05])


def two_kernel_sum(folder: Path) -> float:
    table = pd.read_csv(folder / "load.csv")
    year, smooth = table[["year"]].to_numpy(), factor(rbf(table[["temperature"]].to_numpy(), 0.5))
    g, h, b = cp.Variable(1), cp.Variable(smooth.shape[1]), cp.Variable()
    error = table["y"].to_numpy() - year @ g - smooth @ h - b
    loss = cp.sum(cp.pos(cp.abs(error) - 0.2))
    return least(0.1 / 2 * cp.sum_squares(g) + cp.sum_squares(h) / 2 + 10 * loss, [])


def svm_without_offset(folder: Path) -> float:
    table = pd.read_csv(folder / "iris.csv")
    features, y = factor(rbf(table[["length", "width"]].to_numpy(), 0.5)), signs(table["y"], "virginica")
    f = cp.Variable(features.shape[1])
    hinge = cp.pos(1 - cp.multiply(y, features @ f))
    return least(0.01 * cp.sum_squares(f) + cp.sum(hinge) / len(y), [])


def huberised_hinge(folder: Path) -> float:
    """The loss as the least cost of reaching the margin: a square for the round part, a line for the rest."""
    table = pd.read_csv(folder / "switches.csv")
    features, y = factor(rbf(table[["x1", "x2"]].to_numpy(), 0.5)), signs(table["y"], "on")
    w, b = cp.Variable(features.shape[1]), cp.Variable()
    margin = cp.multiply(y, features @ w + b)
    rounded, straight = cp.Variable(len(y), nonneg=True), cp.Variable(len(y), nonneg=True)
    loss = cp.sum_squares(rounded) / (4 * 0.5) + cp.sum(straight)
    return least(cp.sum_squares(w) / 2 + loss, [rounded + straight >= 1.5 - margin])


def interval_censored(folder: Path) -> float:
    table = pd.read_csv(folder / "machines.csv")
    features = factor(rbf(table[["load"]].to_numpy(), 0.5))
    w, b = cp.Variable(features.shape[1]), cp.Variable()
    f = features @ w + b
    below = cp.sum(cp.pos(table["lo"].to_numpy() - f))
    above = cp.sum(cp.multiply(table["ends"].to_numpy(), cp.pos(f - table["hi"].to_numpy())))
    return least(cp.sum_squares(w) / 2 + 10 * (below + above), [])


def privileged_information(folder: Path) -> float:
    table = pd.read_csv(folder / "patients.csv")
    features, y = factor(rbf(table[["x.pain", "x.fever"]].to_numpy(), 0.3)), signs(table["y"], "malignant")
    biopsy = table[["z.clarity", "z.error"]].to_numpy()
    w, v, b, d = cp.Variable(features.shape[1]), cp.Variable(2), cp.Variable(), cp.Variable()
    slack = biopsy @ v + d
    margin = cp.multiply(y, features @ w + b)
    objective = (cp.sum_squares(w) + 0.1 * cp.sum_squares(v)) / 2 + cp.sum(slack)
    return least(objective, [margin >= 1 - slack, slack >= 0])


STATEMENTS: dict[str, Callable[[Path], float]] = {
    statement.__name__: statement
    for statement in (
        asymmetric_epsilon,
        pinball_monotone,
        one_class_labelled,
        rank_ties,
        fair_classifier,
        two_kernel_sum,
        svm_without_offset,
        huberised_hinge,
        interval_censored,
        privileged_information,
    )
}
