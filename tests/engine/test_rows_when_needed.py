"""Rows of a block that are computed when a step first needs them: fewer of them, and the same as the whole block's."""

from __future__ import annotations

import numpy as np
import pytest
from engine_problems import KernelGram, make_rows, no_rows, pieces, signed_atoms, svc, value
from test_engine_behaviour import RUNNABLE, PointsGram, kkt_gap, two_clouds

from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends import engine
from kdsl.solving.normal_form import HilbertBlock, NormalForm

KERNELS = {
    "linear": (1.0, 0.0, 1),
    "polynomial": (0.3, 1.0, 3),
    "gaussian": (0.4, 0.0, 1),
    "laplacian": (0.3, 0.0, 1),
    "sigmoid": (0.05, 0.0, 1),
}


def kernel_of(kind, X, whole=False):
    """With features that are all 0, the block of a set no longer fits the nearest cache, and is computed at once."""
    gamma, offset, degree = KERNELS[kind]
    if not whole:
        return KernelGram(NativeKernel(kind, X, gamma, offset, degree))
    return PointsGram(NativeKernel(kind, np.hstack([X, np.zeros((len(X), 25))]), gamma, offset, degree))


def both(problem_of, **options):
    """The problem solved by rows and by whole blocks."""
    found = [engine.solve(problem_of(whole), **options) for whole in (False, True)]
    assert [f.status for f in found] == ["solved", "solved"]
    return found


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("n", [601, 1301])
def test_rows_of_every_kernel(kind, isa, n, monkeypatch):
    """601 coordinates are one block, 1,301 are taken by working sets; neither fills the last panel."""
    monkeypatch.setenv("KDSL_ISA", isa)
    X, y = two_clouds(n, d=3, seed=n, apart=3.0)
    by_rows, at_once = both(lambda whole: svc(kernel_of(kind, X, whole), y, 2.0), kkt_tol=1e-4)
    assert by_rows.facts["entries"] < at_once.facts["entries"]
    assert kkt_gap(svc(kernel_of(kind, X), y, 2.0), by_rows.theta) <= 1.01e-4
    values = [value(svc(kernel_of(kind, X), y, 2.0), found.theta) for found in (by_rows, at_once)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_few_rows_of_a_block_are_computed_where_few_coordinates_move():
    X, y = two_clouds(1000, d=3, seed=1, apart=8.0)
    by_rows, at_once = both(lambda whole: svc(kernel_of("gaussian", X, whole), y, 1.0), kkt_tol=1e-3)
    assert np.count_nonzero(by_rows.theta) < 150
    assert by_rows.facts["entries"] < 0.3 * at_once.facts["entries"]


def test_atoms_with_weights_of_their_own():
    rng = np.random.default_rng(2)
    X, y = two_clouds(900, d=4, seed=2)
    weight = rng.uniform(0.5, 2.0, 900) * y

    def weighted(whole):
        h = pieces(*[[(0.0, 1.0, 0.0, -1.0)] for _ in y])
        return NormalForm((HilbertBlock("w", kernel_of("gaussian", X, whole), signed_atoms(weight)),), h, no_rows(900))

    by_rows, at_once = both(weighted, tol=1e-7)
    np.testing.assert_allclose(by_rows.theta, at_once.theta, atol=2e-3)
    assert by_rows.facts["entries"] < at_once.facts["entries"]


def test_newton_steps_fetch_the_rows_of_all_free_coordinates():
    """With a large C most coordinates that carry something are free, and pairs alone would take many more steps."""
    X, y = two_clouds(1100, d=3, seed=3)
    by_rows, at_once = both(lambda whole: svc(kernel_of("gaussian", X, whole), y, 1e4), tol=1e-9)
    assert value(svc(kernel_of("gaussian", X), y, 1e4), by_rows.theta) == pytest.approx(
        value(svc(kernel_of("gaussian", X), y, 1e4), at_once.theta), rel=1e-8
    )


def test_coordinates_without_a_point_and_sums_of_kernels_take_whole_blocks():
    """A slack has no row of a kernel, and rows of a sum are not offered: the answer is the same."""
    X, y = two_clouds(700, d=3, seed=4)
    h = pieces(*[[(0.0, 1.0, 0.0, -1.0)] for _ in y])
    grams = (kernel_of("gaussian", X), kernel_of("linear", X))
    rows = make_rows(np.vstack([y, np.ones(700)]), [0.0, 300.0], np.array([True, False]))
    blocks = tuple(HilbertBlock(name, gram, signed_atoms(y)) for name, gram in zip("uv", grams, strict=True))
    found = engine.solve(NormalForm(blocks[:1], h, rows), tol=1e-7)
    assert found.status == "solved" and found.theta.sum() <= 300.0 * (1 + 1e-12)
    assert found.facts["entries"] >= 701**2
    both_kernels = engine.solve(NormalForm(blocks, h, make_rows(y, 0.0)), kkt_tol=1e-4)
    assert both_kernels.status == "solved" and both_kernels.facts["entries"] >= 700**2
