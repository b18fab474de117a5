"""`kdsl import-libsvm`: predictions as LIBSVM's, certificates where the data are given, and nothing claimed without."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from libsvm_peer import peer_save, peer_train, write_svmlight

from kdsl import load_model
from kdsl.cli.main import main
from kdsl.language.diagnostics import KdslError
from kdsl.libsvm import parse_model, read_model
from kdsl.libsvm.certifying import certify_model, shortest
from kdsl.libsvm.examples import read_examples
from kdsl.models.container import pack, unpack
from kdsl.models.voting import Voting

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(60, 3))
NOISE = RANDOM.normal(size=60)
TWO = np.where(X[:, 0] * X[:, 1] + 0.4 * NOISE > 0, 1, -1)
CLASSES = np.where(X[:, 0] + 0.5 * NOISE > 0.4, 3, np.where(X[:, 1] - 0.5 * NOISE > 0, 7, -2))
VALUES = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * NOISE
TYPES, KERNELS = ("s0", "s1", "s2", "s3", "s4"), ("t0", "t1", "t2", "t3")
NAMES = [f"{data}/{s}_{t}" for data in ("heart_scale", "iris.scale", "housing_scale") for s in TYPES for t in KERNELS]
REFERENCES = [name for name in NAMES if not name.startswith("housing_scale/s1")]

PROVEN = [name for name in REFERENCES if name[-2:] != "t3" and name != "iris.scale/s1_t1" and "g_scale/s0" not in name]


def reference(name: str, shared: Path) -> tuple[Path, Path]:
    """(the folder of a reference model, its data)."""
    peer, data = shared / "peers" / "libsvm_v337", name.partition("/")[0]
    heart = data == "heart_scale"
    return peer / "reference" / name, shared / "data" / "heart_scale.svm" if heart else peer / "data" / data


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("name", REFERENCES)
def test_imported_models_predict_what_libsvm_predicts(
    name: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, data = reference(name, shared)
    code, out, _ = run(capsys, "import-libsvm", folder / "model", "-o", tmp_path / "m.kdsl")
    assert code == 0
    assert "status       imported\ncertificate  none: it was imported from LIBSVM" in out
    code, out, _ = run(capsys, "predict", tmp_path / "m.kdsl", data, "--decision", "-q")
    rows = list(csv.DictReader(io.StringIO(out)))
    kind = next(iter(rows[0]))
    found = np.array([float(row[kind]) for row in rows])
    if kind == "novelty":
        found = np.where(found < 0, 1.0, -1.0)  # LIBSVM says +1 of what is no novelty
    np.testing.assert_allclose(found, np.loadtxt(folder / "predictions"), rtol=1e-6, atol=1e-6)
    assert run(capsys, "verify", tmp_path / "m.kdsl", "--data", data)[0] == 3


@pytest.mark.parametrize("name", PROVEN)
def test_models_of_libsvm_are_certified_on_their_data(
    name: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The references were trained with the defaults; the multipliers say C, nu and epsilon.

    Not the 42 classes that svm-train took the responses of housing_scale for, for there are 861 machines; not sigmoid
    kernels, of which nothing is proven; not iris.scale/s1_t1: in one of its pairs every support vector is at its bound,
    and the margin that LIBSVM guesses between them leaves a relative gap of 6e-4, which is called optimal_inaccurate.
    """
    folder, data = reference(name, shared)
    model = read_model(folder / "model")
    for found in certify_model(model, *read_examples(str(data)), {}):
        assert found.solution.status == "optimal"
        assert found.solution.certificate.rel_gap < 1e-3
        parameters, count = found.solution.parameters, found.solution.bound.sizes["l"]
        expected = {"c_svc": {}, "one_class": {"nu": 0.5}, "epsilon_svr": {"C": 1.0, "eps": 0.1}}
        expected |= {"nu_svr": {"C": count, "nu": 0.5}, "nu_svc": {}}
        assert {key: parameters[key] for key in expected[model.svm_type]} == pytest.approx(expected[model.svm_type])
        assert found.scalar == pytest.approx(found.filed, rel=1e-3, abs=1e-3)
    if name.startswith(("iris.scale/s0", "iris.scale/s1")):
        return
    code, out, err = run(capsys, "import-libsvm", folder / "model", "--data", data, "-o", tmp_path / "m.kdsl")
    assert code == 0, err
    assert "status      optimal\n" in out
    assert "the best for these multipliers" in err
    assert run(capsys, "verify", tmp_path / "m.kdsl", "--data", data)[0] == 0


@pytest.mark.parametrize(
    ("y", "flags", "spec", "parameters"),
    [
        (TWO, "-s 0 -c 3", "svm_1norm", {"C": 3}),
        (TWO, "-s 0 -c 3 -w1 2 -w-1 0.5", "svm_class_costs", {"Cpos": 6, "Cneg": 1.5}),
        (TWO, "-s 1 -n 0.4", "svm_1norm", {}),
        (VALUES, "-s 2 -n 0.3", "one_class", {"nu": 0.3}),
        (VALUES, "-s 3 -c 2 -p 0.25", "svr_linear_eps", {"C": 2, "eps": 0.25}),
        (VALUES, "-s 4 -c 0.5 -n 0.4", "svr_nu", {"C": 30, "nu": 0.4}),
    ],
)
def test_what_was_asked_for_is_read_from_the_multipliers(
    y: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    flags: str,
    spec: str,
    parameters: dict[str, float],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And the rows may stand in another order than in training."""
    trained, _ = peer_train(X, y, f"{flags} -t 2 -g 0.6")
    peer_save(trained, tmp_path / "m")
    order = RANDOM.permutation(len(X))
    data = write_svmlight(tmp_path / "d.svm", X[order], y[order])
    assert run(capsys, "import-libsvm", tmp_path / "m", "--data", data, "-o", tmp_path / "m.kdsl")[0] == 0
    loaded = load_model(tmp_path / "m.kdsl")
    assert (loaded.model.name, loaded.status) == (spec, "optimal")
    found = loaded.fitted.predictor.parameters
    assert {name: found[name] for name in parameters} == pytest.approx(parameters, rel=1e-6)
    assert run(capsys, "verify", tmp_path / "m.kdsl", "--data", data)[0] == 0


def test_a_parameter_that_is_not_the_one_is_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peer_save(peer_train(X, TWO, "-c 3 -t 2")[0], tmp_path / "m")
    data = write_svmlight(tmp_path / "d.svm", X, TWO)
    words = ("import-libsvm", tmp_path / "m", "--data", data, "-o", tmp_path / "m.kdsl")
    assert run(capsys, *words, "-D", "C=3")[0] == 0
    code, out, _ = run(capsys, *words, "-D", "C=4")
    assert code == 3
    assert "status      optimal\n" not in out


def test_a_changed_coefficient_is_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = peer_save(peer_train(X, VALUES, "-s 3 -t 2 -c 2")[0], tmp_path / "m")
    head, _, vectors = path.read_text().partition("SV\n")
    first, _, rest = vectors.partition(" ")
    path.write_text(f"{head}SV\n{-float(first)!r} {rest}")
    data = write_svmlight(tmp_path / "d.svm", X, VALUES)
    assert run(capsys, "import-libsvm", path, "--data", data, "-o", tmp_path / "m.kdsl")[0] == 3


def test_machines_that_vote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = peer_save(peer_train(X, CLASSES, "-t 2 -c 5 -e 1e-5")[0], tmp_path / "m")
    data, saved = write_svmlight(tmp_path / "d.svm", X, CLASSES), tmp_path / "m.kdsl"
    code, out, err = run(capsys, "import-libsvm", path, "--data", data, "-o", saved)
    assert code == 0
    assert [line.split()[3] for line in out.splitlines()[1:]] == ["optimal"] * 3
    assert "their vote, which no certificate is about" in err
    assert "the vote of 3 pairs of " in run(capsys, "show", saved)[1]
    model, loaded = read_model(path), load_model(saved)
    assert isinstance(loaded.fitted, Voting)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(loaded.decision(X), model.decision(X), rtol=1e-12, atol=1e-12)
    titles = run(capsys, "predict", saved, data, "--decision", "-q")[1].splitlines()[0]
    first, second, third = model.label
    assert titles == f"label,decision.{first}/{second},decision.{first}/{third},decision.{second}/{third}"
    code, out, _ = run(capsys, "export-libsvm", saved)
    again = parse_model(out, "again")
    for name in ("label", "nr_sv", "rho", "sv_coef"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    np.testing.assert_array_equal(again.support.toarray(), model.support.toarray())


def test_equal_votes_go_to_the_first_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three machines that always say their rho: 4 beats 5, 6 beats 4, 5 beats 6; and a value of 0 is for the second."""
    text = (
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho {}\nlabel 4 5 6\nnr_sv 1 1 1\nSV\n"
        "0 0 1:1\n0 0 1:1\n0 0 1:1\n"
    )
    for rho, label in (("-1 1 -1", 4), ("1 1 -1", 5), ("0 0 0", 6), ("0 1 0", 6), ("-1 -1 0", 4)):
        (tmp_path / "m").write_text(text.format(rho))
        assert run(capsys, "import-libsvm", tmp_path / "m", "-o", tmp_path / "m.kdsl")[0] == 0
        assert load_model(tmp_path / "m.kdsl").predict([[0.0]]).tolist() == [label]


@pytest.mark.parametrize("certified", [False, True])
def test_a_single_machine_comes_back_from_an_export(
    certified: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its labels in their order and its decision values; a certificate may have moved b or rho a little."""
    ordered = np.where(TWO > 0, 1, 2)[np.argsort(TWO, kind="stable")]  # 2 comes first
    rows = X[np.argsort(TWO, kind="stable")]
    for flags, x, y in (
        ("-s 0", X, TWO),
        ("-s 0", rows, ordered),
        ("-s 1 -n 0.3", rows, ordered),
        ("-s 2", X, VALUES),
        ("-s 3", X, VALUES),
        ("-s 4", X, VALUES),
    ):
        path = peer_save(peer_train(x, y, f"{flags} -g 0.5 -e 1e-6")[0], tmp_path / "m")
        data = ["--data", write_svmlight(tmp_path / "d.svm", x, y), "-e", 1e-5] if certified else []
        assert run(capsys, "import-libsvm", path, "-o", tmp_path / "m.kdsl", *data)[0] == 0
        assert run(capsys, "export-libsvm", tmp_path / "m.kdsl", "-o", tmp_path / "again")[0] == 0
        model, again = read_model(path), read_model(tmp_path / "again")
        np.testing.assert_array_equal(again.label, model.label)
        close = 1e-4 if certified else 1e-9
        np.testing.assert_allclose(again.decision(X), model.decision(X), rtol=close, atol=close)


def test_a_feature_that_no_support_vector_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It counts in the distance, as LIBSVM has it, whether or not it is said that there was one."""
    text = "svm_type epsilon_svr\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n1 1:1\n"
    (tmp_path / "m").write_text(text)
    (tmp_path / "d.svm").write_text("0 1:1 2:2\n")
    for more in ([], ["--features", "2"]):
        assert run(capsys, "import-libsvm", tmp_path / "m", "-o", tmp_path / "m.kdsl", *more)[0] == 0
        out = run(capsys, "predict", tmp_path / "m.kdsl", tmp_path / "d.svm", "-q")[1]
        assert float(out.split()[1]) == pytest.approx(np.exp(-4.0))


def test_what_cannot_be_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = peer_save(peer_train(X, TWO, "-t 2")[0], tmp_path / "m")
    other = write_svmlight(tmp_path / "d.svm", X + 1, TWO)
    code, _, err = run(capsys, "import-libsvm", path, "--data", other, "-o", tmp_path / "m.kdsl")
    assert (code, "error[K678]" in err) == (1, True)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    code, _, err = run(capsys, "import-libsvm", path, "--data", tmp_path / "t.csv", "-o", tmp_path / "m.kdsl")
    assert (code, "error[K671]" in err) == (1, True)
    alone = "svm_type c_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nrho\nlabel 9\nnr_sv 0\nSV\n"
    (tmp_path / "alone").write_text(alone)
    code, _, err = run(capsys, "import-libsvm", tmp_path / "alone", "-o", tmp_path / "m.kdsl")
    assert (code, "error[K677]" in err) == (1, True)
    assert run(capsys, "import-libsvm", tmp_path / "absent", "-o", tmp_path / "m.kdsl")[0] == 4
    assert not (tmp_path / "m.kdsl").exists()


def test_only_what_was_imported_may_lack_a_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = peer_save(peer_train(X, CLASSES, "-t 2")[0], tmp_path / "m")
    saved = tmp_path / "m.kdsl"
    assert run(capsys, "import-libsvm", path, "-o", saved)[0] == 0
    content = saved.read_bytes()
    for change in ({"status": "optimal"}, {"voting": ["1", "2"]}, {"voting": "123"}, {"voting": ["a", "b", "c"]}):
        container = unpack(content, "m")
        header = {name: value for name, value in container.header.items() if name != "arrays"} | change
        saved.write_bytes(pack(header, container.arrays))
        with pytest.raises(KdslError) as error:
            load_model(saved).predict(X)
        assert error.value.diagnostics[0].code == "K655", change


def test_the_shortest_decimal() -> None:
    assert shortest(0.0996, 0.1007) == 0.1
    assert shortest(0.0123, 0.01239) == 0.0123
    assert shortest(0.01231, 0.01239) == 0.01235
    assert shortest(0.25, 0.25) == 0.25
    assert shortest(0.0, 0.0) == 0.0
    assert shortest(1 / 3, 1 / 3) == 1 / 3
