"""A model file holds all that predicts, is written whole or not at all, and tells when it was touched."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from saved_models import Arrays, Change, rewrite, small_solution, two_classes

import kdsl
from kdsl.language.diagnostics import KdslError
from kdsl.models.model_file import load_model
from kdsl.models.solution import Solution
from kdsl.models.verification import verify_model
from kdsl.solving.api import solve


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.kdsl"
    small_solution().save(path)
    return path


# ------------------------------------------------------------ there and back


def test_a_loaded_model_is_the_solution(tmp_path: Path) -> None:
    solution = small_solution()
    solution.save(tmp_path / "model.kdsl")
    loaded = kdsl.load_model(tmp_path / "model.kdsl")
    new = np.random.default_rng(1).normal(size=(50, 2))
    assert np.array_equal(loaded.predict(new), solution.predict(new))
    assert np.array_equal(loaded.decision(new), solution.decision(new))
    assert set(loaded.predict(new)) == {"yes", "no"}
    assert loaded.certificate == solution.certificate
    assert loaded.scalars == dict(solution.scalars)
    assert loaded.status == solution.status == "optimal"
    assert np.array_equal(loaded.multipliers["margin"], solution.multipliers["margin"])
    assert loaded.model == solution.derivation.model


def test_only_support_points_are_kept(tmp_path: Path) -> None:
    solution = small_solution()
    solution.save(tmp_path / "model.kdsl")
    kept = load_model(tmp_path / "model.kdsl").fitted.predictor.support["k"]
    assert kept.shape[0] == solution.support.total < 30
    x = two_classes()["x"]
    assert np.array_equal(kept, x[solution.multipliers["margin"] > 0])


def test_scaling_is_kept_and_applied(tmp_path: Path) -> None:
    data = two_classes()
    data["x"] = data["x"] * np.array([1.0, 1000.0]) + 7.0
    solution = solve("svm_1norm", data, scale="standard", tol=1e-12)
    solution.save(tmp_path / "model.kdsl")
    loaded = load_model(tmp_path / "model.kdsl")
    assert loaded.fitted.feature_map.scaling.kind == "standard"
    assert np.array_equal(loaded.decision(data["x"]), solution.decision(data["x"]))
    by_hand = (data["x"] - data["x"].mean(axis=0)) / data["x"].std(axis=0)
    unscaled = solve("svm_1norm", {"x": by_hand, "y": data["y"]}, tol=1e-12)
    assert np.allclose(solution.decision(data["x"]), unscaled.decision(by_hand), atol=1e-6)


def test_sparse_points_stay_sparse(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    x = sp.csr_array(sp.random(40, 60, density=0.05, random_state=3, format="csr"))
    y = np.where(random.normal(size=40) > 0, 1.0, -1.0)
    solution = solve("svm_1norm", {"x": x, "y": y})
    solution.save(tmp_path / "model.kdsl")
    loaded = load_model(tmp_path / "model.kdsl")
    assert sp.issparse(loaded.fitted.predictor.support["k"])
    assert np.array_equal(loaded.decision(x), solution.decision(x))
    assert verify_model(str(tmp_path / "model.kdsl"), {"x": x, "y": y}).holds


def test_the_words_of_kernel_parameters_become_numbers(tmp_path: Path) -> None:
    data = two_classes()
    solve("svm_1norm", data, kernels={"k": "0.5 * rbf(gamma = scale) + linear"}).save(tmp_path / "model.kdsl")
    loaded = load_model(tmp_path / "model.kdsl")
    gamma = loaded.header["kernels"]["k"]["terms"][0]["kernel"]["gamma"]
    assert gamma == pytest.approx(1 / (2 * data["x"].var()), rel=1e-14)


def test_infinite_parameters_survive(tmp_path: Path) -> None:
    solution = small_solution()
    solution.save(tmp_path / "model.kdsl")
    rewrite(tmp_path / "model.kdsl", lambda header, arrays: header["parameters"].update(C="inf"))
    assert load_model(tmp_path / "model.kdsl").fitted.predictor.parameters["C"] == np.inf


def test_groups_beside_the_points(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=(40, 2))
    group = np.where(random.normal(size=40) > 0, "north", "south")
    y = np.where(x[:, 0] + (group == "north") > 0.5, 1.0, -1.0)
    data = {"x": x, "y": y, "group": group, "lo": x[:3] - 1.0, "hi": x[:3] + 1.0}
    solution = solve("monotone_groups", data, kernels={"k": "linear"})
    solution.save(tmp_path / "model.kdsl")
    loaded = load_model(tmp_path / "model.kdsl")
    new = random.normal(size=(9, 2))
    north = loaded.decision(new, {"g": ["north"] * 9})
    south = loaded.decision(new, {"g": ["south"] * 9})
    biases = loaded.fitted.predictor.scalars["b"]
    assert np.allclose(north - south, biases[0] - biases[1], atol=1e-12)
    assert np.array_equal(loaded.predict(new, {"g": ["south"] * 9}), solution.predict(new, {"g": ["south"] * 9}))


def test_frames_go_by_the_names_of_their_columns(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    data = two_classes()
    frame = pandas.DataFrame({"u": data["x"][:, 0], "v": data["x"][:, 1], "y": data["y"]})
    solution = solve("svm_1norm", frame, features=("u", "v"))
    solution.save(tmp_path / "model.kdsl")
    loaded = load_model(tmp_path / "model.kdsl")
    turned = frame[["v", "u"]]
    assert np.array_equal(loaded.decision(turned), solution.decision(data["x"]))
    assert np.array_equal(solution.predict(turned), solution.predict(data["x"]))
    assert verify_model(str(tmp_path / "model.kdsl"), frame).holds


def test_an_unfinished_model_warns_once(tmp_path: Path) -> None:
    x = two_classes()["x"]
    stopped = small_solution(max_iterations=1)
    stopped.save(tmp_path / "model.kdsl")
    assert stopped.status == "user_limit"
    for model in (stopped, load_model(tmp_path / "model.kdsl")):
        with pytest.warns(UserWarning, match="K679: .* is user_limit, not optimal") as caught:
            model.predict(x)
            model.decision(x)
        assert len(caught) == 1 and caught[0].filename == __file__
    small_solution().save(tmp_path / "model.kdsl")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(tmp_path / "model.kdsl").predict(x)
    rewrite(tmp_path / "model.kdsl", lambda header, arrays: header.update(status="user_limit", backend="libsvm"))
    assert load_model(tmp_path / "model.kdsl").doubt is None  # importing it has said what it proves


def test_python_kernels_are_given_again(tmp_path: Path) -> None:
    def mine(x: Any, z: Any) -> Any:
        return (x @ z.T + 1.0) ** 2

    data = two_classes()
    solution = solve("svm_1norm", data, kernels={"k": mine})
    solution.save(tmp_path / "model.kdsl")
    without = load_model(tmp_path / "model.kdsl")
    assert without.status == "optimal" and without.scalars == solution.scalars
    with pytest.raises(KdslError) as error:
        without.decision(data["x"])
    assert error.value.diagnostics[0].code == "K569"
    loaded = load_model(tmp_path / "model.kdsl", {"k": mine})
    assert np.array_equal(loaded.decision(data["x"]), solution.decision(data["x"]))


# ------------------------------------------------------------- verification


def test_a_file_as_written_verifies(saved: Path) -> None:
    found = verify_model(str(saved), two_classes())
    assert found.holds
    assert {"value", "dual", "gap", "rel_gap", "kkt_gap"} <= {figure.name for figure in found.figures}


def largest(arrays: Arrays) -> int:
    return int(np.argmax(np.abs(arrays["multipliers/margin/values"])))


def move_multiplier(header: dict[str, Any], arrays: Arrays) -> None:
    values = arrays["multipliers/margin/values"]
    values[largest(arrays)] -= 1e-3 * np.abs(values).max()


def flip_sign(header: dict[str, Any], arrays: Arrays) -> None:
    values = arrays["multipliers/margin/values"]
    values[largest(arrays)] *= -1.0


def move_dual_point(header: dict[str, Any], arrays: Arrays) -> None:
    values = arrays["theta/values"]
    values[int(np.argmax(np.abs(values)))] *= 1.0 - 1e-3


def flip_expansion(header: dict[str, Any], arrays: Arrays) -> None:
    arrays["vectors/w/coefficients"][0, 0] *= -1.0


def move_support_point(header: dict[str, Any], arrays: Arrays) -> None:
    arrays["points/k"][3, 1] += 1e-6


def move_b(header: dict[str, Any], arrays: Arrays) -> None:
    header["scalars"]["b"] += 1e-6


def move_predicting_b(header: dict[str, Any], arrays: Arrays) -> None:
    arrays["unknowns/b"][...] += 1e-6


def swap_labels(header: dict[str, Any], arrays: Arrays) -> None:
    labels = header["labels"]["y"]
    labels["negative"], labels["positive"] = labels["positive"], labels["negative"]


def move_gamma(header: dict[str, Any], arrays: Arrays) -> None:
    header["kernels"]["k"]["gamma"] *= 1 + 1e-6


def move_c(header: dict[str, Any], arrays: Arrays) -> None:
    header["parameters"]["C"] *= 1.1


def move_offset(header: dict[str, Any], arrays: Arrays) -> None:
    header["features"]["x"]["offset"][0] += 1e-3


def figure(name: str, factor: float) -> Change:
    def change(header: dict[str, Any], arrays: Arrays) -> None:
        header["certificate"][name] *= factor

    return change


def residual(header: dict[str, Any], arrays: Arrays) -> None:
    header["certificate"]["residuals"][0][1] += 1e-6


CORRUPTIONS: dict[str, tuple[Change, str]] = {
    "a multiplier": (move_multiplier, "multiplier margin"),
    "the sign of a multiplier": (flip_sign, "multiplier margin"),
    "the dual point": (move_dual_point, "multiplier margin"),
    "the sign of a coefficient": (flip_expansion, "expansion of w"),
    "a support point": (move_support_point, "support points of k"),
    "b": (move_b, "scalar b"),
    "the b that predicts": (move_predicting_b, "scalar b"),
    "the labels": (swap_labels, "labels"),
    "a kernel parameter": (move_gamma, "value"),
    "C": (move_c, "value"),
    "the scaling": (move_offset, "features"),
    "value": (figure("value", 1 + 1e-7), "value"),
    "dual": (figure("dual", 1 + 1e-7), "dual"),
    "gap": (figure("gap", 1 + 1e-3), "gap"),
    "rel_gap": (figure("rel_gap", 1 + 1e-3), "rel_gap"),
    "a residual": (residual, "residual of stationarity in b"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_was_changed_is_named(name: str, saved: Path) -> None:
    """Although the checksums fit: the computation shows it."""
    change, expected = CORRUPTIONS[name]
    rewrite(saved, change)
    found = verify_model(str(saved), two_classes())
    assert not found.holds
    assert any(f"`{expected}" in finding.message for finding in found.findings)


def test_other_data_are_not_the_data(saved: Path) -> None:
    data = two_classes()
    data["x"][4, 1] = np.nextafter(data["x"][4, 1], 9.0)
    (finding,) = verify_model(str(saved), data).findings
    assert finding.code == "K656"
    assert finding.why.endswith("l = 30 as then")


@pytest.mark.parametrize(
    ("old", "new"), [(b"minimize", b"minim\x7fze"), (b'"vectors"', b'"vektors"'), (b"phi(x", b"phi(z")]
)
def test_a_damaged_header_is_damage_and_no_mistake_of_the_person(old: bytes, new: bytes, saved: Path) -> None:
    """`verify` reads damaged files on; what the damage makes of the spec or the shapes is not the news."""
    content = saved.read_bytes()
    saved.write_bytes(content.replace(old, new, 1))
    assert content != saved.read_bytes()
    with pytest.raises(KdslError) as error:
        verify_model(str(saved), two_classes())
    assert {d.code for d in error.value.diagnostics} == {"K655"}
    assert all("checksum" in d.message for d in error.value.diagnostics)


def test_every_single_byte_matters(saved: Path) -> None:
    """No byte of the file can change without an error or a finding."""
    content = saved.read_bytes()
    for place in {*range(250), *range(0, len(content), 97), len(content) - 1}:
        damaged = bytearray(content)
        damaged[place] ^= 0x01
        saved.write_bytes(bytes(damaged))
        with pytest.raises(KdslError) as error:
            load_model(saved)
        assert {d.code for d in error.value.diagnostics} <= {"K652", "K653", "K654", "K655"}, place


def test_a_damaged_array_is_named(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    content[-3] ^= 0x40
    saved.write_bytes(bytes(content))
    found = verify_model(str(saved), two_classes())
    assert any("the array `" in d.message and d.code == "K655" for d in found.findings)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.3, 0.6, 0.99])
def test_a_file_cut_short_is_never_read(share: float, saved: Path) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(KdslError) as error:
        load_model(saved)
    assert error.value.diagnostics[0].code in ("K652", "K654", "K655", "K506")


# ------------------------------------------------------------ atomic writing


def test_a_full_disk_leaves_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()
    program = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); from saved_models import small_solution;"
        "solution = small_solution(); resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));"
        "solution.save(sys.argv[2])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent), str(saved)], capture_output=True, text=True
    )
    assert "Unwritable: K658: " in done.stderr and str(saved) in done.stderr
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_folder_without_permission(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write anywhere")
    with pytest.raises(OSError, match="Permission denied"):
        small_solution().save(folder / "model.kdsl")


@pytest.mark.parametrize("write", [Solution.save, Solution.report])
def test_a_folder_that_is_not_there(tmp_path: Path, write: Callable[[Solution, Path], None]) -> None:
    place = tmp_path / "none" / "result"
    with pytest.raises(KdslError) as caught:
        write(small_solution(), place)
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, OSError) and (error.errno, error.filename) == (errno.ENOENT, str(place))
    assert str(error) == (
        f"K658: `{place}` cannot be written: No such file or directory. what was there before is unchanged. "
        "make the folder first"
    )


def test_what_is_no_regular_file_is_written_to() -> None:
    small_solution().save("/dev/null")
    assert not Path("/dev/null").is_file()
