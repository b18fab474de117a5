"""Parameters that follow the spec: get, set, clone, attributes, names that are taken, and names that do not exist."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

from estimator_specs import WEIGHTED_SQUARED_HINGE
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kdsl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    X, y = make_classification(60, 4, random_state=0)
    return X, y


def test_parameters_are_those_of_the_spec() -> None:
    assert KernelClassifier().get_params()["C"] == 1.0
    assert KernelClassifier("svm_nu_sum").get_params()["nu"] == 0.5
    assert "C" not in KernelClassifier("svm_nu_sum").get_params()
    assert KernelRegressor().get_params()["eps"] == 0.1
    assert NoveltyDetector("sphere_hard").get_params().keys() == {
        "spec", "kernel", "tol", "backend", "max_iter", "psd", "n_jobs",
    }  # fmt: skip


def test_parameters_are_attributes() -> None:
    estimator = KernelClassifier(C=3.0)
    assert estimator.C == 3.0
    estimator.C = 4.0
    assert estimator.get_params()["C"] == 4.0
    assert not hasattr(estimator, "nu")
    assert "C" not in vars(estimator)


def test_a_value_that_was_given_is_used(data: tuple[Any, Any]) -> None:
    X, y = data
    bounds = [KernelClassifier(C=C).fit(X, y).alpha_["margin"].max() for C in (0.25, 2.0)]
    assert bounds == pytest.approx([0.25, 2.0])


def test_clone_keeps_values_and_lets_defaults_follow_the_spec() -> None:
    chosen = clone(KernelClassifier(C=3.0, kernel="linear"))
    assert (chosen.C, chosen.kernel) == (3.0, "linear")
    followed = clone(KernelClassifier()).set_params(spec="svm_nu_sum", nu=0.3)
    assert followed.get_params()["nu"] == 0.3
    assert "C" not in followed.get_params()


def test_none_is_the_default_of_the_spec(data: tuple[Any, Any]) -> None:
    X, y = data
    assert KernelClassifier(C=None).fit(X, y).certificate_.value == KernelClassifier().fit(X, y).certificate_.value


def test_names_that_python_has_taken_carry_an_underscore(data: tuple[Any, Any]) -> None:
    X, y = data
    regressor = KernelRegressor("ridge", lambda_=0.5).fit(X, y)
    assert regressor.get_params()["lambda_"] == 0.5
    assert regressor.solutions_[0].parameters == {"lambda": 0.5}


def test_a_name_that_the_estimator_has_taken_carries_an_underscore(tmp_path: Path, data: tuple[Any, Any]) -> None:
    text = "".join(
        line.replace("C", "tol") + "\n"
        for line in Path(svm_path()).read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    )
    path = tmp_path / "clash.kspec"
    path.write_text(text.replace("svm_1norm", "clash"), encoding="utf-8")
    X, y = data
    estimator = KernelClassifier(path, tol=1e-7, tol_=0.25).fit(X, y)
    assert estimator.alpha_["margin"].max() == pytest.approx(0.25)


def svm_path() -> str:
    from kdsl import resources

    found = resources.spec_path("svm_1norm")
    assert found is not None
    return found


def test_specs_by_path_by_name_and_as_models(data: tuple[Any, Any]) -> None:
    from kdsl import derive, read_spec

    X, y = data
    model = read_spec(svm_path())
    values = [
        KernelClassifier(spec).fit(X, y).certificate_.value
        for spec in ("svm_1norm", svm_path(), Path(svm_path()), model, derive(model))
    ]
    assert values == [values[0]] * 5


def built_in_python(convex: bool = True) -> Any:
    from kdsl.api import Problem, inner, norm, phi, rbf, sign, sum_over

    p = Problem("built")
    i = p.index("i", 1, "l")
    x, y = p.data("x", i, kind="input"), p.data("y", i, values=(-1, 1))
    C = p.param("C", lower=0, open=True, default=1)
    w = p.hilbert("w", p.kernel("k", rbf(gamma=0.5)))
    b, xi = p.real("b"), p.real("xi", i, lower=0)
    p.minimize((1 if convex else -1) * norm(w) ** 2 / 2 + C * sum_over(i)(xi[i]))
    p.subject_to("margin", i, y[i] * (inner(w, phi(x[i])) + b) >= 1 - xi[i])
    p.predict("label", lambda t: sign(inner(w, phi(t)) + b))
    return p


def test_a_problem_built_in_python_is_a_spec(data: tuple[Any, Any]) -> None:
    X, y = data
    fitted = clone(KernelClassifier(built_in_python(), C=2.0)).fit(X, y)
    same = KernelClassifier(C=2.0).fit(X, y)
    assert fitted.certificate_.value == pytest.approx(same.certificate_.value, abs=1e-8)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.decision_function(X), fitted.decision_function(X))
    assert again.get_params()["C"] == 2.0
    with pytest.raises(ValueError, match="K321: a norm is maximised"):
        KernelClassifier(built_in_python(convex=False)).fit(X, y)


def test_grid_over_specs_and_their_parameters(data: tuple[Any, Any]) -> None:
    grid = [
        {"kernelclassifier__spec": ["svm_1norm", "svm_2norm"], "kernelclassifier__C": [0.1, 1.0]},
        {"kernelclassifier__spec": ["svm_nu_sum"], "kernelclassifier__nu": [0.3, 0.5]},
        {"kernelclassifier__kernel": ["linear", "rbf(gamma = scale)"]},
    ]
    search = GridSearchCV(make_pipeline(StandardScaler(), KernelClassifier()), grid, cv=3, error_score="raise")
    search.fit(*data)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_score_ > 0.8
    assert search.predict(data[0]).shape == (60,)


def test_a_model_is_printed_by_its_name() -> None:
    assert repr(KernelClassifier(WEIGHTED_SQUARED_HINGE, C=2.0)) == "KernelClassifier(C=2.0, spec=<model my_machine>)"
    assert repr(KernelClassifier(C=2.0)) == "KernelClassifier(C=2.0)"


def test_a_kernel_may_be_written_with_its_name(data: tuple[Any, Any]) -> None:
    X, y = data
    named = KernelClassifier(kernel="k = normalized(of = q), q = rbf(gamma = 2)").fit(X, y)
    alone = KernelClassifier(kernel="normalized(of = q), q = rbf(gamma = 2)").fit(X, y)
    assert (named.decision_function(X) == alone.decision_function(X)).all()


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: KernelClassifier(c=1.0), TypeError, "no parameter `c`: did you mean `C`?"),
        (lambda: KernelClassifier("svm_nu_sum", C=1.0), TypeError, "svm_nu_sum` has no parameter `C`"),
        (lambda: KernelClassifier().set_params(kernal="linear"), ValueError, "did you mean `kernel`?"),
        (lambda: KernelRegressor().set_params(epsilon=0.2), ValueError, "no parameter `epsilon`"),
    ],
)
def test_names_that_do_not_exist(make: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert words in str(caught.value)


def test_a_refused_name_changes_nothing() -> None:
    estimator = KernelClassifier(C=2.0)
    with pytest.raises(ValueError, match="no parameter `mu`"):
        estimator.set_params(spec="svm_nu_sum", mu=0.3)
    assert estimator.get_params() == KernelClassifier(C=2.0).get_params()


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (KernelClassifier("svm_1nrm"), "did you mean `svm_1norm`?"),
        (KernelClassifier(spec=3), "a shipped spec's name, a path or a kdsl Model, not 3 of type int"),
        (KernelClassifier("svr_nu"), "`predict label` or `predict class`; `svr_nu` has `predict value`"),
        (NoveltyDetector("svm_1norm"), "`predict novelty`; `svm_1norm` has `predict label`"),
        (KernelClassifier("monotone_groups"), "takes `g` beside the new point"),
        (KernelClassifier(C=-1.0), "the parameter `C` is -1"),
        (KernelClassifier(C=float("nan")), "the parameter `C` is nan"),
        (KernelClassifier(C="1"), "the parameter C must be a number, not '1'"),
        (KernelClassifier(C=3.0).set_params(spec="svm_nu_sum"), "`svm_nu_sum` has no parameter `C`"),
        (KernelClassifier(tol=0.0), "tol must be a positive number, not 0.0"),
        (KernelClassifier(tol="a"), "tol must be a positive number, not 'a'"),
        (KernelClassifier(psd="foo"), "there is no policy `foo` for the audit"),
        (KernelClassifier(n_jobs=0), "n_jobs must be a whole number from 1 to 1,024, not 0"),
        (KernelClassifier(n_jobs=-3), "n_jobs must be a whole number from 1 to 1,024, not -3"),
        (KernelClassifier(n_jobs=5000), "n_jobs must be a whole number from 1 to 1,024, not 5000"),
        (KernelClassifier(n_jobs="two"), "n_jobs must be a whole number from 1 to 1,024, not 'two'"),
        (KernelClassifier(n_jobs=2.7), "n_jobs must be a whole number from 1 to 1,024, not 2.7"),
        (KernelClassifier(max_iter=0), "max_iter must be a positive whole number, not 0"),
        (KernelClassifier(max_iter=-5), "max_iter must be a positive whole number, not -5"),
        (KernelClassifier(max_iter=2.5), "max_iter must be a positive whole number, not 2.5"),
        (KernelClassifier(kernel={"q": "linear"}), "has no kernel `q`"),
        (KernelClassifier(kernel="gaussian"), "did you mean `rbf`?"),
        (KernelRegressor(kernel="Polynomial"), "did you mean `poly`?"),
        (KernelClassifier(kernel="rbf(gama = 1)"), "gama"),
        (KernelClassifier(kernel="rbf(gamma = )"), "K103"),
        (KernelClassifier(kernel="q = rbf"), "has no kernel `q`"),
        (KernelClassifier(kernel=3), "kernel must be a kernel expression"),
        (KernelClassifier(multiclass="all"), "multiclass must be 'ovo' or 'ovr', not 'all'"),
        (KernelClassifier(backend="nosuch"), "nosuch"),
        (KernelClassifier("svm_hard", kernel="linear"), "`svm_hard` is infeasible on these data"),
        (KernelClassifier("multiclass_delta"), "give a table (`data={'delta': ...}`) or an array for it"),
    ],
)
def test_what_fit_refuses(estimator: Any, words: str) -> None:
    X, y = make_classification(60, 4, flip_y=0.4, random_state=0)
    with pytest.raises((ValueError, TypeError)) as caught:
        estimator.fit(X, y)
    assert words in str(caught.value)


@pytest.mark.parametrize("unlimited", [None, -1, np.int64(-1)])
def test_no_limit_is_written_as_scikit_learn_has_it(unlimited: Any, data: tuple[Any, Any]) -> None:
    assert KernelClassifier(n_jobs=unlimited, max_iter=unlimited).fit(*data).status_ == "optimal"


def test_a_spec_without_a_predict_clause(tmp_path: Path, data: tuple[Any, Any]) -> None:
    path = tmp_path / "silent.kspec"
    lines = Path(svm_path()).read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith("predict")), encoding="utf-8")
    with pytest.raises(ValueError, match="has no predict clause"):
        KernelClassifier(path).fit(*data)


def test_a_spec_with_mistakes_says_which(tmp_path: Path, data: tuple[Any, Any]) -> None:
    path = tmp_path / "wrong.kspec"
    path.write_text(
        Path(svm_path()).read_text(encoding="utf-8").replace("sum[i] xi[i]", "sum[i] xi[j]"), encoding="utf-8"
    )
    with pytest.raises(ValueError, match="K2"):
        KernelClassifier(path).fit(*data)


def test_errors_survive_pickling(data: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="C") as caught:
        KernelClassifier(C=-1.0).fit(*data)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.diagnostics == caught.value.diagnostics  # type: ignore[attr-defined]


def test_deep_copies_and_pickles_predict_and_carry_no_training_data(data: tuple[Any, Any]) -> None:
    X, y = data
    fitted = KernelClassifier(C=2.0).fit(X, y)
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(again.decision_function(X), fitted.decision_function(X))
        assert again.certificate_ == fitted.certificate_
        assert again.C == 2.0
        assert not hasattr(again, "solutions_")
    assert hasattr(fitted, "solutions_")
