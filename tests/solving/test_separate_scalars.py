"""A bias for each group is found by itself: the optimum is that of the linear program over all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from test_general_formulations import KERNEL, examples

from kdsl.bench.own import BIASES, margins
from kdsl.pipeline import parse_spec
from kdsl.solving import scalars
from kdsl.solving.api import prepare
from kdsl.solving.backends import engine
from kdsl.solving.certify import certify
from kdsl.solving.lowering import lower
from kdsl.solving.scalar_problem import ScalarProblem


def scalar_problem(more: str = "") -> ScalarProblem:
    """The scalars of a soft margin with 8 biases, w far from its best."""
    data, rest = examples(300)
    posed = prepare(parse_spec(margins(**BIASES, more=more)), {**data, "group": rest["group"]}, kernels=KERNEL).posed
    form = lower(posed.energies, posed.values, posed.spaces).problem
    return certify(posed, engine.solve(form, tol=0.3).theta).scalar_problem


def by_linear_program(problem: ScalarProblem) -> float:
    answer = linprog(problem.linear, A_ub=problem.matrix, b_ub=-problem.offset, bounds=(None, None))
    assert answer.status == 0
    return float(answer.fun) + problem.constant


@pytest.mark.parametrize("more", ["", "  floor[g]: b[g] >= 0.3\n"])
def test_biases_one_by_one_are_optimal(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = scalar_problem(more)
    monkeypatch.setattr(scalars, "least_scalars", None)  # it is not asked
    monkeypatch.setattr(scalars, "narrowed_minimum", None)
    z = scalars.minimise_scalars(problem).z
    assert problem.slack(z).max() <= 1e-12
    assert problem.value(z) == pytest.approx(by_linear_program(problem), rel=1e-9)


def test_slacks_that_see_two_biases_are_left_to_the_program() -> None:
    problem = scalar_problem()
    few = problem.families["b"].members
    mixed = problem.matrix.tolil()
    first = next(row for row in range(mixed.shape[0]) if mixed[row, few[0]] != 0)
    mixed[first, few[1]] = 0.7
    coupled = replace(problem, matrix=mixed.tocsr())
    z = scalars.minimise_scalars(coupled).z
    assert coupled.value(z) == pytest.approx(by_linear_program(coupled), rel=1e-6)
    assert coupled.value(z) > by_linear_program(coupled) - 1e-6
    assert not np.array_equal(z, scalars.minimise_scalars(problem).z)
