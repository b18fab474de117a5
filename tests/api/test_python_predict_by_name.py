"""A predict clause may be an abbreviation by its name, as in the language."""

from __future__ import annotations

import pytest

from kdsl import Problem, parse_spec
from kdsl.api import ProblemError, inner, norm, phi, rbf, square, sum_over


def regression() -> tuple[Problem, object, object]:
    p = Problem("regression")
    i = p.index("i", 1, "l")
    x, y = p.data("x", i, kind="input"), p.data("y", i)
    w, b = p.hilbert("w", p.kernel("k", rbf(gamma=1))), p.real("b")
    f = p.let("f", lambda t: inner(w, phi(t)) + b)
    loss = p.loss("missing", lambda r: square(r))
    p.minimize(norm(w) ** 2 / 2 + sum_over(i)(loss(y[i] - f(x[i]))))
    return p, f, loss


def test_it_is_what_the_text_says() -> None:
    p, f, _ = regression()
    p.predict("value", f)  # type: ignore[arg-type]
    assert str(p).splitlines()[-1] == "predict value(t) = f(t)"
    assert parse_spec(str(p)).primal == p.primal
    solution = p.solve({"x": [[0.0], [1.0], [2.0]], "y": [0.0, 1.0, 4.0]})
    assert solution.predict([[2.0]])[0] > solution.predict([[0.0]])[0]


def test_a_loss_is_no_prediction() -> None:
    p, _, loss = regression()
    p.predict("value", loss)  # type: ignore[arg-type]
    with pytest.raises(ProblemError):
        p.primal  # noqa: B018
