"""Data without an index, and labels and finite values with two: bound, solved, saved and verified like the others."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl.language.diagnostics import KdslError
from kdsl.models.verification import verify_model

REFERENCE = """model reference
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}, z : input
param  C : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k), xi[i] : real >= 0
minimize 1/2 ||w||^2 + C * sum[i] xi[i]
subject to
  margin[i]: y[i] * <w, phi(x[i]) - phi(z)> >= 1 - xi[i]
predict value(t) = <w, phi(t)>
"""
SCALED = """model scaled
index  i in 1..l
data   x[i] : input, y[i] : real, s : real
kernel k = linear
var    w : H(k)
minimize ||w||^2 + sum[i] (y[i] - s * <w, phi(x[i])>)^2
predict value(t) = <w, phi(t)>
"""
SEVERAL = """model several
index  i in 1..l, k in classes
data   x[i] : input, y[i] : classes, c[i, k] : {-1, 1}
kernel q = rbf(gamma = 0.5)
var    w[k] : H(q), xi[i, k] : real >= 0
minimize 1/2 sum[k] ||w[k]||^2 + sum[i, k] xi[i, k]
subject to
  margin[i, k]: c[i, k] * <w[k], phi(x[i])> >= 1 - xi[i, k]
predict class(t) = argmax[k] <w[k], phi(t)>
"""
RNG = np.random.default_rng(5)
X = RNG.normal(size=(24, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
CLASSES = RNG.integers(0, 3, 24)
ONE_OF_THREE = np.where(CLASSES[:, None] == np.arange(3), 1.0, -1.0)


@pytest.fixture
def spec(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / f"{text.split()[1]}.kspec"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("z", [np.array([0.5, -0.5]), np.array([[0.5, -0.5]])], ids=["a vector", "one row"])
def test_a_point_without_an_index(spec, z):
    """The same as a kernel that is centred at the point by hand."""
    data = {"x": X, "y": Y, "z": z}
    solution = kdsl.solve(spec(REFERENCE), data=data, tol=1e-9)

    def rbf(first, second):
        return np.exp(-0.5 * ((first[:, None] - second[None]) ** 2).sum(-1))

    anchor = z.reshape(1, -1)
    centred = rbf(X, X) - rbf(X, anchor) - rbf(anchor, X) + rbf(anchor, anchor)
    data = {"x": centred, "y": Y}
    no_bias = kdsl.solve("svm_no_bias", data, params={"C": 1.0}, kernels={"k": "precomputed"}, tol=1e-9)
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(no_bias.value, abs=1e-6)


def test_a_point_of_a_table_of_its_own(spec, tmp_path):
    """Its columns go by name, its scaling is that of the examples, and the file verifies."""
    table = tmp_path / "train.csv"
    table.write_text("a,b,y\n" + "".join(f"{a},{b},{y:g}\n" for (a, b), y in zip(X, Y, strict=True)))
    (tmp_path / "z.csv").write_text("b,a\n-0.5,0.5\n")
    data = {"": str(table), "z": str(tmp_path / "z.csv")}
    plain = kdsl.solve(spec(REFERENCE), data=data)
    assert plain.value == pytest.approx(kdsl.solve(spec(REFERENCE), {"x": X, "y": Y, "z": [0.5, -0.5]}).value)
    scaled = kdsl.solve(spec(REFERENCE), data=data, scale="standard")
    assert scaled.bound.scaling.offset == pytest.approx(X.mean(axis=0))
    assert scaled.bound.points["z"].features == pytest.approx((np.array([[0.5, -0.5]]) - X.mean(0)) / X.std(0))
    scaled.save(tmp_path / "m.kdsl")
    assert verify_model(str(tmp_path / "m.kdsl"), data).holds


@pytest.mark.parametrize("s", [2.0, np.array(2.0), np.array([2.0])])
def test_a_number_without_an_index(spec, s):
    solution = kdsl.solve(spec(SCALED), {"x": X, "y": Y, "s": s})
    w = np.linalg.solve(np.eye(2) + 4 * X.T @ X, 2 * X.T @ Y)
    assert solution.predict(np.eye(2)) == pytest.approx(w)


@pytest.mark.parametrize("words", [(-1.0, 1.0), (0.0, 1.0), ("no", "yes")])
def test_a_matrix_of_two_values(spec, words):
    values = np.where(ONE_OF_THREE > 0, words[1], words[0])
    solution = kdsl.solve(spec(SEVERAL), {"x": X, "y": CLASSES, "c": values})
    parts = [kdsl.solve("svm_no_bias", {"x": X, "y": ONE_OF_THREE[:, k]}, params={"C": 1.0}) for k in range(3)]
    assert solution.value == pytest.approx(sum(part.value for part in parts), rel=1e-5)
    assert (solution.bound.arrays["c"] == ONE_OF_THREE).all()


def test_what_is_wrong_in_a_matrix_is_found_in_its_row(spec):
    missing = ONE_OF_THREE.copy()
    missing[4, 1] = np.nan
    with pytest.raises(KdslError, match=r"row 5: the value of `c` is missing"):
        kdsl.solve(spec(SEVERAL), {"x": X, "y": CLASSES, "c": missing})


def test_a_clause_speaks_of_a_single_point(spec, tmp_path):
    text = REFERENCE.replace("<w, phi(t)>\n", "<w, phi(t) - phi(z)>\n")
    data = {"x": X, "y": Y, "z": [0.5, -0.5]}
    plain, solution = (kdsl.solve(spec(one), data) for one in (REFERENCE, text))
    expected = plain.decision(X) - plain.decision([[0.5, -0.5]])
    solution.save(tmp_path / "m.kdsl")
    assert verify_model(str(tmp_path / "m.kdsl"), data).holds
    assert kdsl.load_model(tmp_path / "m.kdsl").decision(X) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("options", [{"tol": 0.0}, {"tol": -1.0}, {"kkt_tol": -1e-3}, {"tol": float("nan")}])
def test_a_tolerance_is_positive(options):
    with pytest.raises(ValueError, match="must be a positive number"):
        kdsl.solve("svm_1norm", {"x": X, "y": Y}, **options)


def test_a_policy_is_checked_before_it_is_needed():
    with pytest.raises(KdslError, match="no policy `flip`"):
        kdsl.solve("svm_1norm", {"x": X, "y": Y}, psd="flip")
