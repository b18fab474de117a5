"""What a problem divides by may be 0 for some data: that is refused with its name and place."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl.language.diagnostics import KdslError

HEAD = """index i in 1..l
data x[i] : input, y[i] : real, s[i] : real >= 0
param C : in [0, inf) = 1, tau : in [0, 1] = 0.5
kernel k = rbf(gamma = 1)
var w : H(k), b : real, xi[i] : real >= 0
"""
WITH_M = HEAD.replace("index i in 1..l", "index i in 1..l, j in 1..m").replace("\nparam", ", z[j] : real\nparam")
BY_S = "y[i]/s[i] - <w, phi(x[i])> - b <= xi[i]"
TAIL = "predict value(t) = <w, phi(t)> + b\n"


def spec(objective: str, condition: str = "y[i] - <w, phi(x[i])> - b <= xi[i]", head: str = HEAD) -> str:
    return f"{head}minimize 1/2 ||w||^2 + b^2 + {objective}\nsubject to\n  above[i]: {condition}\n{TAIL}"


def data(count: int = 4, **changed: float) -> dict[str, np.ndarray]:
    s = np.linspace(1.0, 2.0, count)
    s[2:3] = changed.get("s", s[2:3])
    return {"x": np.arange(float(count))[:, None], "y": np.linspace(0.0, 1.0, count), "s": s}


@pytest.mark.parametrize(
    ("text", "given", "params", "message"),
    [
        (spec("1/C * sum[i] xi[i]"), data(), {"C": 0.0}, "`C` is 0, and the objective divides by it"),
        (spec("sum[i] xi[i]/s[i]"), data(s=0.0), {}, r"`s\[3\]` is 0, and the objective divides by it"),
        (
            spec("sum[i] xi[i]", "y[i]/s[i] - <w, phi(x[i])> - b <= xi[i]"),
            data(s=0.0),
            {},
            r"`s\[3\]` is 0, and `above` divides by it",
        ),
        (spec("1/(1 - tau) * sum[i] xi[i]"), data(), {"tau": 1.0}, r"`\(1 - tau\)` is 0, and the objective"),
    ],
)
def test_a_division_by_0_is_named(
    text: str, given: dict[str, np.ndarray], params: dict[str, float], message: str
) -> None:
    with pytest.raises(KdslError, match=message) as refused:
        kdsl.solve(kdsl.parse_spec(text), given, params)
    assert [diagnostic.code for diagnostic in refused.value.diagnostics] == ["K625"]


def test_a_piece_of_a_loss_that_divides_by_0_is_named() -> None:
    loss = HEAD + "loss scaled(r; C) = square(r)/C\n"
    text = f"{loss}minimize 1/2 ||w||^2 + sum[i] scaled(y[i] - <w, phi(x[i])> - b; C)\n{TAIL}"
    assert kdsl.solve(kdsl.parse_spec(text), data(), {"C": 2.0}).status == "optimal"
    with pytest.raises(KdslError, match="`C` is 0, and the loss"):
        kdsl.solve(kdsl.parse_spec(text), data(), {"C": 0.0})


def test_what_a_filter_keeps_out_is_not_divided_by() -> None:
    """A row without a divisor that is filtered away is as if it were not there."""
    some = kdsl.parse_spec(spec("sum[i where s[i] != 0] xi[i]/s[i]"))
    given = data(s=0.0)
    with_it = kdsl.solve(some, given)
    kept = {name: np.delete(array, 2, axis=0) for name, array in given.items()}
    without = kdsl.solve(some, kept)
    assert with_it.status == without.status == "optimal"
    assert with_it.value == pytest.approx(without.value, rel=1e-6)


def test_a_size_less_one_is_a_divisor() -> None:
    text = spec("C/(l - 1) * sum[i] xi[i]")
    found = kdsl.solve(kdsl.parse_spec(text), data(6), {"C": 3.0})
    same = kdsl.solve(kdsl.parse_spec(text.replace("C/(l - 1)", "C/5")), data(6), {"C": 3.0})
    assert found.status == same.status == "optimal"
    assert found.value == pytest.approx(same.value, rel=1e-9)


def test_a_divisor_of_unknown_sign_is_refused() -> None:
    with pytest.raises(KdslError, match="its sign is not known"):
        kdsl.parse_spec(spec("C/(l - 2) * sum[i] xi[i]")).primal()
