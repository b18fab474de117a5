"""Kernels against scikit-learn and against their own definitions: value, diagonal, blocks, expansion, composition."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import kdsl
from kdsl.binding.composed import Normalized, OnColumns, Product, Scaled, Sum
from kdsl.binding.distances import inner_products, squared_distances
from kdsl.binding.gram import DenseGram, KernelGram, ShiftedGram, gram_oracle
from kdsl.binding.kernel_builder import build_kernel
from kdsl.binding.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from kdsl.binding.precomputed import Precomputed, test_points, training_points
from kdsl.binding.python_kernel import PythonKernel
from kdsl.language.diagnostics import KdslError
from kdsl.language.kernel_catalog import FAMILIES_BY_NAME, PARAMETER_WORDS
from kdsl.language.syntax import (
    KernelCall,
    KernelNumber,
    KernelOn,
    KernelProduct,
    KernelSum,
    Mul,
    Name,
    Neg,
    Number,
    Pow,
)
from kdsl.numerics import quiet_products
from kdsl.numerics.native_kernel import NativeKernel, OffersNative

test_points.__test__ = False  # a function of kdsl, not a test

KERNELS = [
    Linear(),
    Polynomial(3, 0.5, 1.5),
    Polynomial(2, 1.0, 0.0),
    Gaussian(0.3),
    Laplacian(0.2),
    Sigmoid(0.1, -0.5),
    Sum((Gaussian(0.3), Scaled(0.5, Linear()))),
    Product((Gaussian(0.3), Polynomial(2, 1.0, 1.0))),
    Normalized(Polynomial(2, 1.0, 1.0)),
    OnColumns(Gaussian(1.0), (2, 0), ("c", "a")),
]
IDS = [kernel.description for kernel in KERNELS]


def points(rows, columns, seed=0):
    values = np.random.default_rng(seed).normal(size=(rows, columns))
    values[np.abs(values) < 0.4] = 0.0
    return values


@pytest.mark.parametrize("columns", [5, 30])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("kernel", "name", "options"),
    [
        (Linear(), "linear", {}),
        (Polynomial(3, 0.5, 1.5), "poly", {"degree": 3, "gamma": 0.5, "coef0": 1.5}),
        (Gaussian(0.3), "rbf", {"gamma": 0.3}),
        (Laplacian(0.2), "laplacian", {"gamma": 0.2}),
        (Sigmoid(0.1, -0.5), "sigmoid", {"gamma": 0.1, "coef0": -0.5}),
    ],
)
def test_families_agree_with_scikit_learn(kernel, name, options, form, columns):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise", reason="scikit-learn is not installed")
    x, z = points(7, columns), points(4, columns, 1)
    expected = pairwise.pairwise_kernels(x, z, metric=name, **options)
    np.testing.assert_allclose(kernel.block(form(x), form(z)), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_value_diagonal_block_and_expansion_say_the_same(kernel, form):
    x, z = form(points(6, 20)), form(points(5, 20, 1))
    block = kernel.block(x, z)
    np.testing.assert_allclose(kernel.block(z, x), block.T, rtol=1e-13, atol=1e-14)
    dense = points(6, 20)[3], points(5, 20, 1)[2]
    assert kernel.value(*dense) == pytest.approx(block[3, 2], rel=1e-13, abs=1e-14)
    np.testing.assert_allclose(kernel.diagonal(x), np.diagonal(kernel.block(x, x)), rtol=1e-13)
    coefficients = np.random.default_rng(2).normal(size=(5, 2))
    for memory in (1, 1 << 20):
        result = kernel.expansion(z, coefficients, x, memory)
        np.testing.assert_allclose(result, block @ coefficients, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.psd], ids=[k.description for k in KERNELS if k.psd])
def test_kernels_by_formula_are_positive_semidefinite(kernel):
    x = points(40, 3)
    values = np.linalg.eigvalsh(kernel.block(x, x))
    assert values[0] >= -1e-12 * values[-1]


coordinates = st.floats(-1e3, 1e3)


@given(st.integers(1, 20), st.floats(-1e8, 1e8), st.floats(1e-6, 1e6), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_squared_distances_are_accurate_under_shift_and_scale(columns, shift, scale, seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=(9, columns)) * scale + shift
    x[5:7] = x[0]
    exact = ((x[:, None, :].astype(np.longdouble) - x[None, :, :]) ** 2).sum(axis=2)
    for form in (np.asarray, sp.csr_array):
        found = squared_distances(form(x))(form(x))
        assert (found >= 0).all() and (found[exact == 0] == 0).all()
        np.testing.assert_allclose(found, exact.astype(float), rtol=1e-11)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("memory", [3000, 1 << 28], ids=["blocks", "kept"])
def test_gram_oracle_over_several_inputs(form, memory):
    x, lo, hi = (form(points(n, 18, n)) for n in (20, 5, 7))
    gram = gram_oracle(Gaussian(0.05), [x, lo, hi], memory)
    stacked = np.vstack([points(n, 18, n) for n in (20, 5, 7)])
    full = Gaussian(0.05).block(stacked, stacked)
    assert gram.size == 32
    indices = np.array([0, 31, 7, 7])
    np.testing.assert_allclose(gram.rows(indices), full[indices], rtol=1e-13)
    np.testing.assert_array_equal(gram.rows(indices)[np.arange(4), indices], 1.0)
    np.testing.assert_array_equal(gram.diagonal(), 1.0)
    vector = np.random.default_rng(0).normal(size=32)
    np.testing.assert_allclose(gram.matvec(vector), full @ vector, rtol=1e-12, atol=1e-13)
    assert (gram.kept is None) == (memory == 3000)


def test_the_kept_matrix_is_symmetric_to_the_last_bit():
    gram = KernelGram(Normalized(Polynomial(3, 0.3, 1.0)), points(300, 25))
    full = gram.rows(np.arange(300))
    np.testing.assert_array_equal(full, full.T)


def test_memory_stays_within_the_budget():
    x = points(3000, 20)
    gram = KernelGram(Product((Gaussian(0.05), Polynomial(2))), x, memory=1 << 22)
    vector = np.ones(3000)
    gram.matvec(vector)
    tracemalloc.start()
    gram.matvec(vector)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * (1 << 22)


def test_rows_that_are_kept_are_not_the_callers_to_change():
    gram = KernelGram(Linear(), points(5, 3))
    before = gram.rows(np.arange(5)).copy()
    gram.rows(np.arange(5))[:] = 0
    np.testing.assert_array_equal(gram.rows(np.arange(5)), before)


def test_dense_and_sparse_inputs_are_stacked():
    gram = gram_oracle(Linear(), [points(3, 4), sp.csr_array(points(2, 4, 1))])
    stacked = np.vstack([points(3, 4), points(2, 4, 1)])
    np.testing.assert_allclose(gram.rows(np.arange(5)), stacked @ stacked.T, rtol=1e-14)


def test_dense_and_shifted_grams():
    matrix = Gaussian(1.0).block(points(6, 2), points(6, 2))
    shifted = ShiftedGram(DenseGram(matrix), 0.25)
    expected = matrix + 0.25 * np.eye(6)
    np.testing.assert_allclose(shifted.rows(np.array([4, 1])), expected[[4, 1]])
    np.testing.assert_allclose(shifted.diagonal(), np.diagonal(expected))
    np.testing.assert_allclose(shifted.matvec(np.arange(6.0)), expected @ np.arange(6.0))


def test_what_the_core_knows():
    x = points(4, 3)
    assert KernelGram(Gaussian(0.3), x).native() == NativeKernel("gaussian", x, 0.3)
    assert Polynomial(3, 0.5, 1.5).native(x) == NativeKernel("polynomial", x, 0.5, 1.5, 3)
    assert Sigmoid(0.1, -0.5).native(x) == NativeKernel("sigmoid", x, 0.1, -0.5)
    assert Laplacian(0.2).native(x) == NativeKernel("laplacian", x, 0.2)
    assert Linear().native(x) == NativeKernel("linear", x)
    assert Scaled(2.0, Linear()).native(x) == NativeKernel("polynomial", x, 2.0, 0.0, 1)
    picked = OnColumns(Gaussian(0.3), (2, 0), ("c", "a")).native(x)
    assert picked is not None
    np.testing.assert_array_equal(picked.points, x[:, [2, 0]])
    assert Sum((Linear(), Linear())).native(x) is None
    assert isinstance(KernelGram(Linear(), x), OffersNative)


# ------------------------------------------------------------------ building


def call(name, **arguments):
    return KernelCall(Name(name), tuple((Name(word), value) for word, value in arguments.items()))


NAMES = ("age", "income", "color=red", "color=blue")


def built(expression, x=None, parameters=None, **others):
    return build_kernel(expression, parameters or {}, points(6, 4) if x is None else x, NAMES, **others)


def test_every_family_of_the_catalogue_is_built():
    for name in FAMILIES_BY_NAME:
        arguments = {"of": Name("q")} if name == "normalized" else {}
        kernel = built(call(name, **arguments), declared={"q": call("linear")})
        assert kernel.psd == (FAMILIES_BY_NAME[name].psd and name != "precomputed")


@pytest.mark.parametrize(
    ("arguments", "gamma", "description"),
    [
        ({"gamma": Number("0.5")}, 0.5, "exp(-0.5 ||x - z||^2)"),
        ({"sigma": Number("2")}, 1 / 8, "exp(-0.125 ||x - z||^2) [gamma = 1/(2 sigma^2), sigma = 2]"),
        ({"sigma2": Number("2")}, 1 / 4, "exp(-0.25 ||x - z||^2) [gamma = 1/(2 sigma2), sigma2 = 2]"),
        ({"width": Number("2")}, 1 / 4, "exp(-0.25 ||x - z||^2) [gamma = 1/width^2, width = 2]"),
        ({"gamma": Mul((Name("g"), Pow(Number("1/2"), 2)), ("*",))}, 0.75, "exp(-0.75 ||x - z||^2)"),
        ({"gamma": Name("g")}, 3.0, "exp(-3 ||x - z||^2) [gamma = g]"),
        ({"gamma": Neg(Neg(Name("g")))}, 3.0, "exp(-3 ||x - z||^2)"),
    ],
)
def test_the_gaussian_in_every_parametrisation(arguments, gamma, description):
    kernel = built(call("rbf", **arguments), parameters={"g": 3.0})
    assert isinstance(kernel, Gaussian) and kernel.gamma == pytest.approx(gamma)
    assert kernel.description == description


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_scale_and_median_follow_their_formulas(form):
    x = points(30, 4) + 100 * (form is np.asarray)
    scale = built(call("rbf", gamma=Name("scale")), form(x))
    assert scale.gamma == pytest.approx(1 / (4 * x.var()), rel=1e-12)
    assert scale.description.endswith(f"[gamma = scale = 1/(d var), d = 4, var = {x.var():.6g}]")
    distances = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))[np.triu_indices(30, 1)]
    median = built(call("laplacian", gamma=Name("median")), form(x))
    assert median.gamma == pytest.approx(1 / np.median(distances) ** 2, rel=1e-12)
    assert set(PARAMETER_WORDS) == {"scale", "median"}
    assert built(call("rbf"), form(x)).gamma == scale.gamma


def test_scale_of_chosen_columns_looks_at_those_only():
    x = points(30, 4)
    kernel = built(KernelOn(call("rbf", gamma=Name("scale")), (Name("age"), Name("color"))), x)
    assert kernel.kernel.gamma == pytest.approx(1 / (3 * x[:, [0, 2, 3]].var()))
    assert kernel.columns == (0, 2, 3) and kernel.description.endswith("on age, color")


def test_columns_of_columns():
    x = points(6, 4)
    inner = KernelProduct((call("linear"), KernelOn(call("linear"), (Name("color"),))))
    kernel = built(KernelOn(inner, (Name("income"), Name("color"))), x)
    picked = x[:, 1:]
    np.testing.assert_allclose(kernel.block(x, x), (picked @ picked.T) * (x[:, 2:] @ x[:, 2:].T), rtol=1e-13)


def test_a_point_without_length_is_orthogonal_to_all():
    x = points(4, 3)
    x[1] = 0
    kernel = Normalized(Linear())
    block = kernel.block(x, x)
    assert (block[1] == 0).all() and (block[:, 1] == 0).all() and kernel.diagonal(x)[1] == 0
    np.testing.assert_allclose(np.delete(np.diagonal(block), 1), 1)


def test_a_composed_kernel_as_in_the_design():
    x = points(6, 4)
    expression = KernelSum(
        (
            KernelProduct((KernelNumber(Number("0.7")), call("rbf", gamma=Number("0.5")))),
            KernelProduct((call("linear"), KernelOn(call("poly", degree=Number("2")), (Name("age"), Name("income"))))),
        )
    )
    kernel = built(expression, x)
    expected = 0.7 * Gaussian(0.5).block(x, x) + (x @ x.T) * (x[:, :2] @ x[:, :2].T + 1) ** 2
    np.testing.assert_allclose(kernel.block(x, x), expected, rtol=1e-12)
    assert kernel.description == "0.7 exp(-0.5 ||x - z||^2) + <x, z> * (<x, z> + 1)^2 on age, income"


def test_parameters_and_other_kernels_as_factors():
    x = points(5, 4)
    expression = KernelProduct((call("t"), call("q"), KernelNumber(Number("2"))))
    kernel = built(expression, x, {"t": 0.25}, declared={"q": call("linear")})
    np.testing.assert_allclose(kernel.block(x, x), 0.5 * x @ x.T, rtol=1e-14)
    constant = built(KernelSum((call("linear"), KernelNumber(Number("2")))), x)
    np.testing.assert_allclose(constant.block(x, x[:2]), x @ x[:2].T + 2, rtol=1e-14)


def test_a_python_function():
    x = points(300, 4)
    kernel = built(call("mine"), x, functions={"mine": lambda a, b: a @ b.T + 1})
    assert isinstance(kernel, PythonKernel)
    np.testing.assert_allclose(kernel.block(sp.csr_array(x), x), x @ x.T + 1)
    np.testing.assert_allclose(kernel.diagonal(x), (x * x).sum(1) + 1)

    def broken(a, b):
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        PythonKernel(broken, "broken").block(x, x)


def test_precomputed_training_and_new_points():
    x, t = points(6, 3), points(4, 3, 1)
    formula = Gaussian(0.5)
    train = training_points(formula.block(x, x), "the matrix")
    new = test_points(formula.block(t, x), 6, formula.diagonal(t), "the matrix")
    kernel = Precomputed()
    np.testing.assert_allclose(kernel.block(train, train), formula.block(x, x))
    np.testing.assert_allclose(kernel.block(new, train[[4, 2]]), formula.block(t, x[[4, 2]]))
    np.testing.assert_allclose(kernel.block(train[[4, 2]], new), formula.block(x[[4, 2]], t))
    np.testing.assert_allclose(kernel.diagonal(new), 1.0)
    np.testing.assert_allclose(Normalized(kernel).block(new, train), formula.block(t, x))
    assert "precomputed" in kernel.description


@pytest.mark.parametrize("features", [3, 40])
@pytest.mark.filterwarnings("error")
def test_distances_to_no_point_at_all(features: int) -> None:
    """What predicts where no example carries anything."""
    assert squared_distances(np.zeros((0, features)))(np.ones((5, features))).shape == (5, 0)


def test_small_products_are_made_in_parts_too_small_to_wake_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    few, many = random.normal(size=(8, 40)), random.normal(size=(3000, 40))
    found, products = squared_distances(many)(few), inner_products(many)(few)
    monkeypatch.setattr(quiet_products, "FEW", 0)
    assert np.allclose(found, squared_distances(many)(few), rtol=1e-12)
    assert np.allclose(products, few @ many.T, rtol=0, atol=1e-12)
    monkeypatch.setattr(quiet_products, "FEW", 1 << 26)
    sizes = []

    class Counting(np.ndarray):
        def __matmul__(self, other: np.ndarray) -> np.ndarray:
            sizes.append(self.size * other.shape[1])
            return np.asarray(self) @ np.asarray(other)

    inner_products(many)(few.view(Counting))
    assert len(sizes) > 1 and max(sizes) <= quiet_products.QUIET


@pytest.mark.parametrize("answer", ["text", [["a", "b"], ["c", "d"]], [[1.0], [1.0, 2.0]], None])
def test_a_python_kernel_that_returns_no_numbers(answer: object) -> None:
    kernel = PythonKernel(lambda points, others: answer, "odd")
    with pytest.raises(KdslError, match="K564"):
        kernel.call(np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("points", [None, 3.0, np.zeros((2, 2, 2))])
def test_an_input_that_is_no_matrix(points: object) -> None:
    with pytest.raises(KdslError, match="K515"):
        kdsl.solve("svm_1norm", {"x": points, "y": np.array([1.0, -1.0])})
