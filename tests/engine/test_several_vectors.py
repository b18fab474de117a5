"""Several vectors at once: the values of the kernel are computed once for all of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from engine_problems import kernel_matrix, with_isa

import kdsl
from kdsl import _core
from kdsl.binding.expansions import Expansion
from kdsl.binding.gram import DenseGram, KernelGram
from kdsl.binding.kernels import Gaussian, Laplacian, Linear, Polynomial
from kdsl.numerics.native_kernel import NativeKernel, in_columns, in_rows, rough_product
from kdsl.solving.normal_form import HilbertBlock, together

KINDS = ("linear", "polynomial", "gaussian", "laplacian", "sigmoid")
ISAS = ("portable", "avx2", "avx512", "amx")
ROOM = 1 << 28


def some(n: int, many: int, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, d)), rng.normal(size=(n, many))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("n", "many"), [(1, 2), (191, 3), (192, 4), (193, 5), (583, 9)])
def test_products_with_several_vectors(n: int, many: int, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_isa(isa, monkeypatch)
    X, V = some(n, many)
    points = _core.Points.dense(X)
    for kind in KINDS:
        K = kernel_matrix(NativeKernel(kind, X, 0.3, 0.7, 3), X, X)  # type: ignore[arg-type]
        size = np.abs(K) @ np.abs(V)
        for single, allowed in ((False, 1e-13), (True, 3e-6)):
            got = in_columns(
                _core.kernel_product(_core.Kernel(kind, 0.3, 0.7, 3), points, in_rows(V), points, 2, single), V
            )
            assert got.shape == V.shape
            assert (np.abs(got - K @ V) <= allowed * size).all()


@pytest.mark.parametrize("single", [False, True])
def test_threads_change_no_bit(single: bool) -> None:
    X, V = some(1500, 3)
    points = _core.Points.dense(X)
    first, *others = (
        _core.kernel_product(_core.Kernel("gaussian", 0.3, 0.0, 1), points, in_rows(V), points, threads, single)
        for threads in (1, 1, 2, 3)
    )
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("form", ["dense", "csr", "single", "thin", "thin single"])
def test_expansions_with_several_columns(form: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_isa(isa, monkeypatch)
    thin = form.startswith("thin")
    X, V = some(450, 6, 100 if thin else 7)
    Z, _ = some(301, 1, X.shape[1])
    if thin:
        for points in (X, Z):
            points[np.random.default_rng(0).random(points.shape) < 0.8] = 0.25
    single = form.endswith("single")
    given = np.float32(Z) if single else sp.csr_array(Z) if form == "csr" else Z
    for kernel in (Gaussian(0.05), Laplacian(0.05), Polynomial(2, 0.1, 1.0)):
        wanted = kernel.block(np.float64(given) if single else Z, X) @ V
        expansion = kernel.expanding(sp.csr_array(X) if form == "csr" else X, V)
        assert isinstance(expansion, Expansion)
        allowed = (1e-4 if single else 1e-11) * np.abs(wanted).max()
        np.testing.assert_allclose(expansion(given), wanted, atol=allowed)
        alone = np.column_stack([kernel.expanding(expansion.support, V[:, k])(given) for k in range(6)])
        np.testing.assert_allclose(expansion(given), alone, atol=allowed)
        if form == "dense":
            np.testing.assert_allclose(expansion.at_support(), kernel.block(X, X) @ V, atol=allowed)


def test_single_precision_is_refused_where_it_is_not_enough_for_one_of_the_columns() -> None:
    """Terms of the second column cancel to a millionth of their size."""
    rng = np.random.default_rng(2)
    X, Z = np.repeat(rng.normal(size=(300, 3)), 2, axis=0), np.float32(rng.normal(size=(2000, 3)))
    good = rng.normal(size=600)
    bad = np.tile([1e7, -1e7 + 1.0], 300)
    kernel = Gaussian(0.5)
    expansion = kernel.expanding(X, np.column_stack([good, bad]))
    assert isinstance(expansion, Expansion)
    assert expansion.core.values(in_rows(expansion.coefficients), _core.Points.dense(Z), 2, True) is None
    wanted = kernel.block(np.float64(Z), X) @ expansion.coefficients
    np.testing.assert_allclose(expansion(Z), wanted, rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("carrying", [1.0, 0.5, 0.05])
def test_a_gram_matrix_expands_several_columns(carrying: float) -> None:
    X, V = some(900, 3)
    V[np.random.default_rng(0).random(900) > carrying] = 0.0
    V[:5, 1] = 0.0  # one column carries less than the others
    K = Gaussian(0.3).block(X, X)
    np.testing.assert_allclose(KernelGram(Gaussian(0.3), X).expand(V), K @ V, atol=1e-10)
    kept = KernelGram(Gaussian(0.3), X)
    assert kept.kept is not None
    np.testing.assert_allclose(kept.expand(V), K @ V, atol=1e-10)
    rough = rough_product(kept)
    assert rough is not None
    np.testing.assert_allclose(rough(V), K @ V, atol=1e-4)


def test_no_support_and_vectors_that_do_not_fit() -> None:
    X, _ = some(6, 1)
    nothing = _core.Expansion(_core.Kernel("gaussian", 1.0, 0.0, 1), _core.Points.dense(X[:0]), None, 1)
    assert nothing.values(np.zeros(0), _core.Points.dense(X), 1, False).tolist() == [0.0] * 6
    points = _core.Points.dense(X)
    for length in (0, 5, 13):
        with pytest.raises(ValueError, match="do not fit together"):
            _core.kernel_product(_core.Kernel("gaussian", 1.0, 0.0, 1), points, np.ones(length), points, 1, False)


def test_blocks_of_one_matrix_are_multiplied_together_and_others_alone() -> None:
    X, V = some(40, 4)
    shared, other = KernelGram(Gaussian(0.3), X), DenseGram(np.eye(40))
    atoms = sp.csc_array(sp.eye_array(40))
    blocks = [HilbertBlock(str(n), gram, atoms) for n, gram in enumerate((shared, other, shared, shared))]
    asked: list[tuple[int, ...]] = []

    def product(gram: object, v: np.ndarray) -> np.ndarray:
        asked.append(v.shape)
        return gram.matvec(v)  # type: ignore[attr-defined, no-any-return]

    images = together(blocks, list(V.T), product)
    assert asked == [(40, 3), (40,)]
    K = Gaussian(0.3).block(X, X)
    for n, image in enumerate(images):
        np.testing.assert_allclose(image, V[:, 1] if n == 1 else K @ V[:, n], atol=1e-10)


def test_several_classes_are_predicted_as_one_by_one() -> None:
    rng = np.random.default_rng(4)
    y = np.arange(400) % 4
    X = rng.normal(size=(400, 4)) + 2.0 * np.eye(4)[y]
    solution = kdsl.solve(
        "multiclass_delta", {"x": X, "y": y, "delta": 1.0 - np.eye(4)}, kernels={"q": "rbf(gamma = 0.2)"}
    )
    family, new = solution.predictor.vectors["w"], rng.normal(size=(1500, 4))
    support = solution.predictor.support[family.space]
    wanted = Gaussian(0.2).block(new, np.asarray(support)) @ family.coefficients.T
    np.testing.assert_allclose(solution.decision(new), wanted, atol=1e-10)
    assert (solution.predict(new) == wanted.argmax(axis=1)).all()


def test_linear_kernels_take_several_columns_too() -> None:
    X, V = some(30, 3)
    np.testing.assert_allclose(Linear().expanding(X, V)(X), X @ X.T @ V, atol=1e-10)
