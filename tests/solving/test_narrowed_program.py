"""The narrowed linear program has the optimum of the whole one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from kdsl.numerics.arrays import Floats
from kdsl.solving.narrowed_program import Linear, Lines, narrowed_minimum


def whole(lines: Lines, linear: Linear) -> float:
    """The optimum with every slack in the program."""
    count = len(lines.price)
    pick = sp.csr_array(
        (-np.ones(len(lines.owner)), (np.arange(len(lines.owner)), lines.owner)), shape=(len(lines.owner), count)
    )
    hard = np.column_stack([linear.rows, np.zeros((len(linear.rows), count))])
    answer = linprog(
        np.concatenate([linear.cost, lines.price]),
        A_ub=sp.vstack([sp.hstack([sp.csr_array(lines.slopes), pick]), sp.csr_array(hard[~linear.equality])]),
        b_ub=np.concatenate([-lines.height, -linear.offset[~linear.equality]]),
        A_eq=hard[linear.equality] if linear.equality.any() else None,
        b_eq=-linear.offset[linear.equality] if linear.equality.any() else None,
        bounds=(None, None),
    )
    assert answer.status == 0
    return float(answer.fun)


def value(lines: Lines, linear: Linear, v: Floats) -> float:
    at = lines.slopes @ v + lines.height
    highest = np.full(len(lines.price), -np.inf)
    np.maximum.at(highest, lines.owner, at)
    return float(linear.cost @ v + lines.price @ highest)


def hinges(generator: np.random.Generator, count: int, m: int, pieces: int) -> Lines:
    """max of 0 and random lines, so that the whole is bounded below where prices exceed the reward."""
    owner = np.repeat(np.arange(count), pieces)
    slopes = generator.normal(size=(count * pieces, m))
    height = generator.normal(size=count * pieces) + 1.0
    slopes[::pieces], height[::pieces] = 0.0, 0.0
    return Lines(owner, slopes, height, generator.uniform(0.5, 1.5, count))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("m", "pieces"), [(2, 2), (3, 2), (2, 3)])
def test_the_optimum_is_that_of_the_whole_program(seed: int, m: int, pieces: int) -> None:
    generator = np.random.default_rng(seed)
    lines = hinges(generator, 1500, m, pieces)
    linear = Linear(generator.normal(size=m), np.zeros((0, m)), np.zeros(0), np.zeros(0, dtype=bool))
    found = narrowed_minimum(lines, linear)
    assert found is not None
    assert value(lines, linear, found) == pytest.approx(whole(lines, linear), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("equality", [False, True])
def test_rows_without_a_slack_are_kept(equality: bool) -> None:
    generator = np.random.default_rng(11)
    lines = hinges(generator, 1200, 2, 2)
    linear = Linear(np.zeros(2), np.array([[1.0, -1.0]]), np.array([0.5]), np.array([equality]))
    found = narrowed_minimum(lines, linear)
    assert found is not None
    gap = float(found[0] - found[1] + 0.5)
    assert gap <= 1e-9
    assert not equality or abs(gap) <= 1e-9
    assert value(lines, linear, found) == pytest.approx(whole(lines, linear), rel=1e-9)


def test_an_unbounded_program_is_left_to_others() -> None:
    generator = np.random.default_rng(5)
    lines = hinges(generator, 1000, 2, 2)
    cheap = Lines(lines.owner, lines.slopes, lines.height, 1e-9 * lines.price)
    linear = Linear(np.array([1.0, 0.0]), np.zeros((0, 2)), np.zeros(0), np.zeros(0, dtype=bool))
    assert narrowed_minimum(cheap, linear) is None
