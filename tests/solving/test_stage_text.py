"""The normal form and the route as they are printed: every multiplier, piece, row and backend is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from solved_instances import instance

from kdsl.language.diagnostics import KdslError
from kdsl.solving.api import Prepared, prepare
from kdsl.solving.backends.interface import Options
from kdsl.solving.backends.registry import shipped
from kdsl.solving.facts import facts_of
from kdsl.solving.planning import chosen_route, normal_form
from kdsl.solving.stage_text import normal_form_text, route_text

NAMES = sorted(path.stem for path in (Path(__file__).resolve().parents[2] / "specs").glob("*.kspec"))


def prepared(name: str) -> Prepared:
    found = instance(name, 9, "linear")
    return prepare(found.name, found.data, found.parameters, found.kernels)


def section(text: str, title: str) -> list[str]:
    """The lines of the section with a title that begins so."""
    parts = [part.splitlines() for part in text.split("\n\n")]
    return next((part[1:] for part in parts if part[0].startswith(title)), [])


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_told(name: str) -> None:
    ready = prepared(name)
    lowered = normal_form(ready.posed)
    text = normal_form_text(ready.posed, lowered)
    assert f"over {lowered.problem.size:,} numbers t" in text
    told = [int(word) for line in section(text, "t") for word in re.findall(r"t\[(\d+)\]$", line)]
    assert max(told) == lowered.problem.size
    assert len(section(text, "A t = a")) == len(lowered.problem.rows.target)
    assert len(section(text, "1/2")) == len(lowered.problem.blocks)
    assert not re.search(r"nan|-0[,\n ]", text)


@pytest.mark.parametrize("name", NAMES)
def test_the_route_is_the_one_that_is_taken(name: str) -> None:
    ready = prepared(name)
    lowered = normal_form(ready.posed)
    route = chosen_route(ready.posed, lowered, Options())
    text = route_text(ready.posed, facts_of(lowered.problem), route)
    assert f"chosen  {route.backend.name}\n          {route.reason}\n" in text
    if ready.posed.energies.outer is None:  # else a cone may stand in for the search of its multiplier
        assert ready.solve(Options()).backend == route.backend.name
    if not ready.posed.energies.conic:
        others = [line.split()[0] for line in section(text, "others")]
        assert sorted([*others, route.backend.name]) == sorted(backend.name for backend in shipped())


def test_pieces_rows_and_entropies_are_told() -> None:
    ready = prepared("svm_nu_sum")
    text = normal_form_text(ready.posed, normal_form(ready.posed))
    assert section(text, "A t = a")[1].startswith("  row 2  9 entries of -1, <= -")
    ready = prepared("loss_huber")
    (line,) = section(normal_form_text(ready.posed, normal_form(ready.posed)), "h(t)")
    assert line.startswith("  beta[i] of `huber`  [-1.345, 1.345] c = 1, s = -")
    ready = prepared("svr_linear_eps")
    (line,) = section(normal_form_text(ready.posed, normal_form(ready.posed)), "h(t)")
    assert line.startswith("  beta[i] of `above~below`  [-1, 0] c = 0, s = -") and "; [0, 1] c = 0, s = -" in line
    ready = prepared("loss_logistic")
    assert "9 at a lower end, 9 at an upper end" in normal_form_text(ready.posed, normal_form(ready.posed))
    ready = prepared("ridge_ball")
    assert "a search finds it" in normal_form_text(ready.posed, normal_form(ready.posed))


def test_a_backend_that_cannot_is_refused_before_it_is_called() -> None:
    ready = prepared("loss_logistic")
    lowered = normal_form(ready.posed)
    assert chosen_route(ready.posed, lowered, Options(), "cvxpy").backend.name == "cvxpy"
    with pytest.raises(KdslError, match="K601"):
        chosen_route(ready.posed, lowered, Options(), "engine")
