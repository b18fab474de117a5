"""Every random well-typed model derives, and evidence that never saw the dual agrees with it."""

from __future__ import annotations

import warnings

from hypothesis import HealthCheck, given, note, settings
from random_models import RandomModel, models

from kdsl.algebra.derivation import derive
from kdsl.pipeline import parse_spec


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(models())
def test_random_model(model: RandomModel) -> None:
    from kdsl.algebra.evidence import PRIMAL_IS_DUAL, verify

    derivation = derive(parse_spec(model.text, "random"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = verify(derivation, seed=3, instances=1, time_limit=4.0)
    note(str(evidence))
    assert all(check.passed for check in evidence.checks if check.times)
    assert next(c for c in evidence.checks if c.name == PRIMAL_IS_DUAL).times
