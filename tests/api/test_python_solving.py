"""Solving a problem written in Python: values under the names of its handles, and again for other parameters."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from python_specs import PROBLEMS

import kdsl
from kdsl.api import Problem, inner, laplacian, maximum, norm, phi, rbf, sign, sum_over
from kdsl.api import session as sessions
from kdsl.api.handles import Constraint, HilbertUnknown, Unknown
from kdsl.language.syntax import Name
from kdsl.models.verification import verify_model


def labelled(size: int = 60, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 2))
    return {"x": x, "y": np.where(x[:, 0] + 0.4 * rng.normal(size=size) > 0, 1, -1)}


class Classifier:
    """The 1-norm soft margin with its handles."""

    def __init__(self, kernel: Any = None) -> None:
        self.p = p = Problem("svm", "soft margin")
        i = p.index("i", 1, "l")
        x, y = p.data("x", i, kind="input"), p.data("y", i, values=(-1, 1))
        self.C = p.param("C", lower=0, open=True, default=1)
        self.gamma = p.param("gamma", lower=0, open=True, default=0.5)
        k = p.kernel("k", rbf(self.gamma) if kernel is None else kernel)
        self.w, self.b, self.xi = p.hilbert("w", k), p.real("b"), p.real("xi", i, lower=0)
        p.minimize(norm(self.w) ** 2 / 2 + self.C * sum_over(i)(self.xi[i]))
        score = inner(self.w, phi(x[i])) + self.b
        self.margin = p.subject_to("margin", i, y[i] * score >= 1 - self.xi[i])
        p.predict("label", lambda t: sign(inner(self.w, phi(t)) + self.b))


def test_before_it_is_solved_nothing_has_a_value() -> None:
    m = Classifier()
    assert m.p.status is m.p.value is m.p.gap is m.p.solution is None
    assert m.b.value is m.xi.value is m.w.value is m.margin.dual_value is None
    assert m.C.value == 1.0 and not m.p.is_optimal()
    with pytest.raises(ValueError, match="not solved yet"):
        m.p.primal_residual()
    with pytest.raises(ValueError, match="no data yet"):
        m.p.solve()
    with pytest.raises(ValueError, match="threads must be a whole number from 1 to 1,024, not 0"):
        m.p.solve(labelled(), threads=0)


def test_values_are_those_of_the_solution() -> None:
    m, data = Classifier(), labelled()
    solution = m.p.solve(data, params={"gamma": 1.0}, tol=1e-8)
    assert m.p.status == solution.status == "optimal" and m.p.is_optimal(1e-8)
    assert m.p.value == solution.value and m.p.gap == solution.gap < 1e-6
    assert max(m.p.primal_residual(), m.p.dual_residual()) <= 1e-8
    alpha = np.asarray(m.margin.dual_value)
    assert alpha.shape == (60,) and alpha.min() >= 0 and alpha.max() <= 1 + 1e-12
    assert abs(alpha @ data["y"]) < 1e-9
    gram = np.exp(-((data["x"][:, None] - data["x"][None]) ** 2).sum(-1))
    score = gram @ (alpha * data["y"]) + m.b.value
    np.testing.assert_allclose(m.xi.value, np.maximum(0, 1 - data["y"] * score), atol=1e-6)
    energy = (alpha * data["y"]) @ gram @ (alpha * data["y"])
    assert m.p.value == pytest.approx(energy / 2 + np.sum(m.xi.value), rel=1e-6)
    np.testing.assert_allclose(m.w.value, (alpha * data["y"])[alpha != 0])
    assert solution.predict(data["x"][:5]).tolist() == np.sign(score[:5]).tolist()


def test_a_changed_parameter_is_solved_again_without_deriving(monkeypatch: pytest.MonkeyPatch) -> None:
    m, data = Classifier(), labelled()
    derived: list[object] = []
    original = sessions.derive

    def counting(*arguments: Any) -> Any:
        derived.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(sessions, "derive", counting)
    m.p.solve(data, tol=1e-8)
    assert m.p._session is not None and m.p._session._kept is not None
    spaces = m.p._session._kept.posed.spaces
    for C in (3.0, 0.3, 20.0):
        m.C.value = C
        m.p.solve(tol=1e-8)
        fresh = kdsl.solve(m.p.model, data, {"C": C}, tol=1e-8)
        assert m.p.is_optimal(1e-8) and m.p.value == pytest.approx(fresh.value, rel=1e-7)
        assert m.b.value == pytest.approx(fresh.scalars["b"], abs=1e-4)
        assert m.p._session._kept.posed.spaces is spaces
    m.gamma.value = 2.0  # inside the kernel: other Gram matrices, the same derivation
    m.p.solve(tol=1e-8)
    fresh = kdsl.solve(m.p.model, data, {"C": 20.0, "gamma": 2.0}, tol=1e-8)
    assert m.p.value == pytest.approx(fresh.value, rel=1e-7)
    assert len(derived) == 1


def test_the_start_is_the_last_dual_point() -> None:
    m, data = Classifier(), labelled(200)
    first = m.p.solve(data, tol=1e-9)
    again = m.p.solve(tol=1e-9)
    assert again.iterations < first.iterations / 4
    assert again.value == pytest.approx(first.value, rel=1e-9)


def test_kernels_may_be_given_when_it_is_solved() -> None:
    m, data = Classifier(laplacian(0.5)), labelled()
    m.p.solve(data, kernels={"k": "rbf(gamma = 0.7)"})
    assert m.p.value == pytest.approx(kdsl.solve("svm_1norm", data, kernels={"k": "rbf(gamma = 0.7)"}).value, rel=1e-6)
    by_text = m.p.value
    m.p.solve(kernels={"k": gaussian})
    assert m.p.value == pytest.approx(by_text, rel=1e-6)


def gaussian(points: Any, others: Any) -> Any:
    return np.exp(-0.7 * ((points[:, None] - others[None]) ** 2).sum(-1))


def test_a_python_function_is_a_kernel() -> None:
    m, data = Classifier(gaussian), labelled()
    m.p.solve(data)
    expected = kdsl.solve("svm_1norm", data, kernels={"k": "rbf(gamma = 0.7)"})
    assert m.p.value == pytest.approx(expected.value, rel=1e-6)
    assert "kernel k = gaussian\n" in str(m.p)


@pytest.mark.parametrize(
    "function", [lambda points, others: points @ others.T, partial(np.einsum, "ij,kj->ik")], ids=["lambda", "partial"]
)
def test_a_function_without_a_name_is_a_kernel(function: Any) -> None:
    m, data = Classifier(function), labelled()
    m.p.solve(data)
    assert m.p.value == pytest.approx(kdsl.solve("svm_1norm", data, kernels={"k": "linear"}).value, rel=1e-6)
    assert "kernel k = k_function\n" in str(m.p)


class Widths:
    """A kernel with a state."""

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma

    def __call__(self, points: Any, others: Any) -> Any:
        return np.exp(-self.gamma * ((points[:, None] - others[None]) ** 2).sum(-1))


def in_metric(points: Any, others: Any, metric: Any) -> Any:
    return points @ metric[:2, :2] @ others.T


def test_what_a_python_kernel_looks_at_may_change_between_solves() -> None:
    """An attribute, an array in place, and arguments that print alike."""
    data, width, metric = labelled(), Widths(0.7), np.eye(40)
    m = Classifier(width)
    m.p.solve(data)
    width.gamma = 3.0
    assert m.p.solve().value == pytest.approx(Classifier(rbf(3)).p.solve(data).value, rel=1e-6)
    doubled = kdsl.solve("svm_1norm", data, kernels={"k": "2 * linear"}).value
    m.p.solve(kernels={"k": partial(in_metric, metric=metric)})
    assert m.p.solve(kernels={"k": partial(in_metric, metric=2 * metric)}).value == pytest.approx(doubled, rel=1e-6)
    changed = partial(in_metric, metric=metric)
    m.p.solve(kernels={"k": changed})
    metric *= 2
    assert m.p.solve(kernels={"k": changed}).value == pytest.approx(doubled, rel=1e-6)


@pytest.mark.parametrize("kernel", [gaussian, "inside another"])
def test_a_python_kernel_is_given_again_to_a_saved_model(kernel: Any, tmp_path: Path) -> None:
    m, data = Classifier(gaussian), labelled()
    solution = m.p.solve(data, kernels={} if kernel is gaussian else {"k": "0.5 * gaussian"})
    solution.save(tmp_path / "model.kdsl")
    loaded = kdsl.load_model(tmp_path / "model.kdsl", {"gaussian": gaussian})
    assert (loaded.decision(data["x"]) == solution.decision(data["x"])).all()


def test_a_new_declaration_forgets_the_solution() -> None:
    m = Classifier()
    m.p.solve(labelled())
    m.p.subject_to("above", m.b >= 1)
    assert m.p.status is m.p.solution is m.b.value is None
    m.p.solve(labelled())
    assert m.b.value == pytest.approx(1, abs=1e-6)


def test_how_data_are_bound_is_said_with_the_data() -> None:
    m, data = Classifier(), labelled()
    m.p.solve(data, scale="standard")
    scaled = m.p.value
    assert m.p.solve().value == pytest.approx(scaled, rel=1e-5)
    assert scaled != pytest.approx(kdsl.solve("svm_1norm", data).value, rel=1e-3)
    with pytest.raises(ValueError, match="scale: the data are bound already"):
        m.p.solve(scale="minmax")


def test_no_solution_says_so_and_why() -> None:
    m = Classifier()
    m.p.subject_to("high", m.b >= 1)
    m.p.subject_to("low", m.b <= 0)
    with pytest.raises(kdsl.KdslError) as caught:
        m.p.solve(labelled())
    assert m.p.status == "infeasible" and m.p.value is None
    assert "high" in str(caught.value) + caught.value.diagnostics[0].why + caught.value.diagnostics[0].help


def test_an_ordered_loss_is_derived_for_the_values_of_its_parameters() -> None:
    p = Problem("between")
    i = p.index("i", 1, "l")
    x, y = p.data("x", i, kind="input"), p.data("y", i)
    low, high = p.param("low", default=-1), p.param("high", default=1)
    w = p.hilbert("w", p.kernel("k", rbf(0.5)))
    outside = p.loss("outside", lambda r, *, low, high: maximum(maximum(low - r, r - high), 0))
    p.minimize(norm(w) ** 2 / 2 + sum_over(i)(outside(y[i] - inner(w, phi(x[i])), low=low, high=high)))
    p.predict("value", lambda t: inner(w, phi(t)))
    rng = np.random.default_rng(1)
    data = {"x": rng.normal(size=(25, 2)), "y": 3 * rng.normal(size=25)}
    for values in ({}, {"low": -0.5, "high": 0.25}, {"low": -2.0, "high": -1.0}):
        solution = p.solve(data if not values else None, params=values, tol=1e-8)
        assert p.is_optimal(1e-8)
        assert solution.value == pytest.approx(kdsl.solve(p.model, data, values, tol=1e-8).value, rel=1e-7, abs=1e-9)


def test_a_saved_model_is_verified_from_its_text(tmp_path: Path) -> None:
    m, data = Classifier(), labelled()
    m.p.solve(data)
    assert m.p.solution is not None
    m.p.solution.save(tmp_path / "svm.kmodel")
    loaded = kdsl.load_model(tmp_path / "svm.kmodel")
    assert loaded.model == kdsl.parse_spec(str(m.p)) == m.p.model
    assert verify_model(str(tmp_path / "svm.kmodel"), data).holds
    assert loaded.predict(data["x"]).tolist() == m.p.solution.predict(data["x"]).tolist()


def random_data(problem: Problem, size: int = 24) -> dict[str, Any]:
    """Data of every kind that the shipped specifications declare."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(size, 3))
    known = {
        "x": x,
        "q": rng.integers(0, 4, size).astype(float),
        "delta": 1.0 - np.eye(3),
        "s": rng.uniform(0.5, 1, size),
        "group": np.array(["u", "v"])[rng.integers(0, 2, size)],
        "lo": rng.normal(size=(5, 3)),
        "hi": rng.normal(size=(5, 3)),
    }
    responses = {
        "finite": np.where(x[:, 0] > 0, 1, -1),
        "set": np.array(["a", "b", "c"])[rng.integers(0, 3, size)],
        "real": rng.normal(size=size),
    }
    return {d.name: responses[d.kind] if d.name == "y" else known[d.name] for d in problem.model.data}


@pytest.mark.parametrize("name", PROBLEMS)
def test_it_solves_as_the_specification_does_and_every_name_has_a_value(name: str) -> None:
    problem = PROBLEMS[name]()
    data = random_data(problem)
    kernels = {"k": "rbf(gamma = 0.5)"} if name == "monotone_groups" else None
    solution = problem.solve(data, kernels=kernels, tol=1e-7)
    assert problem.value == pytest.approx(kdsl.solve(name, data, kernels=kernels, tol=1e-7).value, rel=1e-6, abs=1e-9)
    for variable in problem.model.variables:
        handle = (HilbertUnknown if variable.kernel else Unknown)(Name(variable.name), problem)
        assert np.all(np.isfinite(np.asarray(handle.value, dtype=float)))
    for constraint in problem.model.constraints:
        assert np.all(np.isfinite(np.asarray(Constraint(constraint.label, problem).dual_value, dtype=float)))
    if name == "sphere_soft":
        radius = Unknown(Name("r"), problem).value
        assert isinstance(radius, float) and radius**2 == pytest.approx(solution.scalars["r^2"])


def test_its_model_goes_wherever_a_model_goes(tmp_path: Path) -> None:
    m, data = Classifier(), labelled()
    kdsl.solve(m.p.model, data).save(tmp_path / "svm.kmodel")
    assert verify_model(str(tmp_path / "svm.kmodel"), data).holds
    sklearn = pytest.importorskip("kdsl.sklearn", reason="scikit-learn is not installed")
    estimator = sklearn.KernelClassifier(m.p.model, C=2.0, tol=1e-8).fit(data["x"], data["y"])
    m.p.solve(data, {"C": 2.0}, tol=1e-8)
    assert m.p.solution is not None
    assert estimator.predict(data["x"]).tolist() == m.p.solution.predict(data["x"]).tolist()


def test_new_data_without_a_solution_are_the_data() -> None:
    m, one, other = Classifier(), labelled(30, 1), labelled(30, 2)
    first = m.p.solve(one)
    m.gamma.value = 1e4
    with pytest.raises(kdsl.KdslError):
        m.p.solve(other, backend="no such backend")
    m.gamma.value = 0.5
    assert m.p.solve().value == pytest.approx(kdsl.solve("svm_1norm", other).value, rel=1e-5) != first.value


def test_functions_may_have_defaults_and_be_methods() -> None:
    class Scores:
        def __init__(self, w: Any) -> None:
            self.w = w

        def score(self, t: Any) -> Any:
            return inner(self.w, phi(t))

    p = Problem("least_norm")
    i = p.index("i", 1, "l")
    x, w = p.data("x", i, kind="input"), p.hilbert("w", p.kernel("k", rbf(0.5)))
    p.minimize(norm(w) ** 2)
    p.subject_to("one", i, inner(w, phi(x[i])) >= 1)
    p.predict("score", Scores(w).score)
    p.predict("value", lambda t, w=w: inner(w, phi(t)))
    assert [(c.kind, c.formals) for c in p.model.predictions] == [("score", ("t",)), ("value", ("t",))]
