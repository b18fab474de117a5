"""Hard constraints that contradict each other plainly are named: equal points, opposite labels, cycles of pairs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.pipeline import parse_spec
from kdsl.solving.api import solve
from kdsl.solving.infeasibility import NoSolution

PAIRS = """model pairs
index  j in 1..m
data   lo[j] : input, hi[j] : input
kernel k = rbf(gamma = 1)
var    w : H(k)
minimize 1/2 ||w||^2
subject to
  above[j]: <w, phi(hi[j]) - phi(lo[j])> >= 1
predict value(t) = <w, phi(t)>
"""
POINTS = np.random.default_rng(3).normal(size=(12, 2))


def refused(spec: object, data: dict[str, object]) -> NoSolution:
    with pytest.raises(NoSolution) as caught:
        solve(spec, data)  # type: ignore[arg-type]
    assert caught.value.status == "infeasible"
    return caught.value


def pairs(*edges: tuple[int, int]) -> dict[str, object]:
    """Points by number: the second of each pair above the first."""
    below, above = zip(*edges, strict=True)
    return {"lo": POINTS[list(below)], "hi": POINTS[list(above)]}


def why(none: NoSolution) -> str:
    return none.diagnostics[0].why


def test_equal_examples_with_opposite_labels() -> None:
    x = np.vstack([POINTS, POINTS[4]])
    y = np.where(np.arange(13) % 2, 1.0, -1.0)
    y[12] = -y[4]
    none = refused("svm_hard", {"x": x, "y": y})
    assert why(none).startswith("`margin[5]` and `margin[13]` ask opposite things of equal points; ")
    assert {name: weight for name, weight in none.witness.items() if "[" in name} == {
        "margin[4]": pytest.approx(0.5),
        "margin[12]": pytest.approx(0.5),
    }


def test_a_pair_of_equal_points() -> None:
    none = refused(parse_spec(PAIRS), pairs((0, 1), (2, 2)))
    assert why(none).startswith("`above[2]` asks for a difference between equal points; ")


def test_a_pair_and_its_opposite() -> None:
    none = refused(parse_spec(PAIRS), pairs((0, 1), (2, 3), (1, 0)))
    assert why(none).startswith("`above[1]` and `above[3]` ask opposite things of equal points; ")


@settings(deadline=None, max_examples=15)
@given(st.permutations(range(12)), st.integers(3, 7), st.integers(0, 2**32 - 1))
def test_pairs_that_form_a_cycle(order: list[int], length: int, seed: int) -> None:
    """The members that are named are those of the cycle, whatever else is there without one."""
    ring = order[:length]
    cycle = [(ring[n], ring[(n + 1) % length]) for n in range(length)]
    others = [(order[a], order[b]) for a, b in ((0, 8), (1, 9), (9, 10), (8, 11))]
    edges = [*cycle, *others]
    shuffled = [edges[n] for n in np.random.default_rng(seed).permutation(len(edges))]
    none = refused(parse_spec(PAIRS), pairs(*shuffled))
    assert " form a cycle: " in why(none)
    named = [int(n) - 1 for n in re.findall(r"`above\[(\d+)\]`", why(none))]
    told = [shuffled[n] for n in named]
    assert sorted(told) == sorted(cycle)
    assert all(told[n][1] == told[(n + 1) % length][0] for n in range(length))


def test_where_nothing_is_plain_nothing_is_claimed() -> None:
    line = np.array([[0.0], [1.0], [2.0], [3.0]])
    none = refused("svm_hard", {"x": line, "y": np.array([1.0, -1.0, 1.0, -1.0])})
    assert why(none).startswith("there are multipliers of total gain 1 ")


def test_pairs_without_a_cycle_are_solved() -> None:
    assert solve(parse_spec(PAIRS), pairs((0, 1), (1, 2), (0, 2), (3, 2))).status == "optimal"
