"""A problem written in Python is the object that the shipped specification declares: same primal, same tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from python_specs import PROBLEMS

import kdsl
from kdsl.language.parser import parse_spec_text

SPECS = Path(__file__).resolve().parents[2] / "specs"


def test_every_shipped_spec_is_written_in_python() -> None:
    assert sorted(PROBLEMS) == sorted(path.stem for path in SPECS.glob("*.kspec"))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_primal_is_that_of_the_specification(name: str) -> None:
    problem = PROBLEMS[name]()
    model = kdsl.read_spec(str(SPECS / f"{name}.kspec"))
    assert problem.check() == ""
    assert problem.primal == model.primal
    assert problem.model.title == model.title
    assert [p.kind for p in problem.model.predictions] == [p.kind for p in model.predictions]


@pytest.mark.parametrize("name", PROBLEMS)
def test_its_text_reads_back_as_the_same_tree(name: str) -> None:
    problem = PROBLEMS[name]()
    assert parse_spec_text(str(problem)) == problem.spec
    assert kdsl.parse_spec(str(problem)).primal == problem.primal
