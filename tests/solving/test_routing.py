"""Which backend is chosen for which facts, the sentence that says why, fallbacks, overrides and third parties."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from exact_text import compare
from random_forms import KINDS, objective, random_form

from kdsl.binding.gram import DenseGram
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving import routing
from kdsl.solving.backends import registry
from kdsl.solving.backends.interface import Options
from kdsl.solving.facts import Facts, facts_of
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable

BOX = Facts(
    size=200,
    points=200,
    blocks=1,
    equalities=0,
    inequalities=0,
    row_rank=0,
    shared=0,
    boxed=True,
    quadratic=False,
    curved=False,
    kinks=0,
    largest_atom=1,
    sparse=False,
    gram_rank=None,
    dense_bytes=320_000,
)
BOX_WITH_ROW = replace(BOX, equalities=1, row_rank=1)
SYSTEM = replace(BOX, boxed=False, quadratic=True, curved=True)
NO_ENGINE = frozenset({"engine"})
NO_PIQP = frozenset({"engine", "qpsolvers:piqp"})
OURS_ONLY = frozenset({"engine", "osqp", "qpsolvers:piqp", "qpsolvers:clarabel"})


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Make the backends of these names look as if they were not installed, and all others as if they were."""

    def remove(names: frozenset[str]) -> None:
        known = tuple(replace(b, installed=lambda here=b.name not in names: here) for b in registry.shipped())
        monkeypatch.setattr(registry, "shipped", lambda: known)

    return remove


TABLE = [
    (
        replace(BOX_WITH_ROW, entropies=200),
        frozenset(),
        "newton",
        "one row and entropies, 200 multipliers: Newton's method",
    ),
    (
        SYSTEM,
        frozenset(),
        "direct",
        "no box and a quadratic cost: a linear system of 200 equations, solved by Cholesky",
    ),
    (
        replace(SYSTEM, equalities=1, row_rank=1),
        frozenset(),
        "direct",
        "no box and a quadratic cost: a linear system of 200 equations and one row, solved by Cholesky",
    ),
    (
        replace(SYSTEM, size=50_000),
        frozenset(),
        "cg",
        "no box and a quadratic cost: a linear system of 50,000 equations, too large to factorise, "
        "solved by conjugate gradients",
    ),
    (replace(SYSTEM, size=4000, memory=3.84e8), frozenset(), "direct", None),
    (replace(SYSTEM, size=4000, memory=3.83e8), frozenset(), "cg", None),
    (replace(SYSTEM, size=4000, curved=False, memory=3.84e8), frozenset(), "engine", None),
    (replace(SYSTEM, size=12_000, curved=False), frozenset(), "direct", None),
    (replace(SYSTEM, size=50_000, curved=False), frozenset(), "engine", None),
    (replace(SYSTEM, inequalities=1, row_rank=1), frozenset(), "engine", None),
    (BOX, frozenset(), "engine", "no rows and a box, 200 multipliers: one multiplier at a time, by the engine"),
    (
        replace(BOX, equalities=1, row_rank=1),
        frozenset(),
        "engine",
        "one row and a box, 200 multipliers: sequential minimal optimisation on pairs, by the engine",
    ),
    (
        replace(BOX, equalities=2, row_rank=2, shared=200, kinks=200),
        frozenset(),
        "engine",
        "two rows and a box, a piecewise cost, 200 multipliers: sequential minimal optimisation on up to 3 "
        "multipliers, by the engine",
    ),
    (replace(BOX, equalities=50, row_rank=50), frozenset(), "engine", None),
    (BOX, NO_ENGINE, "coordinate", "no rows and a box, 200 multipliers: one multiplier at a time"),
    (
        replace(BOX, equalities=1, row_rank=1),
        NO_ENGINE,
        "reference",
        "one row and a box, 200 multipliers: small enough for the reference",
    ),
    (replace(BOX, size=60_000), NO_ENGINE, "coordinate", None),
    (
        replace(BOX, size=3000),
        NO_ENGINE,
        "qpsolvers:piqp",
        "no rows and a box, 3,000 multipliers: an explicit quadratic program, by piqp",
    ),
    (replace(BOX, size=3000, equalities=1, row_rank=1), NO_ENGINE, "qpsolvers:piqp", None),
    (replace(BOX, size=3000, equalities=1, row_rank=1), NO_PIQP, "qpsolvers:clarabel", None),
    (replace(BOX, size=900, equalities=1, row_rank=1), OURS_ONLY, "reference", None),
]


@pytest.mark.parametrize(("facts", "missing", "name", "reason"), TABLE)
def test_route(facts: Facts, missing: frozenset[str], name: str, reason: str | None, without) -> None:  # type: ignore[no-untyped-def]
    without(missing)
    chosen = routing.route(facts)
    assert chosen.backend.name == name
    if reason is not None:
        assert chosen.reason == reason
    passed_over = [warning for warning in chosen.warnings if warning.code == "K606"]
    assert len(passed_over) == ("engine" in missing)
    assert all(warning.severity == "warning" for warning in chosen.warnings)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_facts_of_random_problems(kind) -> None:  # type: ignore[no-untyped-def]
    facts = facts_of(random_form(kind))
    assert facts.size == 24
    assert (facts.equalities, facts.inequalities) == (kind.rows, kind.inequalities)
    assert facts.row_rank == facts.rows
    assert facts.linear_system == (not kind.box)
    assert facts.boxed == (kind.box and not (kind.kinks and kind.curved))
    assert bool(facts.kinks) == kind.kinks
    assert facts.curved == kind.curved
    assert facts.largest_atom == (2 if kind.pairs else 1)
    assert facts.blocks == kind.blocks
    assert facts.gram_rank == (4 if kind.linear else None)


class LinearGram(DenseGram):
    """<x, z> on points that are known."""

    points = np.arange(12.0).reshape(6, 2)

    def native(self) -> NativeKernel:
        return NativeKernel("linear", sp.csr_array(self.points) if self.matrix[0, 0] else self.points)


@pytest.mark.parametrize("first", [0.0, 1.0])
def test_facts_of_a_linear_kernel(first: float) -> None:
    gram = LinearGram(np.full((6, 6), first))
    h = Separable.single(np.zeros(6), np.ones(6), np.zeros(6), -np.ones(6))
    rows = Rows(sp.csr_array(np.vstack([np.ones(6), 2 * np.ones(6)])), np.zeros(2), np.ones(2, bool))
    facts = facts_of(NormalForm((HilbertBlock("w", gram, sp.csc_array(sp.eye_array(6))),), h, rows))
    assert facts.gram_rank == 2
    assert facts.sparse == bool(first)
    assert (facts.equalities, facts.row_rank, facts.shared) == (2, 1, 6)
    assert facts.describe() == ("6 coordinates (one example each), a box, one piece each, 2 equality rows")


def test_a_requested_backend_overrides_and_is_warned_about() -> None:
    chosen = routing.route(BOX, requested="osqp", tol=1e-9)
    assert chosen.backend.name == "osqp"
    assert chosen.reason == "asked for: no rows and a box, 200 multipliers"
    compare("K605", chosen.warnings)
    assert routing.route(BOX, requested="engine", tol=1e-9).warnings == ()


def refused(facts: Facts, requested: str | None = None) -> tuple[Diagnostic, ...]:
    with pytest.raises(KdslError) as caught:
        routing.route(facts, requested)
    return caught.value.diagnostics


def test_a_requested_backend_that_cannot_take_the_problem() -> None:
    compare("K601", refused(replace(BOX, equalities=1, row_rank=1), "direct"))


def test_a_backend_that_needs_more_memory_than_is_allowed() -> None:
    why = refused(replace(SYSTEM, size=4000, memory=20e6), "direct")[0].why
    assert why.startswith("3 matrices of 4,000 rows take 0.38 GB, and 0.02 are allowed; the problem has 4,000")


def test_an_unknown_backend_is_named_with_the_nearest() -> None:
    compare("K602", refused(BOX, "qpsolvers:pipq"))
    assert "did you mean `qpsolvers:clarabel`?" in refused(BOX, "clarabel")[0].help
    assert refused(BOX, "simplex")[0].help == "`kdsl backends` lists them"


def test_a_backend_that_is_not_installed(without) -> None:  # type: ignore[no-untyped-def]
    without(frozenset({"qpsolvers:piqp", "engine"}))
    compare("K603", refused(BOX, "qpsolvers:piqp"))
    assert refused(BOX, "engine")[0].help == "build kdsl with its compiled core"


def test_fallbacks_are_recorded(without) -> None:  # type: ignore[no-untyped-def]
    without(NO_ENGINE)
    compare("K606", routing.route(BOX).warnings)


def test_the_next_backend_after_one_that_fell_short(without) -> None:  # type: ignore[no-untyped-def]
    without(frozenset({"qpsolvers:piqp"}))
    first = routing.route(replace(SYSTEM, size=50_000))
    assert [backend.name for backend in first.alternatives] == ["engine"]
    second = routing.next_route(first, "rounding stopped progress")
    assert second is not None
    assert second.backend.name == "engine"
    assert second.reason.endswith("solved by conjugate gradients; it fell short: by engine")
    compare("K608", second.warnings)
    assert routing.next_route(second, "so did this") is None
    assert routing.route(BOX, requested="engine").alternatives == ()


def test_nobody_takes_it(without) -> None:  # type: ignore[no-untyped-def]
    without(NO_PIQP)
    compare("K607", refused(replace(BOX, size=60_000, equalities=1, row_rank=1)))


OTHERS = """
from dataclasses import replace

NOT_A_BACKEND = 3
CLASH = replace(BACKEND, name="osqp")
"""


@pytest.fixture
def plugin(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The distribution of docs/backends.md as pip leaves it on the path: a module and its metadata."""
    page = (root / "docs" / "backends.md").read_text(encoding="utf-8")
    (code,) = re.findall(r'```python title="kdsl_projected.py"\n(.*?)```', page, re.DOTALL)
    (entry,) = re.findall(r'^(projected) = "(.*)"$', page, re.MULTILINE)
    (tmp_path / "kdsl_projected.py").write_text(code + OTHERS)
    metadata = tmp_path / "kdsl_projected-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kdsl-projected\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[kdsl.backends]\n{entry[0]} = {entry[1]}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield metadata
    sys.modules.pop("kdsl_projected", None)


def test_a_third_party_adds_a_backend(plugin: Path) -> None:
    problem = random_form(next(kind for kind in KINDS if kind.name == "svm_without_bias"))
    chosen = routing.route(facts_of(problem), requested="projected", tol=1e-3)
    assert chosen.warnings == ()
    found = chosen.backend.solve(problem, Options(tol=1e-6))
    ours = routing.route(facts_of(problem)).backend.solve(problem, Options(tol=1e-8))
    assert objective(problem, found.theta) == pytest.approx(objective(problem, ours.theta), rel=1e-5)
    assert refused(BOX_WITH_ROW, "projected")[0].why.startswith("it projects on boxes only; the problem has")
    assert registry.backends()[1] == ()


def test_broken_entry_points_are_warnings(plugin: Path) -> None:
    (plugin / "entry_points.txt").write_text(
        "[kdsl.backends]\nmissing = kdsl_projecte:BACKEND\nnumber = kdsl_projected:NOT_A_BACKEND\n"
        "clash = kdsl_projected:CLASH\n"
    )
    found, warnings = registry.backends()
    assert len(found) == len(registry.shipped())
    compare("K604", sorted(warnings))
    assert routing.route(BOX).backend.name in ("engine", "coordinate")


def test_listing_backends_imports_no_solver() -> None:
    import subprocess

    code = (
        "import sys; from kdsl.solving.backends.registry import backends\n"
        "[(b.installed(), b.version()) for b in backends()[0]]\n"
        "print([m for m in ('osqp','cvxpy','clarabel','piqp','highspy','scs') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
