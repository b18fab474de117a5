"""The callback of a solve is heard by every backend: what it raises comes out, and True stops the shortest solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kdsl.solving.api import solve
from kdsl.solving.backends.registry import shipped

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 2))
DATA = {"x": X, "y": np.where(X[:, 0] + 0.3 * RNG.normal(size=30) > 0, 1.0, -1.0)}
SPECS = ("svm_no_bias", "ridge", "loss_logistic")


def cases() -> list[tuple[str, str]]:
    names = [backend.name for backend in shipped() if backend.installed()]
    return [(spec, name) for spec in SPECS for name in names if takes(spec, name)]


def takes(spec: str, name: str) -> bool:
    if spec == "loss_logistic":
        return name in ("newton", "cvxpy")
    if spec == "ridge":
        return name in ("direct", "cg")
    return name not in ("direct", "cg", "newton")


@pytest.mark.parametrize(("spec", "name"), cases())
def test_true_stops_the_shortest_solve(spec: str, name: str) -> None:
    found = solve(spec, DATA, kernels={"k": "linear"}, backend=name, progress=lambda iterations, gap: True)
    assert (found.status, found.backend, found.iterations) == ("user_limit", name, 0)
    assert found.message == "interrupted; the best so far"


@pytest.mark.parametrize(("spec", "name"), cases())
def test_what_it_raises_comes_out(spec: str, name: str) -> None:
    def progress(iterations: int, gap: float) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(spec, DATA, kernels={"k": "linear"}, backend=name, progress=progress)


@pytest.mark.parametrize("spec", ["svm_1norm", "sphere_nu", "loss_logistic", "ridge_bias"])
def test_unasked_backends_hear_it_too(spec: str) -> None:
    data = DATA if spec != "sphere_nu" else {"x": X}
    assert solve(spec, data, progress=lambda iterations, gap: True).status == "user_limit"
    assert solve(spec, data, progress=lambda iterations, gap: False).status == "optimal"
