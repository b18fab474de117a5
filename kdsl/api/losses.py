"""The losses that every spec may call, as Python functions; what they mean is defined with the language."""

from __future__ import annotations

from kdsl.api.expressions import Expression, Operand, call
from kdsl.api.signatures import suggesting


@suggesting
def hinge(margin: Expression) -> Expression:
    """max(0, 1 - m)."""
    return call("hinge", (margin,))


@suggesting
def squared_hinge(margin: Expression) -> Expression:
    """max(0, 1 - m)^2."""
    return call("squared_hinge", (margin,))


@suggesting
def huberized_squared_hinge(margin: Expression, delta: Operand | None = None) -> Expression:
    """The squared hinge, straight from 1 - m = delta on (2 if not given)."""
    return call("huberized_squared_hinge", (margin,), _given(delta))


@suggesting
def squared(residual: Expression) -> Expression:
    """r^2."""
    return call("squared", (residual,))


@suggesting
def absolute(residual: Expression) -> Expression:
    """|r|."""
    return call("absolute", (residual,))


@suggesting
def eps_insensitive(residual: Expression, eps: Operand) -> Expression:
    """max(0, |r| - eps)."""
    return call("eps_insensitive", (residual,), (eps,))


@suggesting
def eps_insensitive_squared(residual: Expression, eps: Operand) -> Expression:
    """max(0, |r| - eps)^2."""
    return call("eps_insensitive_squared", (residual,), (eps,))


@suggesting
def huber(residual: Expression, delta: Operand | None = None) -> Expression:
    """r^2/2 up to delta (1.345 if not given), straight beyond."""
    return call("huber", (residual,), _given(delta))


@suggesting
def pinball(residual: Expression, tau: Operand) -> Expression:
    """max(tau r, (tau - 1) r): the loss of the quantile of order tau."""
    return call("pinball", (residual,), (tau,))


@suggesting
def perceptron(margin: Expression) -> Expression:
    """max(0, -m)."""
    return call("perceptron", (margin,))


@suggesting
def logistic(margin: Expression) -> Expression:
    """log(1 + exp(-m))."""
    return call("logistic", (margin,))


@suggesting
def multinomial(score: Expression, index: Expression, label: Expression) -> Expression:
    """log(sum_k exp(s_k)) - s_y: `multinomial(inner(w[k], phi(x[i])), k, y[i])`."""
    return call("multinomial", (score,), (index, label))


def _given(value: Operand | None) -> tuple[Operand, ...]:
    return () if value is None else (value,)
