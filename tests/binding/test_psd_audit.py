"""The audit of Gram matrices: what it finds, how it words it, and prediction that matches each repair."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kdsl.binding.gram import DenseGram, KernelGram
from kdsl.binding.kernels import DEFAULT_MEMORY, Gaussian, Sigmoid
from kdsl.binding.psd import audit_psd, repair
from kdsl.binding.python_kernel import PythonKernel
from kdsl.language.diagnostics import KdslError


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4))


def indefinite(n=30, smallest=-0.5):
    random = np.random.default_rng(3)
    basis, _ = np.linalg.qr(random.normal(size=(n, n)))
    values = np.concatenate([[smallest, smallest / 3], np.linspace(0.1, 5, n - 2)])
    matrix = (basis * values) @ basis.T
    return (matrix + matrix.T) / 2


def test_exact_up_to_the_limit():
    report = audit_psd(DenseGram(indefinite()))
    assert report.exact and report.verdict == "indefinite"
    assert report.at_least == report.at_most == pytest.approx(-0.5, abs=1e-12)
    assert report.describe().startswith("lambda_min = -0.5 from all 30 eigenvalues")


def test_rounding_is_not_taken_for_indefiniteness():
    x = np.repeat(points(20), 10, axis=0)
    report = audit_psd(KernelGram(Gaussian(1e-6), x))
    assert report.verdict == "psd" and abs(report.at_most) <= report.rounding


@pytest.mark.parametrize("smallest", [-0.5, 0.05])
def test_bounds_above_the_limit_hold(smallest):
    matrix = indefinite(200, smallest)
    report = audit_psd(DenseGram(matrix), limit=50)
    true = np.linalg.eigvalsh(matrix)[0]
    assert not report.exact
    assert report.at_least <= true <= report.at_most + 1e-12
    if smallest < 0:
        assert report.verdict == "indefinite" and "certainly negative" in report.describe()
        assert report.at_most < 0.8 * smallest
    else:
        assert report.verdict == "undecided" and "certain is only lambda_min >= -" in report.describe()


def test_a_formula_decides_above_the_limit():
    report = audit_psd(KernelGram(Gaussian(0.5), points(300)), limit=100, by_formula=True)
    assert report.verdict == "psd" and "by its formula" in report.describe()


def test_gershgorin_can_prove_it():
    matrix = np.eye(300) + 1e-4
    report = audit_psd(DenseGram(matrix), limit=100)
    assert report.verdict == "psd" and report.at_least > 0


def test_sigmoid_is_found_out():
    report = audit_psd(KernelGram(Sigmoid(0.5, -1.0), points(400)), limit=100)
    assert report.verdict == "indefinite"


def test_refuse_and_accept():
    oracle = DenseGram(indefinite())
    report = audit_psd(oracle)
    with pytest.raises(KdslError) as caught:
        repair(oracle, report, "refuse")
    assert caught.value.diagnostics[0].code == "K570"
    accepted = repair(oracle, report, "accept")
    assert accepted.gram is oracle and accepted.warnings[0].code == "K572"


@pytest.mark.parametrize("policy", ["refuse", "accept", "clip", "shift"])
def test_no_policy_touches_a_positive_semidefinite_matrix(policy):
    oracle = KernelGram(Gaussian(0.5), points(20))
    repaired = repair(oracle, audit_psd(oracle), policy)
    assert repaired.gram is oracle and repaired.warnings == () and repaired.shift == 0
    np.testing.assert_array_equal(repaired.coefficients(np.arange(20.0)), np.arange(20.0))


@pytest.fixture
def sigmoid():
    x = points(40)
    kernel = Sigmoid(0.5, -1.0)
    oracle = KernelGram(kernel, x)
    return x, kernel, oracle, audit_psd(oracle)


def test_clip_and_the_prediction_that_matches_it(sigmoid):
    x, kernel, oracle, report = sigmoid
    repaired = repair(oracle, report, "clip")
    clipped = repaired.gram.rows(np.arange(40))
    values, vectors = np.linalg.eigh(kernel.block(x, x))
    np.testing.assert_allclose(clipped, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-10)
    c = np.random.default_rng(1).normal(size=40)
    predicted = kernel.expansion(x, repaired.coefficients(c), x)
    np.testing.assert_allclose(predicted, repaired.gram.matvec(c), atol=1e-8)
    np.testing.assert_allclose(repaired.self_kernel(kernel, x, x), np.diagonal(clipped), atol=1e-8)


def test_clip_stays_positive_semidefinite_with_a_new_point(sigmoid):
    x, kernel, oracle, report = sigmoid
    repaired = repair(oracle, report, "clip")
    for row in points(10, 7):
        t = row[None, :]
        column = repaired.coefficients(kernel.block(x, t)[:, 0])
        own = repaired.self_kernel(kernel, t, x)
        extended = np.block([[repaired.gram.rows(np.arange(40)), column[:, None]], [column[None, :], own[None, :]]])
        values = np.linalg.eigvalsh(extended)
        assert values[0] >= -1e-9 * values[-1]


def test_shift_and_the_prediction_that_matches_it(sigmoid):
    x, kernel, oracle, report = sigmoid
    repaired = repair(oracle, report, "shift")
    values = np.linalg.eigvalsh(repaired.gram.rows(np.arange(40)))
    assert values[0] == pytest.approx(0, abs=1e-10) and repaired.shift == pytest.approx(-report.at_most)
    c = np.random.default_rng(1).normal(size=40)
    np.testing.assert_array_equal(repaired.coefficients(c), c)
    own = repaired.self_kernel(kernel, points(3, 9), x)
    np.testing.assert_allclose(own, kernel.diagonal(points(3, 9)) + repaired.shift)


def test_shift_above_the_limit_is_certain(sigmoid):
    _, _, oracle, _ = sigmoid
    report = audit_psd(oracle, limit=10)
    repaired = repair(oracle, report, "shift")
    assert np.linalg.eigvalsh(repaired.gram.rows(np.arange(40)))[0] >= 0


def uneven(a, b):
    return 2.0 * (a == b.T) + 0.5 * (a > b.T)


@pytest.mark.parametrize(("size", "memory"), [(30, DEFAULT_MEMORY), (30, 1), (300, DEFAULT_MEMORY), (300, 1)])
def test_a_kernel_that_is_not_symmetric_is_refused(size, memory):
    x = points(size)[:, :1]
    with pytest.raises(KdslError) as caught:
        audit_psd(KernelGram(PythonKernel(uneven, "k"), x, memory), limit=100)
    (found,) = caught.value.diagnostics
    value, first, second = re.search(r"returned (\S+) for the pair of points \((\d+), (\d+)\)", found.message).groups()
    assert found.code == "K564"
    assert float(value) == (0.5 if x[int(first) - 1] > x[int(second) - 1] else 0)


@pytest.mark.parametrize("factor", [1e-12, 1.0, 1e12])
def test_rounding_is_not_taken_for_asymmetry(factor):
    def rounded(a, b):
        return factor * (np.exp(-((a[:, None] - b) ** 2).sum(axis=2)) + 1e-9 * (a[:, :1] > b[:, :1].T))

    assert audit_psd(KernelGram(PythonKernel(rounded, "k"), points(30), 1)).verdict == "psd"
