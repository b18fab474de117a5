"""Where svmlight text begins to count, said on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import kdsl

TEXT = "".join(f"{sign} 1:{n % 7} 2:{n % 3 + sign}\n" for n in range(12) for sign in (1, -1))


@pytest.mark.parametrize(("base", "features"), [("1", 2), ("0", 3), (None, 2)])
def test_features_are_counted_from_where_it_is_said(tmp_path: Path, base: str | None, features: int) -> None:
    data = tmp_path / "train.svm"
    data.write_text(TEXT, encoding="ascii")
    given = [] if base is None else ["--index-base", base]
    ran = kdsl("solve", "svm_1norm", "--data", str(data), *given, "-o", str(tmp_path / "m.kdsl"))
    assert ran.code == 0 and f"24 examples, {features} features" in ran.out
    assert kdsl("verify", str(tmp_path / "m.kdsl"), "--data", str(data), *given).code == 0


def test_an_index_below_the_base_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "train.svm"
    data.write_text("1 0:1 1:2\n-1 0:2 1:1\n", encoding="ascii")
    ran = kdsl("solve", "svm_1norm", "--data", str(data), "--index-base", "1")
    assert ran.code == 1 and "K513" in ran.err
