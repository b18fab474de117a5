"""Two scalars that every slack sees in one combination: exact where a linear program agrees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kdsl.algebra.primal import Unknown
from kdsl.solving.scalar_problem import Columns, ScalarProblem
from kdsl.solving.scalar_program import least_scalars
from kdsl.solving.scalars import minimise_scalars


def nu_problem(values: np.ndarray, signs: np.ndarray, nu: float, floor: float) -> ScalarProblem:
    """min -nu l rho + sum xi with y (f + b) >= rho - xi, xi >= 0, rho >= floor; z = (b, rho, xi)."""
    n = len(values)
    families = {
        name: Columns(unknown, (), np.asarray(place)) if place < 2 else Columns(unknown, (n,), np.arange(2, 2 + n))
        for place, (name, unknown) in enumerate(zip(("b", "rho", "xi"), UNKNOWNS, strict=True))
    }
    margin = np.hstack([-signs[:, None], np.ones((n, 1)), -np.eye(n)])
    slack = np.hstack([np.zeros((n, 2)), -np.eye(n)])
    bound = np.zeros((1, n + 2))
    bound[0, 1] = -1.0
    linear = np.concatenate([[0.0, -nu * n], np.ones(n)])
    offset = np.concatenate([-signs * values, np.zeros(n), [floor]])
    matrix = sp.csr_array(np.vstack([margin, slack, bound]))
    flat = sp.csc_array((n + 2, n + 2))
    return ScalarProblem(families, linear, flat, 0.0, (), (), matrix, offset, np.zeros(2 * n + 1, dtype=bool))


UNKNOWNS = (Unknown("b", (), (), ()), Unknown("rho", (), (), ()), Unknown("xi", ("i",), ("l",), ()))


@pytest.mark.parametrize("floor", [-1e3, 1e3], ids=["rho is free", "rho is held back"])
@pytest.mark.parametrize("seed", range(12))
def test_two_scalars_are_as_good_as_those_of_a_linear_program(seed: int, floor: float) -> None:
    random = np.random.default_rng(seed)
    n = 40 + seed
    signs = random.choice([-1.0, 1.0], n)
    problem = nu_problem(random.normal(size=n) + signs, signs, 0.1 + 0.02 * seed, floor)
    found = minimise_scalars(problem).z
    assert problem.slack(found).max() <= 1e-9 * max(1.0, abs(floor))
    assert problem.value(found) == pytest.approx(problem.value(least_scalars(problem)), rel=1e-9)
