"""A short form of the fuzzing campaign; the long one is tests/campaigns/fuzz_language.py."""

from __future__ import annotations

import importlib.util
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType

import pytest

SMALL = ("multiclass_delta", "rank_pairs", "svr_nu")


@pytest.fixture(scope="module")
def fuzz(root: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location("fuzz_language", root / "tests/campaigns/fuzz_language.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["fuzz_language"] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sources(root: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted((root / "specs").glob("*.kspec"))}


def test_shipped_specs_go_through(fuzz: ModuleType, sources: dict[str, bytes]) -> None:
    summary = fuzz.run(sources.items())
    assert summary.failures == []
    assert summary.stages["derived"] == len(sources)


def test_truncations(fuzz: ModuleType, sources: dict[str, bytes]) -> None:
    chosen = {name: sources[name] for name in SMALL}
    summary = fuzz.run(fuzz.truncations(chosen), derive=False)
    assert summary.failures == []
    assert summary.cases == sum(len(data) + 1 for data in chosen.values())


def test_mutants(fuzz: ModuleType, sources: dict[str, bytes]) -> None:
    summary = fuzz.run(fuzz.mutants(sources, 600, seed=2))
    assert summary.failures == []
    assert len(summary.codes) > 30
    assert min(summary.stages[stage] for stage in ("decoded", "parsed", "derived")) > 10


def test_mutants_are_repeatable(fuzz: ModuleType, sources: dict[str, bytes]) -> None:
    assert list(islice(fuzz.mutants(sources, 50, 3), 50)) == list(islice(fuzz.mutants(sources, 50, 3), 50))


def test_a_failure_is_noticed(fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str, unicode: bool | None = None) -> str:
        raise ValueError("broken")

    monkeypatch.setattr(fuzz, "format_source", broken)
    assert "ValueError: broken" in fuzz.judge(b"minimize a").failure
    monkeypatch.setattr(fuzz, "format_source", lambda text, unicode=None: "minimize b\n")
    assert "changes the tree" in fuzz.judge(b"minimize a").failure
