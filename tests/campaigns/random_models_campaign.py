"""Derives and verifies many random models: python tests/campaigns/random_models_campaign.py [examples] [seed]."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "algebra"))

from random_models import RandomModel, class_models, models, spheres

from kdsl.algebra.derivation import derive
from kdsl.algebra.evidence import verify
from kdsl.language.diagnostics import KdslError
from kdsl.pipeline import parse_spec


def judged(model: RandomModel) -> str:
    """What became of one model, in a word."""
    try:
        derivation = derive(parse_spec(model.text, "random"))
    except KdslError as error:
        return f"refused {error.diagnostics[0].code}"
    evidence = verify(derivation, seed=3, instances=1, time_limit=4.0)
    if any(check.times and not check.passed for check in evidence.checks):
        return "WRONG"
    return "agreed" if evidence.passed else "no bounded instance"


def main() -> int:
    examples, start = (int(a) for a in (*sys.argv[1:], "200", "0")[:2])
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for strategy in (models(), class_models(), spheres()):

        @seed(start)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def campaign(model: RandomModel) -> None:
            verdict = judged(model)
            counts[verdict] += 1
            if verdict not in ("agreed", "no bounded instance"):
                print(verdict, model)

        campaign()
    print(dict(counts))
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
