"""Quadratic functions that are known by their values: their coefficients, and what CVXPY can do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kdsl.algebra.numeric import Array

_ROUNDING = 1e-9


def quadratic_model(function: Callable[[Array], float], size: int) -> tuple[float, Array, Array]:
    """(value, gradient, Hessian) at 0 of a function that is exactly quadratic."""
    origin = np.zeros(size)
    constant = function(origin)
    unit = np.eye(size)
    plus = np.array([function(unit[n]) for n in range(size)])
    minus = np.array([function(-unit[n]) for n in range(size)])
    gradient = (plus - minus) / 2
    hessian = np.diag(plus + minus - 2 * constant)
    for i in range(size):
        for j in range(i):
            mixed = function(unit[i] + unit[j]) - plus[i] - plus[j] + constant
            hessian[i, j] = hessian[j, i] = mixed
    return constant, gradient, hessian


def square_root(hessian: Array) -> Array:
    """F with F'F = hessian / 2; ValueError where the form takes negative values."""
    eigenvalues, vectors = np.linalg.eigh((hessian + hessian.T) / 4)
    if eigenvalues.size and eigenvalues[0] < -_ROUNDING * max(1.0, eigenvalues[-1]):
        raise ValueError(f"the form is not convex: eigenvalue {eigenvalues[0]:.3g}")
    kept = eigenvalues > 1e-12
    if not kept.any():
        return np.zeros((1, hessian.shape[0]))
    return np.asarray(np.sqrt(eigenvalues[kept])[:, None] * vectors[:, kept].T)


def disciplined(expression: Any) -> Any:
    """An expression whose quadratic terms are convex together but not each alone, as CVXPY sees that it is convex.

    The terms are read off by their values; what cannot be written so is returned as it is.
    """
    import cvxpy

    if expression.is_convex() or not isinstance(expression, cvxpy.atoms.affine.add_expr.AddExpression):
        return expression
    together = [term for term in expression.args if not term.is_convex() or term.is_quadratic()]
    apart = [term for term in expression.args if term.is_convex() and not term.is_quadratic()]
    unknowns = expression.variables()
    ends = np.cumsum([0, *(unknown.size for unknown in unknowns)])

    def value(point: Array) -> float:
        for n, unknown in enumerate(unknowns):
            unknown.value = point[ends[n] : ends[n + 1]].reshape(unknown.shape)
        return float(np.sum([np.asarray(term.value) for term in together]))

    constant, gradient, hessian = quadratic_model(value, int(ends[-1]))
    probe = np.linspace(-1.0, 1.5, int(ends[-1]))
    expected = float(constant + gradient @ probe + 0.5 * probe @ hessian @ probe)
    if abs(value(probe) - expected) > _ROUNDING * max(1.0, abs(expected)):
        return expression
    try:
        factor = square_root(hessian)
    except ValueError:
        return expression
    stacked = cvxpy.hstack([cvxpy.vec(unknown, order="C") for unknown in unknowns])
    return sum(apart) + cvxpy.sum_squares(factor @ stacked) + gradient @ stacked + constant
