"""Specs that the fuzzer found to end in a traceback, and what is said of them now."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdsl.algebra.derivation import derive
from kdsl.language.diagnostics import KdslError
from kdsl.pipeline import parse_spec


@pytest.mark.parametrize(
    ("spec", "before", "after", "code"),
    [
        ("rank_pairs", "y[i] > y[j]", "y[i] - 1 > y[j]", "K410"),
        ("rank_pairs", "y[i] > y[j]", "2 * y[i] > y[j]", "K410"),  # not taken for y[i] > y[j]
        ("rank_pairs", "y[i] > y[j]", "y[i]^2 > y[j]", "K410"),
        ("rank_pairs", "y[i] > y[j]", "y[i] * q[i] > y[j]", "K410"),
        ("sphere_soft", "minimize r^2 +", "minimize 2 +", "K404"),
    ],
)
def test_a_diagnostic_and_no_traceback(spec: str, before: str, after: str, code: str, root: Path) -> None:
    text = (root / "specs" / f"{spec}.kspec").read_text(encoding="utf-8")
    assert before in text
    with pytest.raises(KdslError) as refused:
        derive(parse_spec(text.replace(before, after), spec))
    (said,) = refused.value.diagnostics
    assert said.code == code and said.labels
