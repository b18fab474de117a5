"""Optimal values of the shipped specs by CVXPY on explicit features, each written by hand from its printed primal.

No function here looks at a dual, a derivation or a spec file. `phi` holds one row of features for each example; where
only a Gram matrix is at hand, `features(gram)` gives rows whose inner products are its entries. Parameters go by the
names of the specs (`lambda_` for `lambda`, which Python reserves).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Optimum(float):
    """The optimal value, with the multiplier of each constraint under its label in the spec."""

    multipliers: dict[str, Floats]


def features(gram: Floats) -> Floats:
    """Rows whose inner products are the entries of a positive semi-definite Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > values.max() * 1e-14
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def optimum(objective: Any, constraints: dict[str, Any] | None = None, unlabelled: tuple[Any, ...] = ()) -> Optimum:
    """Minimise; the value is inf where no point is feasible and -inf where there is no bound."""
    labelled = constraints or {}
    rows = [row for entry in labelled.values() for row in (entry if isinstance(entry, list) else [entry])]
    problem = cp.Problem(cp.Minimize(objective), [*rows, *unlabelled])
    problem.solve(solver=cp.CLARABEL)
    if problem.status not in ("optimal", "optimal_inaccurate", "infeasible", "unbounded"):
        raise RuntimeError(f"CVXPY: {problem.status}")
    answer = Optimum(problem.value)
    answer.multipliers = {}
    if problem.status.startswith("optimal"):
        for label, entry in labelled.items():
            duals = [row.dual_value for row in entry] if isinstance(entry, list) else entry.dual_value
            answer.multipliers[label] = np.asarray(duals, dtype=float).squeeze()
    return answer


# ------------------------------------------------------------------- spheres


def _sphere(phi: Floats, price: float | None) -> Optimum:
    c, square = cp.Variable(phi.shape[1]), cp.Variable(nonneg=True)
    xi = cp.Variable(len(phi), nonneg=True)
    slack = 0 * xi if price is None else xi
    inside = [cp.sum_squares(point - c) <= square + slack[i] for i, point in enumerate(phi)]
    return optimum(square + (0 if price is None else price * cp.sum(xi)), {"inside": inside})


def sphere_hard(phi: Floats) -> Optimum:
    return _sphere(phi, None)


def sphere_soft(phi: Floats, *, C: float = 1.0) -> Optimum:
    return _sphere(phi, C)


def sphere_nu(phi: Floats, *, nu: float = 0.1) -> Optimum:
    return _sphere(phi, 1 / (nu * len(phi)))


def one_class(phi: Floats, *, nu: float = 0.1) -> Optimum:
    w, rho, xi = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(len(phi), nonneg=True)
    objective = cp.sum_squares(w) / 2 - rho + cp.sum(xi) / (nu * len(phi))
    return optimum(objective, {"margin": phi @ w >= rho - xi})


# ------------------------------------------------------------ classification


def svm_hard_unit(phi: Floats, y: Floats) -> Optimum:
    """The value of the minimisation form, -gamma."""
    w, b, gamma = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable()
    margin = cp.multiply(y, phi @ w + b) >= gamma
    return optimum(-gamma, {"margin": margin, "unit": cp.sum_squares(w) <= 1})


def svm_hard(phi: Floats, y: Floats) -> Optimum:
    w, b = cp.Variable(phi.shape[1]), cp.Variable()
    return optimum(cp.sum_squares(w) / 2, {"margin": cp.multiply(y, phi @ w + b) >= 1})


def svm_1norm(phi: Floats, y: Floats, *, C: float = 1.0) -> Optimum:
    w, b, xi = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    objective = cp.sum_squares(w) / 2 + C * cp.sum(xi)
    return optimum(objective, {"margin": cp.multiply(y, phi @ w + b) >= 1 - xi})


def svm_1norm_unit(phi: Floats, y: Floats, *, C: float = 1.0) -> Optimum:
    w, b, gamma = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    margin = cp.multiply(y, phi @ w + b) >= gamma - xi
    return optimum(-gamma + C * cp.sum(xi), {"margin": margin, "unit": cp.sum_squares(w) <= 1})


def svm_nu(phi: Floats, y: Floats, *, nu: float = 0.5) -> Optimum:
    w, b, gamma = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable()
    xi = cp.Variable(len(y), nonneg=True)
    margin = cp.multiply(y, phi @ w + b) >= gamma - xi
    return optimum(-gamma + cp.sum(xi) / (nu * len(y)), {"margin": margin, "unit": cp.sum_squares(w) <= 1})


def svm_nu_sum(phi: Floats, y: Floats, *, nu: float = 0.5) -> Optimum:
    w, b, rho = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(nonneg=True)
    xi = cp.Variable(len(y), nonneg=True)
    objective = cp.sum_squares(w) / 2 - nu * rho + cp.sum(xi) / len(y)
    return optimum(objective, {"margin": cp.multiply(y, phi @ w + b) >= rho - xi})


def svm_2norm(phi: Floats, y: Floats, *, C: float = 1.0) -> Optimum:
    w, b, xi = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(len(y))
    objective = cp.sum_squares(w) / 2 + C / 2 * cp.sum_squares(xi)
    return optimum(objective, {"margin": cp.multiply(y, phi @ w + b) >= 1 - xi})


def svm_2norm_unit(phi: Floats, y: Floats, *, C: float = 1.0) -> Optimum:
    w, b, gamma, xi = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(), cp.Variable(len(y))
    margin = cp.multiply(y, phi @ w + b) >= gamma - xi
    return optimum(-gamma + C * cp.sum_squares(xi), {"margin": margin, "unit": cp.sum_squares(w) <= 1})


def svm_no_bias(phi: Floats, y: Floats, *, C: float = 1.0, b0: float = 0.0) -> Optimum:
    w, xi = cp.Variable(phi.shape[1]), cp.Variable(len(y), nonneg=True)
    objective = cp.sum_squares(w) / 2 + C * cp.sum(xi)
    return optimum(objective, {"margin": cp.multiply(y, phi @ w + b0) >= 1 - xi})


def svm_weighted(phi: Floats, y: Floats, s: Floats, *, C: float = 1.0) -> Optimum:
    w, b, xi = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(len(y), nonneg=True)
    objective = cp.sum_squares(w) / 2 + C * (s @ xi)
    return optimum(objective, {"margin": cp.multiply(y, phi @ w + b) >= 1 - xi})


def monotone_groups(
    phi: Floats, y: Floats, s: Floats, group: Ints, lo: Floats, hi: Floats, *, C: float = 1.0
) -> Optimum:
    """`group` holds 0, 1, ...; `lo` and `hi` hold the features of the pairs."""
    w, b, xi = cp.Variable(phi.shape[1]), cp.Variable(int(group.max()) + 1), cp.Variable(len(y), nonneg=True)
    objective = cp.sum_squares(w) / 2 + C * (s @ xi)
    margin = cp.multiply(y, phi @ w + b[group]) >= 1 - xi
    return optimum(objective, {"margin": margin, "mono": (hi - lo) @ w >= 0})


def rank_pairs(phi: Floats, y: Floats, q: Floats | None = None, *, C: float = 1.0) -> Optimum:
    """The multipliers come as an l x l matrix with zeros where there is no pair."""
    query = np.ones(len(y)) if q is None else q
    pairs = np.array([(i, j) for i in range(len(y)) for j in range(len(y)) if query[i] == query[j] and y[i] > y[j]])
    w, xi = cp.Variable(phi.shape[1]), cp.Variable(len(pairs), nonneg=True)
    margin = (phi[pairs[:, 0]] - phi[pairs[:, 1]]) @ w >= 1 - xi
    answer = optimum(cp.sum_squares(w) / 2 + C * cp.sum(xi), {"margin": margin})
    matrix = np.zeros((len(y), len(y)))
    matrix[pairs[:, 0], pairs[:, 1]] = answer.multipliers["margin"]
    answer.multipliers["margin"] = matrix
    return answer


def multiclass_delta(phi: Floats, y: Ints, delta: Floats, *, C: float = 1.0) -> Optimum:
    """`y` holds 0, 1, ...; the multipliers come as an l x classes matrix with zeros at the right class."""
    classes = len(delta)
    w, xi = cp.Variable((classes, phi.shape[1])), cp.Variable(len(y), nonneg=True)
    wrong = [(i, k) for i in range(len(y)) for k in range(classes) if k != y[i]]
    margin = [(w[y[i]] - w[k]) @ phi[i] >= delta[y[i], k] - xi[i] for i, k in wrong]
    answer = optimum(cp.sum_squares(w) / 2 + C * cp.sum(xi), {"margin": margin})
    matrix = np.zeros((len(y), classes))
    for (i, k), value in zip(wrong, answer.multipliers["margin"], strict=True):
        matrix[i, k] = value
    answer.multipliers["margin"] = matrix
    return answer


# ---------------------------------------------------------------- regression


def ridge(phi: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    w, xi = cp.Variable(phi.shape[1]), cp.Variable(len(y))
    objective = lambda_ * cp.sum_squares(w) + cp.sum_squares(xi)
    return optimum(objective, {"residual": y - phi @ w == xi})


def ridge_bias(phi: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    w, b, xi = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(len(y))
    objective = lambda_ * cp.sum_squares(w) + cp.sum_squares(xi)
    return optimum(objective, {"residual": y - phi @ w - b == xi})


def ridge_ball(phi: Floats, y: Floats, *, B: float = 1.0) -> Optimum:
    w, xi = cp.Variable(phi.shape[1]), cp.Variable(len(y))
    return optimum(cp.sum_squares(xi), {"residual": y - phi @ w == xi, "unit": cp.sum_squares(w) <= B**2})


def svr_quadratic_eps(phi: Floats, y: Floats, *, C: float = 1.0, eps: float = 0.1) -> Optimum:
    w, b = cp.Variable(phi.shape[1]), cp.Variable()
    xi, xi_ = cp.Variable(len(y)), cp.Variable(len(y))
    f = phi @ w + b
    objective = cp.sum_squares(w) / 2 + C / 2 * (cp.sum_squares(xi) + cp.sum_squares(xi_))
    return optimum(objective, {"above": f - y <= eps + xi, "below": y - f <= eps + xi_})


def svr_linear_eps(phi: Floats, y: Floats, *, C: float = 1.0, eps: float = 0.1) -> Optimum:
    w, b = cp.Variable(phi.shape[1]), cp.Variable()
    xi, xi_ = cp.Variable(len(y), nonneg=True), cp.Variable(len(y), nonneg=True)
    f = phi @ w + b
    objective = cp.sum_squares(w) / 2 + C * cp.sum(xi + xi_)
    return optimum(objective, {"above": f - y <= eps + xi, "below": y - f <= eps + xi_})


def svr_nu(phi: Floats, y: Floats, *, C: float = 1.0, nu: float = 0.5) -> Optimum:
    w, b, eps = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(nonneg=True)
    xi, xi_ = cp.Variable(len(y), nonneg=True), cp.Variable(len(y), nonneg=True)
    f = phi @ w + b
    objective = cp.sum_squares(w) / 2 + C * (nu * eps + cp.sum(xi + xi_) / len(y))
    return optimum(objective, {"above": f - y <= eps + xi, "below": y - f <= eps + xi_})


# -------------------------------------------------------------------- losses


def loss_hinge(phi: Floats, y: Floats, *, C: float = 1.0) -> Optimum:
    return _margin_loss(phi, y, 1.0, lambda m: C * cp.pos(1 - m))


def _margin_loss(phi: Floats, y: Floats, lambda_: float, loss: Callable[[Any], Any]) -> Optimum:
    """`alpha` is the multiplier of m = y f, minus the slope of the loss at m."""
    w, b, m = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(len(y))
    objective = cp.sum(loss(m)) + lambda_ / 2 * cp.sum_squares(w)
    return optimum(objective, {"alpha": m == cp.multiply(y, phi @ w + b)})


def loss_squared_hinge(phi: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    return _margin_loss(phi, y, lambda_, lambda m: cp.square(cp.pos(1 - m)))


def loss_huberized_squared_hinge(phi: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    """CVXPY's huber is 2M|u| - M^2 beyond M: with u = (1 - m)+ and M = 2 that is -4m below m = -1."""
    return _margin_loss(phi, y, lambda_, lambda m: cp.huber(cp.pos(1 - m), 2))


def loss_perceptron(phi: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    return _margin_loss(phi, y, lambda_, lambda m: cp.pos(-m))


def loss_logistic(phi: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    return _margin_loss(phi, y, lambda_, lambda m: cp.logistic(-m))


def _residual_loss(phi: Floats, y: Floats, lambda_: float, loss: Callable[[Any], Any]) -> Optimum:
    """`beta` is the multiplier of y - f = r, the slope of the loss at r."""
    w, b, r = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(len(y))
    return optimum(cp.sum(loss(r)) + lambda_ / 2 * cp.sum_squares(w), {"beta": y - phi @ w - b == r})


def loss_squared(phi: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    return _residual_loss(phi, y, lambda_, cp.square)


def loss_absolute(phi: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    return _residual_loss(phi, y, lambda_, cp.abs)


def loss_eps_insensitive(phi: Floats, y: Floats, *, lambda_: float = 1.0, eps: float = 0.1) -> Optimum:
    return _residual_loss(phi, y, lambda_, lambda r: cp.pos(cp.abs(r) - eps))


def loss_eps_insensitive_squared(phi: Floats, y: Floats, *, lambda_: float = 1.0, eps: float = 0.1) -> Optimum:
    return _residual_loss(phi, y, lambda_, lambda r: cp.square(cp.pos(cp.abs(r) - eps)))


def loss_huber(phi: Floats, y: Floats, *, lambda_: float = 1.0, c: float = 1.345) -> Optimum:
    return _residual_loss(phi, y, lambda_, lambda r: cp.huber(r, c) / 2)


def loss_pinball(phi: Floats, y: Floats, *, lambda_: float = 1.0, tau: float = 0.5) -> Optimum:
    return _residual_loss(phi, y, lambda_, lambda r: cp.maximum(tau * r, (tau - 1) * r))


def loss_asymmetric(phi: Floats, y: Floats, *, lambda_: float = 1.0, tau: float = 0.5) -> Optimum:
    return _residual_loss(phi, y, lambda_, lambda r: cp.maximum(cp.square(cp.pos(r)), -tau * r))


def loss_multinomial(phi: Floats, y: Ints, *, lambda_: float = 1.0) -> Optimum:
    """`y` holds 0, 1, ...; `p` are the probabilities, the slopes of the logarithms at the scores."""
    classes = int(y.max()) + 1
    w, scores = cp.Variable((classes, phi.shape[1])), cp.Variable((len(y), classes))
    right = cp.sum(cp.multiply(np.eye(classes)[y], phi @ w.T))
    objective = cp.sum(cp.log_sum_exp(scores, axis=1)) - right + lambda_ / 2 * cp.sum_squares(w)
    return optimum(objective, {"p": phi @ w.T == scores})


def lasso(x: Floats, y: Floats, *, lambda_: float = 1.0) -> Optimum:
    a, b, r = cp.Variable(x.shape[1]), cp.Variable(), cp.Variable(len(y))
    return optimum(cp.sum_squares(r) + lambda_ * cp.norm1(a), {"beta": y - x @ a - b == r})


def elastic_net(x: Floats, y: Floats, *, lambda_: float = 1.0, tau: float = 0.5) -> Optimum:
    a, b, r = cp.Variable(x.shape[1]), cp.Variable(), cp.Variable(len(y))
    penalty = tau * cp.norm1(a) + (1 - tau) / 2 * cp.sum_squares(a)
    return optimum(cp.sum_squares(r) + lambda_ * penalty, {"beta": y - x @ a - b == r})


ORACLES: dict[str, Callable[..., Optimum]] = {
    function.__name__: function
    for function in (
        sphere_hard,
        sphere_soft,
        sphere_nu,
        one_class,
        svm_hard_unit,
        svm_hard,
        svm_1norm,
        svm_1norm_unit,
        svm_nu,
        svm_nu_sum,
        svm_2norm,
        svm_2norm_unit,
        svm_no_bias,
        svm_weighted,
        monotone_groups,
        rank_pairs,
        multiclass_delta,
        ridge,
        ridge_bias,
        ridge_ball,
        svr_quadratic_eps,
        svr_linear_eps,
        svr_nu,
        loss_hinge,
        loss_squared_hinge,
        loss_huberized_squared_hinge,
        loss_perceptron,
        loss_logistic,
        loss_squared,
        loss_absolute,
        loss_eps_insensitive,
        loss_eps_insensitive_squared,
        loss_huber,
        loss_pinball,
        loss_asymmetric,
        loss_multinomial,
        lasso,
        elastic_net,
    )
}
