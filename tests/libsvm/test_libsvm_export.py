"""What is exported to LIBSVM predicts what the solution predicts: by kdsl's reader, and by LIBSVM where installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libsvm_peer import peer_predict

from kdsl.cli.main import main
from kdsl.language.diagnostics import KdslError
from kdsl.libsvm import parse_model
from kdsl.libsvm.exporting import export_model
from kdsl.libsvm.writing import model_text
from kdsl.models.solution import Solution
from kdsl.solving.api import solve

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(40, 3))
NEW = RANDOM.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.4 * RANDOM.normal(size=40) > 0, 5, 2)
VALUES = np.sin(X[:, 0]) + X[:, 1]
CASES = [
    *[("svm_1norm", Y, kernel) for kernel in ("linear", "poly(degree=3, gamma=0.5, coef0=1)", "rbf(gamma=0.7)")],
    ("svm_nu", Y, "rbf(gamma=0.7)"),
    ("svm_nu_sum", Y, "rbf(gamma=0.7)"),
    ("svm_no_bias", Y, "linear"),
    ("svr_linear_eps", VALUES, "rbf(gamma=0.3)"),
    ("svr_nu", VALUES, "linear"),
    ("one_class", None, "rbf(gamma=0.5)"),
]
MARGINS = {"svm_nu": "gamma", "svm_nu_sum": "rho"}


def solved(spec: str, y: Any, kernel: str, **more: Any) -> Solution:
    data = {"x": X} if y is None else {"x": X, "y": y}
    return solve(spec, data, kernels={"k": kernel}, **more)


@pytest.mark.parametrize(("spec", "y", "kernel"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_exported_models_predict_the_same(spec: str, y: Any, kernel: str, tmp_path: Path) -> None:
    solution = solved(spec, y, kernel)
    text = model_text(export_model(solution))
    model = parse_model(text, "m")
    margin = solution.scalars[MARGINS[spec]] if spec in MARGINS else 1.0
    unit = -40 * solution.parameters["nu"] if y is None else 1 / margin
    decision = unit * solution.decision(NEW)
    np.testing.assert_allclose(model.decision(NEW)[:, 0], decision, rtol=1e-9, atol=1e-9)
    expected = solution.predict(NEW) if model.svm_type != "one_class" else np.where(decision > 0, 1.0, -1.0)
    np.testing.assert_allclose(model.predict(NEW), expected, rtol=1e-9, atol=1e-9)
    (tmp_path / "m").write_text(text)
    found, values = peer_predict(tmp_path / "m", NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.ravel(values), decision, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("spec", "peer", "given"),
    [
        ("svm_1norm", "SVC", {"C": 2.0}),
        ("svm_nu", "NuSVC", {"nu": 0.4}),
        ("svm_nu_sum", "NuSVC", {"nu": 0.4}),
        ("one_class", "OneClassSVM", {"nu": 0.4}),
    ],
)
def test_decision_values_are_those_of_scikit_learn(spec: str, peer: str, given: dict[str, float]) -> None:
    """Its classes are sorted, and their second is positive."""
    svm = pytest.importorskip("sklearn.svm", reason="scikit-learn is not installed")
    y = None if peer == "OneClassSVM" else Y
    model = export_model(solved(spec, y, "rbf(gamma=0.7)", params=given, tol=1e-12))
    machine = getattr(svm, peer)(gamma=0.7, tol=1e-10, **given).fit(X, y)
    np.testing.assert_allclose(model.decision(NEW)[:, 0], machine.decision_function(NEW), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("solution", "why"),
    [
        (lambda: solved("svm_1norm", Y, "laplacian(gamma=1)"), "LIBSVM has no kernel"),
        (lambda: solved("svm_1norm", Y, "linear", scale="standard"), "scaled"),
        (lambda: solved("svm_1norm", np.where(Y > 2, "yes", "no"), "linear"), "labels are not whole numbers"),
        (lambda: solved("sphere_soft", None, "rbf(gamma=1)"), "not one inner product"),
    ],
)
def test_what_has_no_form_is_refused(solution: Any, why: str) -> None:
    found = solution()
    with pytest.raises(KdslError) as error:
        export_model(found)
    assert error.value.diagnostics[0].code == "K672"
    assert why in error.value.diagnostics[0].why


def test_the_command_writes_what_libsvm_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the command line, on chosen columns of svmlight text: the numbers of the features stay theirs."""
    rows = [" ".join(f"{n + 1}:{value!r}" for n, value in enumerate(row)) for row in X.tolist()]
    lines = [f"{label} {row}\n" for label, row in zip(Y, rows, strict=True)]
    (tmp_path / "d.svm").write_text("".join(lines))
    saved, written = str(tmp_path / "m.kdsl"), tmp_path / "m"
    data = ["--data", str(tmp_path / "d.svm"), "--features", "f1,f3"]
    assert main(["solve", "svm_1norm", *data, "--kernel", "rbf(gamma = 0.5)", "-o", saved, "-q"]) == 0
    assert main(["export-libsvm", saved, "-o", str(written)]) == 0
    capsys.readouterr()
    assert main(["export-libsvm", saved]) == 0
    assert capsys.readouterr().out == written.read_text()
    model = parse_model(written.read_text(), "m")
    assert set(model.support.indices.tolist()) == {0, 2}
    assert main(["predict", saved, str(tmp_path / "d.svm"), "-q"]) == 0
    assert [int(word) for word in capsys.readouterr().out.split()[1:]] == model.predict(X * [1, 0, 1]).tolist()


def test_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solved("svm_1norm", Y, "laplacian(gamma=1)").save(tmp_path / "m.kdsl")
    assert main(["export-libsvm", str(tmp_path / "m.kdsl"), "-o", str(tmp_path / "m")]) == 1
    assert "error[K672]" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
    assert main(["export-libsvm", str(tmp_path / "absent")]) == 4
