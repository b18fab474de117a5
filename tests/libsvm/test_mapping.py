"""Every row of docs/coming-from-libsvm.md, read from the page, against LIBSVM and scikit-learn themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libsvm_peer import WHY, peer_predict, peer_save, peer_train, write_svmlight
from mapping_page import code, codes, flags, ident, named, rows, value

from kdsl.binding.kernel_builder import build_kernel
from kdsl.binding.points import fit_scaling
from kdsl.cli.main import main
from kdsl.language.kernel_catalog import FAMILIES_BY_NAME
from kdsl.language.parser import parse_kernel
from kdsl.libsvm import parse_model, read_model
from kdsl.libsvm.importing import imported_file
from kdsl.models.model_file import load_model
from kdsl.models.solution import Solution
from kdsl.solving.api import read_model as read_spec
from kdsl.solving.api import solve
from kdsl.solving.backends.interface import Options

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn import svm  # noqa: E402
from sklearn.kernel_ridge import KernelRidge  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.metrics.pairwise import pairwise_kernels  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, StandardScaler  # noqa: E402

from kdsl.sklearn import KernelClassifier  # noqa: E402

RANDOM = np.random.default_rng(21)
X = RANDOM.normal(size=(60, 3)) * [1.0, 0.5, 2.0]
NEW = RANDOM.normal(size=(25, 3))
NOISE = RANDOM.normal(size=60)
Y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * NOISE > 0, 1.0, -1.0)
VALUES = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * NOISE
CLASSES = np.where(X[:, 0] + 0.5 * NOISE > 0.4, 3, np.where(X[:, 1] - 0.5 * NOISE > 0, 7, -2))
G = 0.4
LETTERS: dict[str, Any] = {
    "l": 60, "C": 1.7, "nu": 0.35, "eps": 0.15, "u": 3.0, "v": 0.5, "a": 0.6, "y": Y, "s": RANDOM.uniform(0.5, 2, 60),
}  # fmt: skip
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


def target_of(spec: str) -> Any:
    """Labels, responses, or nothing."""
    return None if spec == "one_class" else VALUES if spec.startswith(("svr", "ridge")) else Y


# --------------------------------------------------------------- the problems


def solved(row: tuple[str, ...]) -> tuple[Solution, np.ndarray[Any, Any], dict[str, Any]]:
    """kdsl's solution of a row, its coefficient of every example, and its figures by the page's letters."""
    spec, given = code(row[2]), named(row[3], LETTERS)
    data = {"x": X} if target_of(spec) is None else {"x": X, "y": target_of(spec)}
    if "s" in given:
        data["s"] = given.pop("s")
    solution = solve(spec, data, given, {"k": f"rbf(gamma = {G})"}, tol=1e-12)
    c = np.zeros(len(X))
    c[solution.predictor.places["k"]] = solution.predictor.vectors["w"].coefficients[0]
    scalars = {name: number for name, number in solution.scalars.items() if name in ("b", "rho", "gamma")}
    return solution, c, {**LETTERS, **scalars, "c": c, "dual": solution.dual}


PROBLEMS = rows("The problems")


@pytest.mark.parametrize("row", [row for row in PROBLEMS if row[0]], ids=ident)
def test_a_problem_against_libsvm(row: tuple[str, ...], tmp_path: Path) -> None:
    _, _, figures = solved(row)
    names = {**LETTERS, "C": LETTERS["C"]}
    words = f"{flags(row[0], names)} -t 2 -g {G} -e 1e-9"
    y = Y if target_of(code(row[2])) is None else target_of(code(row[2]))
    peer, printed = peer_train(X, y, words)
    model = read_model(peer_save(peer, tmp_path / "m"))
    coefficients = np.zeros(len(X))
    places = np.array(peer.get_sv_indices()) - 1
    coefficients[places] = model.sv_coef[:, 0]
    sign = -1.0 if model.is_classifier and model.label[0] == -1 else 1.0
    np.testing.assert_allclose(value(code(row[4]), figures), sign * coefficients, **CLOSE)
    assert value(code(row[5]), figures) == pytest.approx(sign * model.rho[0], rel=2e-5, abs=2e-5)
    assert value(code(row[6]), figures) == pytest.approx(printed[0].objective, rel=1e-5)


@pytest.mark.parametrize("row", rows("Logistic regression"), ids=ident)
def test_logistic_regression(row: tuple[str, ...]) -> None:
    C = LETTERS["C"]
    theirs = value(codes(row[0])[0], {"LogisticRegression": LogisticRegression, "C": C}).set_params(tol=1e-10)
    ours = value(code(row[1]), {"KernelClassifier": KernelClassifier, "C": C}).set_params(tol=1e-12)
    y = CLASSES if row[0].endswith("classes") else Y
    for machine in (ours, theirs):
        machine.fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(NEW), theirs.predict(NEW))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("row", [row for row in PROBLEMS if row[1]], ids=ident)
def test_a_problem_against_scikit_learn(row: tuple[str, ...]) -> None:
    solution, _, figures = solved(row)
    estimators = {name: getattr(svm, name) for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")}
    texts = codes(row[1])
    machine = value(texts[0], {**LETTERS, **estimators, "KernelRidge": KernelRidge})
    machine.set_params(kernel="rbf", gamma=G, **({} if isinstance(machine, KernelRidge) else {"tol": 1e-9}))
    more = {}
    if len(texts) == 2:
        name, _, expression = texts[1].partition("=")
        more[name] = np.broadcast_to(value(expression, LETTERS), (len(X),))
    machine.fit(X, target_of(code(row[2])), **more)
    ours = value(code(row[4]), figures)
    if isinstance(machine, KernelRidge):
        np.testing.assert_allclose(machine.dual_coef_, ours, **CLOSE)
        assert row[5] == "`0`"
        np.testing.assert_allclose(machine.predict(NEW), solution.predict(NEW), **CLOSE)
        return
    coefficients = np.zeros(len(X))
    coefficients[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(ours, coefficients, **CLOSE)
    assert value(code(row[5]), figures) == pytest.approx(-machine.intercept_[0], rel=2e-5, abs=2e-5)
    if target_of(code(row[2])) is Y:
        np.testing.assert_array_equal(machine.predict(NEW), solution.predict(NEW))


# ---------------------------------------------------------------- the kernels


def block(text: str, points: np.ndarray[Any, Any] = X) -> np.ndarray[Any, Any]:
    kernel = build_kernel(parse_kernel(f"k = {text}")[0].kernel, {}, points, ("f1", "f2", "f3"))
    return kernel.block(NEW, X)


@pytest.mark.parametrize("row", rows("The kernels"), ids=ident)
def test_a_kernel(row: tuple[str, ...], tmp_path: Path) -> None:
    found = block(code(row[2]))
    given = value(f"dict({code(row[1])})", {"dict": dict})
    name = given.pop("kernel")
    if isinstance(given.get("gamma"), str):
        gamma = svm.SVC(kernel=name, gamma=given["gamma"]).fit(X, Y)._gamma
        given["gamma"] = gamma
    np.testing.assert_allclose(found, pairwise_kernels(NEW, X, metric=name, **given), rtol=1e-12)
    if row[0]:
        model, _ = peer_train(X, VALUES, f"-s 3 {code(row[0])} -c 0.5")
        path = peer_save(model, tmp_path / "m")
        coefficients = np.zeros(len(X))
        coefficients[np.array(model.get_sv_indices()) - 1] = read_model(path).sv_coef[:, 0]
        expected = found @ coefficients - read_model(path).rho[0]
        np.testing.assert_allclose(peer_predict(path, NEW)[1][:, 0], expected, rtol=1e-6, atol=1e-6)


# --------------------------------------------------------------- the defaults


def of_libsvm(field: str) -> Callable[[], float]:
    def read() -> float:
        svmutil = pytest.importorskip("libsvm.svmutil", reason=WHY)
        return float(getattr(svmutil.svm_parameter(""), field))

    return read


def of_sklearn(estimator: Any, name: str) -> Callable[[], Any]:
    return lambda: inspect.signature(estimator).parameters[name].default


def of_spec(spec: str, name: str) -> Callable[[], float]:
    return lambda: float(next(p.default for p in read_spec(spec).parameters if p.name == name))


def of_kernel(family: str, name: str) -> Callable[[], Any]:
    def read() -> Any:
        (parameter,) = (p for p in FAMILIES_BY_NAME[family].parameters if p.name == name)
        return parameter.default if isinstance(parameter.default, str) else float(parameter.default)

    return read


def trained_gamma() -> float:
    """What LIBSVM makes of its gamma = 0."""
    svmutil = pytest.importorskip("libsvm.svmutil", reason=WHY)
    return float(svmutil.svm_train(Y.tolist(), X.tolist(), "-q").param.gamma)


def spec_gamma(spec: str) -> Callable[[], float]:
    def read() -> float:
        text = read_spec(spec).source
        return float(re.search(r"kernel k = rbf\(gamma = ([\d.]+)\)", text)[1])

    return read


def ridge_gamma() -> float:
    """KernelRidge without a gamma, against one with it."""
    plain = KernelRidge(kernel="rbf").fit(X, VALUES)
    given = KernelRidge(kernel="rbf", gamma=1 / X.shape[1]).fit(X, VALUES)
    np.testing.assert_allclose(plain.dual_coef_, given.dual_coef_, rtol=1e-12)
    return given.gamma


def nothing() -> str:
    return "-"


def rbf_word() -> float:
    """gamma = scale, computed."""
    assert of_kernel("rbf", "gamma")() == "scale"
    kernel = build_kernel(parse_kernel("k = rbf()")[0].kernel, {}, X, ("f1", "f2", "f3"))
    return kernel.gamma


def all_kernels() -> str:
    specs = ("svm_1norm", "svm_nu_sum", "one_class", "svr_linear_eps", "svr_nu", "ridge")
    (name,) = {read_spec(spec).kernels[0].expression.name.id for spec in specs}
    return name


def libsvm_kernel() -> str:
    return ("linear", "poly", "rbf", "sigmoid", "precomputed")[int(of_libsvm("kernel_type")())]


Three = tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]
DEFAULTS: dict[str, Three] = {
    "the kernel": (libsvm_kernel, of_sklearn(svm.SVC, "kernel"), all_kernels),
    "gamma of a support vector machine": (
        trained_gamma,
        lambda: svm.SVC().fit(X, Y)._gamma,
        spec_gamma("svm_1norm"),
    ),
    "gamma of KernelRidge's rbf": (nothing, ridge_gamma, spec_gamma("ridge")),
    "gamma in `rbf()`": (nothing, nothing, rbf_word),
    "gamma in `poly()`": (nothing, nothing, of_kernel("poly", "gamma")),
    "coef0 in `poly()`": (of_libsvm("coef0"), of_sklearn(svm.SVC, "coef0"), of_kernel("poly", "coef0")),
    "coef0 in `sigmoid()`": (of_libsvm("coef0"), of_sklearn(svm.SVC, "coef0"), of_kernel("sigmoid", "coef0")),
    "degree in `poly()`": (of_libsvm("degree"), of_sklearn(svm.SVC, "degree"), of_kernel("poly", "degree")),
    "C of C-SVC": (of_libsvm("C"), of_sklearn(svm.SVC, "C"), of_spec("svm_1norm", "C")),
    "C of epsilon-SVR": (of_libsvm("C"), of_sklearn(svm.SVR, "C"), of_spec("svr_linear_eps", "C")),
    "C of nu-SVR": (of_libsvm("C"), of_sklearn(svm.NuSVR, "C"), of_spec("svr_nu", "C")),
    "nu of nu-SVC": (of_libsvm("nu"), of_sklearn(svm.NuSVC, "nu"), of_spec("svm_nu_sum", "nu")),
    "nu of one-class": (of_libsvm("nu"), of_sklearn(svm.OneClassSVM, "nu"), of_spec("one_class", "nu")),
    "nu of nu-SVR": (of_libsvm("nu"), of_sklearn(svm.NuSVR, "nu"), of_spec("svr_nu", "nu")),
    "epsilon": (of_libsvm("p"), of_sklearn(svm.SVR, "epsilon"), of_spec("svr_linear_eps", "eps")),
    "alpha of KernelRidge": (nothing, of_sklearn(KernelRidge, "alpha"), of_spec("ridge", "lambda")),
    "stopping: m - M": (of_libsvm("eps"), of_sklearn(svm.SVC, "tol"), lambda: "-" if Options().kkt_tol is None else 0),
    "stopping: relative gap": (nothing, nothing, lambda: Options().tol),
}


@pytest.mark.parametrize("row", rows("The defaults"), ids=ident)
def test_a_default(row: tuple[str, ...]) -> None:
    names = {"d": X.shape[1], "var": float(X.var())}
    for cell, read in zip(row[1:], DEFAULTS[row[0]], strict=True):
        text, found = code(cell) or cell, read()
        if isinstance(found, str):
            assert text == found
        else:
            assert value(text, names) == pytest.approx(found, rel=1e-12)


# --------------------------------------------------- the signs and conventions


def both(y: Any, words: str, folder: Path) -> tuple[Any, Any]:
    """(LIBSVM's model, what `kdsl libsvm` writes)."""
    theirs = read_model(peer_save(peer_train(X, y, words)[0], folder / "theirs"))
    data = write_svmlight(folder / "data.svm", X, y)
    assert main(["libsvm", "-q", *words.split(), str(data), str(folder / "ours")]) == 0
    return theirs, read_model(folder / "ours")


def first_label(folder: Path) -> None:
    for y in (np.where(Y > 0, 5, 6), np.where(Y > 0, 6, 5), Y, -Y):
        theirs, ours = both(y.astype(int), "-c 1", folder)
        labels = [1, -1] if set(y) == {1, -1} else list(dict.fromkeys(y.tolist()))
        assert theirs.label.tolist() == ours.label.tolist() == labels
        names = next(iter(solve("svm_1norm", {"x": X, "y": y}).bound.label_maps.values()))
        assert float(names.positive) == max(y)
        other = solve("svm_1norm", {"x": X, "y": y}, positive=str(int(min(y)))).bound.label_maps
        assert float(next(iter(other.values())).positive) == min(y)


def sklearn_label(folder: Path) -> None:
    for y in (np.where(Y > 0, 5, 6), np.where(Y > 0, 6, 5)):
        machine = svm.SVC(gamma=G, tol=1e-9).fit(X, y)
        solution = solve("svm_1norm", {"x": X, "y": y}, kernels={"k": f"rbf(gamma = {G})"}, tol=1e-10)
        assert machine.classes_.tolist() == sorted(set(y.tolist()))
        np.testing.assert_allclose(machine.decision_function(NEW), solution.decision(NEW), rtol=1e-4, atol=1e-4)


def decision_value(folder: Path) -> None:
    theirs, ours = both(Y.astype(int), f"-g {G} -e 1e-8", folder)
    kernel = block(f"rbf(gamma = {G})")
    rows_of = [int(np.argmin(np.abs(X - row).sum(axis=1))) for row in theirs.support.toarray()]
    expected = kernel[:, rows_of] @ theirs.sv_coef[:, 0] - theirs.rho[0]
    np.testing.assert_allclose(peer_predict(folder / "theirs", NEW)[1][:, 0], expected, rtol=1e-5, atol=1e-6)
    solution = solve("svm_1norm", {"x": X, "y": Y}, {}, {"k": f"rbf(gamma = {G})"}, tol=1e-10)
    np.testing.assert_allclose(solution.decision(NEW), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.decision(NEW)[:, 0], expected, rtol=1e-4, atol=1e-4)


ZERO = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 8 9\nnr_sv 1 1\nSV\n1 1:1 \n-1 1:2 \n"


def value_of_zero(folder: Path) -> None:
    (folder / "m").write_text(ZERO)
    assert peer_predict(folder / "m", [[0.0]])[0].tolist() == [9]
    assert parse_model(ZERO, "m").predict(np.zeros((1, 1))).tolist() == [9]
    (folder / "m.kdsl").write_bytes(imported_file(parse_model(ZERO, "m")))
    loaded = load_model(folder / "m.kdsl")
    assert next(iter(loaded.fitted.label_maps.values())).positive == "8"
    assert loaded.predict([[0.0]]).tolist() == [8]


def several_classes(folder: Path) -> None:
    theirs, ours = both(CLASSES, "-c 3 -e 1e-7", folder)
    assert len(theirs.rho) == len(ours.rho) == 3
    np.testing.assert_array_equal(peer_predict(folder / "ours", X)[0], peer_predict(folder / "theirs", X)[0])
    (folder / "m.kdsl").write_bytes(imported_file(theirs))
    np.testing.assert_array_equal(load_model(folder / "m.kdsl").predict(X), theirs.predict(X))
    cycle = (
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho -1 1 -1\nlabel 4 5 6\nnr_sv 1 1 1\nSV\n"
        "1 0 1:1 \n-1 0 1:1 \n0 0 1:1 \n"
    )
    (folder / "m").write_text(cycle)
    assert peer_predict(folder / "m", [[0.0]])[0].tolist() == parse_model(cycle, "m").predict(np.zeros((1, 1))).tolist()
    assert parse_model(cycle, "m").predict(np.zeros((1, 1))).tolist() == [4]


def columns_of_coefficients(folder: Path) -> None:
    theirs, _ = both(CLASSES, f"-c 3 -g {G}", folder)
    columns = theirs.columns()
    owner = np.repeat(np.arange(3), theirs.nr_sv)
    for place, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        np.testing.assert_array_equal(columns[owner == i, place], theirs.sv_coef[owner == i, j - 1])
        np.testing.assert_array_equal(columns[owner == j, place], theirs.sv_coef[owner == j, i])
    expected = theirs.kernel.block(NEW, theirs.support.toarray()) @ columns - theirs.rho
    np.testing.assert_allclose(peer_predict(folder / "theirs", NEW)[1], expected, rtol=1e-6, atol=1e-7)


def novelty(folder: Path) -> None:
    model, _ = peer_train(X, Y, f"-s 2 -n 0.35 -g {G} -e 1e-9")
    labels, decision = peer_predict(peer_save(model, folder / "m"), NEW)
    solution = solve("one_class", {"x": X}, {"nu": 0.35}, {"k": f"rbf(gamma = {G})"}, tol=1e-12)
    np.testing.assert_allclose(solution.predict(NEW), -decision[:, 0] / (0.35 * len(X)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(labels, np.where(solution.predict(NEW) < 0, 1, -1))
    machine = svm.OneClassSVM(nu=0.35, gamma=G, tol=1e-9).fit(X)
    np.testing.assert_array_equal(machine.predict(NEW), labels)


def offset(folder: Path) -> None:
    machine = svm.OneClassSVM(nu=0.35, gamma=G, tol=1e-9).fit(X)
    model = read_model(peer_save(peer_train(X, Y, f"-s 2 -n 0.35 -g {G} -e 1e-9")[0], folder / "m"))
    solution = solve("one_class", {"x": X}, {"nu": 0.35}, {"k": f"rbf(gamma = {G})"}, tol=1e-12)
    assert machine.offset_[0] == pytest.approx(model.rho[0], rel=1e-5)
    assert machine.offset_[0] == pytest.approx(0.35 * len(X) * solution.scalars["rho"], rel=1e-5)


def objective(folder: Path) -> None:
    _, printed = peer_train(X, Y, f"-c 2 -g {G} -e 1e-9")
    solution = solve("svm_1norm", {"x": X, "y": Y}, {"C": 2}, {"k": f"rbf(gamma = {G})"}, tol=1e-9)
    assert solution.dual <= solution.value
    assert -printed[0].objective == pytest.approx(solution.dual, rel=1e-6)


def nu_as_c(folder: Path) -> None:
    nu = solve("svm_nu_sum", {"x": X, "y": Y}, {"nu": 0.35}, {"k": f"rbf(gamma = {G})"}, tol=1e-12)
    rho = nu.scalars["rho"]
    other = solve("svm_1norm", {"x": X, "y": Y}, {"C": 1 / (60 * rho)}, {"k": f"rbf(gamma = {G})"}, tol=1e-10)
    np.testing.assert_allclose(other.decision(NEW), nu.decision(NEW) / rho, rtol=1e-3, atol=1e-4)
    model = read_model(peer_save(peer_train(X, Y, f"-s 1 -n 0.35 -g {G} -e 1e-9")[0], folder / "m"))
    assert np.abs(model.sv_coef).max() == pytest.approx(1 / (60 * rho), rel=1e-5)


def class_weight(folder: Path) -> None:
    theirs, _ = both(Y.astype(int), f"-c 0.2 -w1 1.5 -w-1 0.75 -g {G}", folder)
    assert theirs.sv_coef.max() == pytest.approx(0.3)
    assert theirs.sv_coef.min() == pytest.approx(-0.15)
    weights = np.where(Y > 0, 1.5, 0.75)
    solution = solve("svm_weighted", {"x": X, "y": Y, "s": weights}, {"C": 0.2}, {"k": f"rbf(gamma = {G})"})
    coefficients = solution.predictor.vectors["w"].coefficients[0]
    assert (coefficients.max(), coefficients.min()) == pytest.approx((0.3, -0.15))


def bias(folder: Path) -> None:
    """Adding a constant to the responses moves only the constant, where there is one."""
    for machine in (svm.SVR(gamma=G, tol=1e-9), svm.NuSVR(gamma=G, tol=1e-9)):
        change = machine.fit(X, VALUES + 5).predict(NEW) - machine.fit(X, VALUES).predict(NEW)
        np.testing.assert_allclose(change, 5, atol=1e-4)
    ridge = KernelRidge(kernel="rbf", gamma=G)
    assert np.abs(ridge.fit(X, VALUES + 5).predict(NEW) - ridge.fit(X, VALUES).predict(NEW) - 5).max() > 0.1
    assert {spec: "b" in {v.name for v in read_spec(spec).variables} for spec in ("ridge", "ridge_bias")} == {
        "ridge": False,
        "ridge_bias": True,
    }


def features(folder: Path) -> None:
    (folder / "d.svm").write_text("1 1:2 3:1\n-1 2:1\n1 1:3\n-1 3:-1\n")
    svmutil = pytest.importorskip("libsvm.svmutil", reason=WHY)
    labels, points = svmutil.svm_read_problem(str(folder / "d.svm"))
    dense = [[point.get(n, 0.0) for n in (1, 2, 3)] for point in points]
    solution = solve("svm_1norm", str(folder / "d.svm"), kernels={"k": "linear"})
    (feature_map,) = solution.bound.feature_maps.values()
    assert feature_map.names == ("f1", "f2", "f3")
    found = solution.bound.points["x"].features
    np.testing.assert_array_equal(found if isinstance(found, np.ndarray) else found.toarray(), dense)
    np.testing.assert_array_equal(solution.bound.arrays["y"], labels)


def scaler(peer: Any, kind: str) -> Callable[[Path], None]:
    def check(folder: Path) -> None:
        np.testing.assert_allclose(fit_scaling(kind, X).apply(X), peer().fit_transform(X), rtol=1e-12, atol=1e-12)

    return check


CONVENTIONS: dict[str, Callable[[Path], None]] = {
    "the positive label": first_label,
    "the positive label of SVC": sklearn_label,
    "a decision value": decision_value,
    "a value of 0": value_of_zero,
    "several classes": several_classes,
    "coefficients of several classes": columns_of_coefficients,
    "novelty": novelty,
    "`OneClassSVM.offset_`": offset,
    "the objective": objective,
    "C of a nu-SVC": nu_as_c,
    "a class weight": class_weight,
    "a bias": bias,
    "features": features,
    "`MinMaxScaler()`": scaler(MinMaxScaler, "minmax"),
    "`StandardScaler()`": scaler(StandardScaler, "standard"),
}


@pytest.mark.parametrize("row", rows("Signs and conventions"), ids=ident)
def test_a_convention(row: tuple[str, ...], tmp_path: Path) -> None:
    CONVENTIONS[row[0]](tmp_path)


# ------------------------------------------------------------------ the flags


@pytest.mark.parametrize("row", rows("The flags of svm-train"), ids=ident)
def test_a_flag(row: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_svmlight(tmp_path / "d.svm", X, Y.astype(int))
    words, saved = code(row[0]).split(), tmp_path / "m"
    plain = main(["libsvm", str(data), str(tmp_path / "plain")])
    ordinary = capsys.readouterr().out
    status = main(["libsvm", *words, str(data), str(saved)])
    out, err = capsys.readouterr()
    assert plain == 0
    assert row[1].split(";")[0].split(":")[0] in ("taken", "taken by `-s 0`", "refused", "read and not used")
    if row[1] == "refused":
        assert (status, out, saved.exists(), "error[K673]" in err) == (2, "", False, True)
        return
    assert (status, saved.exists()) == (0, True)
    assert (out == "") == (words == ["-q"])
    if words == ["-h", "0"]:
        assert saved.read_text() == (tmp_path / "plain").read_text()
        assert err == ""
    if "noted" in row[1]:
        assert err == "note: -d is not used with -s 0 -t 2\n"
    if "units" in row[1]:
        steepest = next(float(line.split()[-1]) for line in out.splitlines() if line.startswith("m - M"))
        ordinarily = next(float(line.split()[-1]) for line in ordinary.splitlines() if line.startswith("m - M"))
        assert ordinarily < steepest <= float(words[1])


def test_no_test_is_without_its_row() -> None:
    """And no row without its test: each is looked up by its first cell."""
    assert [row[0] for row in rows("The defaults")] == list(DEFAULTS)
    assert [row[0] for row in rows("Signs and conventions")] == list(CONVENTIONS)
    specs = {code(row[2]) for row in PROBLEMS}
    assert specs == {
        "svm_1norm", "svm_weighted", "svm_nu_sum", "svm_nu", "one_class", "svr_linear_eps", "svr_nu", "ridge",
    }  # fmt: skip
