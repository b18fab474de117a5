"""Every random well-typed model derives, and evidence that never saw the dual agrees with it."""

from __future__ import annotations

import warnings

from hypothesis import HealthCheck, given, note, settings
from random_models import RandomModel, class_models, models, spheres

from kdsl.algebra.derivation import derive
from kdsl.algebra.evidence import PRIMAL_IS_DUAL, verify
from kdsl.pipeline import parse_spec


def campaign(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )


def agrees(model: RandomModel) -> bool:
    """Whether a bounded instance was found; every check that was made has to pass."""
    derivation = derive(parse_spec(model.text, "random"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = verify(derivation, seed=3, instances=1, time_limit=2.0)
    note(str(evidence))
    assert all(check.passed for check in evidence.checks if check.times)
    return next(c for c in evidence.checks if c.name == PRIMAL_IS_DUAL).times > 0


@campaign(30)
@given(models())
def test_one_score(model: RandomModel) -> None:
    assert agrees(model)


@campaign(12)
@given(class_models())
def test_several_classes_and_pairs(model: RandomModel) -> None:
    assert agrees(model)


@campaign(12)
@given(spheres())
def test_spheres(model: RandomModel) -> None:
    agrees(model)  # where slacks are cheap, no instance may be bounded
