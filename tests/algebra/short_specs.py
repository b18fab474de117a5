"""Specs put together from their lines, for tests that vary one line at a time."""

from __future__ import annotations

from kdsl.algebra.derivation import Derivation, derive
from kdsl.language.diagnostics import KdslError
from kdsl.pipeline import parse_spec

CLASSES = "x[i] : input, y[i] : {-1, 1}"
NUMBERS = "x[i] : input, y[i] : real"
SVM = "w : H(k), b : real, xi[i] : real >= 0"
MARGIN = "margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i]"
HINGE = "minimize 1/2 ||w||^2 + C * sum[i] xi[i]"


def spec(
    objective: str,
    *constraints: str,
    var: str = SVM,
    data: str = CLASSES,
    index: str = "i in 1..l",
    param: str = "C : in (0, inf) = 1",
    kernel: str = "k = rbf(gamma = 0.5)",
    extra: str = "",
) -> str:
    lines = [f"index {index}", f"data {data}"]
    lines += [f"param {param}"] if param else []
    lines += [f"kernel {kernel}", f"var {var}"]
    lines += [extra] if extra else []
    lines += [objective]
    lines += ["subject to", *(f"  {c}" for c in constraints)] if constraints else []
    return "\n".join([*lines, ""])


def derived(text: str) -> Derivation:
    return derive(parse_spec(text, "short"))


def codes(text: str) -> set[str]:
    """The codes of the errors that a spec meets."""
    try:
        derived(text)
    except KdslError as error:
        return {d.code for d in error.diagnostics if d.severity == "error"}
    return set()
