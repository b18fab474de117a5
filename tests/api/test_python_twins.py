"""Every spec of the repository, written as Python by a program: the same primal, the same text, the same findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from python_writer import built
from random_models import RandomModel, class_models, models, spheres

import kdsl
from kdsl.language.checker import check_spec
from kdsl.language.diagnostics import Diagnostic
from kdsl.language.parser import parse_spec_text
from kdsl.language.syntax import Spec

ROOT = Path(__file__).resolve().parents[2]
SOUND = sorted([*ROOT.glob("specs/*.kspec"), *ROOT.glob("tests/algebra/models/**/*.kspec")])
FAILING = sorted(ROOT.glob("tests/diagnostics/*/*.kspec"))
PYTHONS_OWN = {
    *("K201", "K202", "K211", "K213", "K216", "K217", "K219", "K224", "K229"),  # NameError
    *("K210", "K216", "K218", "K222", "K225", "K312", "K318", "K319", "K320"),  # TypeError
    *("K205", "K228"),  # SyntaxError
    *("K229", "K332"),  # the test's own script asks for numbers
}
GREEK = {"v_and_nu"}  # the finding is about a Greek letter, which the tree no longer has


def check_twin(text: str, name: str) -> None:
    model, spec = kdsl.parse_spec(text, name), parse_spec_text(text)
    problem = built(spec, name)
    assert problem.primal == model.primal
    assert parse_spec_text(str(problem)) == problem.spec
    assert kdsl.parse_spec(str(problem), name).primal == model.primal


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_spec_has_a_twin(path: Path) -> None:
    check_twin(path.read_text(encoding="utf-8"), path.stem)


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(models() | class_models() | spheres())
def test_a_random_model_has_a_twin(model: RandomModel) -> None:
    check_twin(model.text, "random")


@cache
def parsed(path: Path) -> Spec | None:
    try:
        return parse_spec_text(path.read_text(encoding="utf-8"))
    except kdsl.KdslError:
        return None


def codes(diagnostics: Sequence[Diagnostic]) -> Counter[tuple[str, str]]:
    return Counter((d.code, d.severity) for d in diagnostics)


def found_in_text(path: Path, spec: Spec) -> Counter[tuple[str, str]]:
    model, found = check_spec(spec, path.read_text(encoding="utf-8"), path.stem)
    if model is None:
        return codes(found)
    try:
        kdsl.derive(model)
    except kdsl.KdslError as error:
        found += error.diagnostics
    return codes(found)


def found_in_python(path: Path, spec: Spec) -> Counter[tuple[str, str]]:
    problem = built(spec, path.stem)
    model, found = check_spec(*problem._source(), path.stem)
    try:
        problem.derive()
    except kdsl.KdslError as error:
        found = error.diagnostics if model is None else (*found, *error.diagnostics)
    return codes(found)


@pytest.mark.parametrize(
    "path", [p for p in FAILING if parsed(p) is not None], ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_a_mistake_has_the_same_code(path: Path) -> None:
    """Names that nothing declares, surplus arguments and the like are Python's own errors, and at once."""
    spec = parsed(path)
    assert spec is not None
    try:
        found = found_in_python(path, spec)
    except (NameError, TypeError, ValueError, SyntaxError) as error:
        assert path.parent.name in PYTHONS_OWN, error
        return
    assert found == found_in_text(path, spec) or path.stem in GREEK
