"""`predict` streams tables of any length in their order; `verify` fails on what was changed; `show` tells."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_runs import solved, write_table
from command_runs import kdsl

import kdsl as package
from kdsl.cli.verbs import predict as predict_verb


@pytest.fixture
def table(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 2))
    y = np.where(x[:, 0] + 0.5 * random.normal(size=40) > 0, "ham, smoked", "spam")
    return write_table(tmp_path / "train.csv", {"u": x[:, 0], "v": x[:, 1], "y": list(y)})


@pytest.fixture
def model(table: Path, tmp_path: Path) -> Path:
    path = tmp_path / "model.kdsl"
    solved("svm_1norm", "--data", table, "--kernel", "k = rbf(gamma = 0.5)", "-o", path)
    return path


def new_points(tmp_path: Path, rows: int) -> tuple[Path, np.ndarray]:
    x = np.random.default_rng(1).normal(size=(rows, 2))
    table = write_table(tmp_path / "new.csv", {"id": np.arange(rows), "v": x[:, 1], "u": x[:, 0]})
    return table, x


GROUPS = """model grouped
index  i in 1..l, g in groups
data   x[i] : input, y[i] : {-1, 1}, group[i] : groups
kernel k = linear
var    w : H(k), b[g] : real
minimize 1/2 ||w||^2 + 1/2 * sum[g] b[g]^2 + sum[i] hinge(y[i] * (<w, phi(x[i])> + b[group[i]]))
predict value(t, g) = <w, phi(t)> + b[g]
"""


# --------------------------------------------------------------------- predict


@pytest.mark.parametrize("block", [1, 7, 64, 10_000])
def test_blocks_are_as_good_as_the_whole(
    block: int, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns in another order, and one more: they go by name."""
    monkeypatch.setattr(predict_verb, "ROWS", block)
    table, x = new_points(tmp_path, 300)
    outcome = kdsl("predict", model, table, "--decision")
    assert outcome.code == 0
    loaded = package.load_model(model)
    text = io.StringIO(outcome.out)
    assert next(text) == "label,decision\n"
    rows = [line.rstrip("\n").rsplit(",", 1) for line in text]
    assert [row[0].strip('"') for row in rows] == list(loaded.predict(x))
    assert np.allclose([float(row[1]) for row in rows], loaded.decision(x), rtol=1e-13, atol=1e-13)


def test_an_unfinished_model_is_said_to_be(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "stopped.kdsl"
    assert kdsl("solve", "svm_1norm", "--data", table, "--max-iterations", 1, "-o", path).code == 3
    for words in (("predict", path, table), ("export-libsvm", path)):
        outcome = kdsl(*words)
        assert (outcome.code, outcome.err.count("warning[K679]")) == (0 if words[0] == "predict" else 1, 1)


def test_labels_are_quoted_where_csv_wants_it(model: Path, tmp_path: Path) -> None:
    table, _ = new_points(tmp_path, 20)
    assert set(kdsl("predict", model, table).out.splitlines()[1:]) == {'"ham, smoked"', "spam"}


def test_into_a_file(model: Path, tmp_path: Path) -> None:
    table, _ = new_points(tmp_path, 20)
    outcome = kdsl("predict", model, table, "-o", tmp_path / "out.csv")
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / "out.csv").read_text() == kdsl("predict", model, table).out


def test_a_bad_row_leaves_the_old_file(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict_verb, "ROWS", 5)
    table, _ = new_points(tmp_path, 20)
    table.write_text(table.read_text() + "20,nan,1\n")
    (tmp_path / "out.csv").write_text("old\n")
    outcome = kdsl("predict", model, table, "-o", tmp_path / "out.csv")
    assert outcome.code == 1
    assert "error[K530]" in outcome.err
    assert "line 22" in outcome.err
    assert (tmp_path / "out.csv").read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.kdsl", "new.csv", "out.csv", "train.csv"]


def test_a_failing_disk_of_the_data_is_not_one_of_the_answers(model: Path, tmp_path: Path) -> None:
    """/proc/self/mem is a file whose first byte cannot be read."""
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    new.symlink_to("/proc/self/mem")
    outcome = kdsl("predict", model, new, "-o", out)
    assert outcome.code == 4 and f"error[K502]: cannot read `{new}`" in outcome.err
    assert not out.exists()


def test_a_missing_column_is_named(model: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path / "new.csv", {"u": [1.0, 2.0], "w": [1.0, 2.0]})
    outcome = kdsl("predict", model, table)
    assert outcome.code == 1
    assert "no column `v`" in outcome.err


def test_from_standard_input_as_it_comes(model: Path, tmp_path: Path) -> None:
    table, _ = new_points(tmp_path, 50)
    with table.open() as file:
        done = subprocess.run(
            [sys.executable, "-m", "kdsl", "predict", str(model), "-"], stdin=file, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 51


def test_svmlight_from_standard_input_is_what_it_is_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"{'+1' if row % 3 else '-1'} 1:{row / 7} 2:{row % 5}\n" for row in range(1, 30))
    table, path = tmp_path / "t.svm", tmp_path / "m.kdsl"
    table.write_text(lines)
    solved("svm_1norm", "--data", table, "-o", path)
    monkeypatch.setattr(predict_verb, "ROWS", 5)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n" + lines.encode())))
    outcome = kdsl("predict", path, "-", "--decision")
    assert outcome.code == 0 and outcome.out.count("\n") == 30
    assert outcome.out == kdsl("predict", path, table, "--decision").out


def packed_tables(x: np.ndarray) -> dict[str, bytes]:
    """The same points in every format that its first bytes give away."""
    import gzip

    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    frame = pa.table({"u": x[:, 0], "v": x[:, 1]})
    files = {name: io.BytesIO() for name in ("npy", "npz", "parquet", "arrow")}
    np.save(files["npy"], x)
    np.savez(files["npz"], x=x)
    pq.write_table(frame, files["parquet"])
    feather.write_feather(frame, files["arrow"], compression="uncompressed")
    text = "u,v\n" + "".join(f"{u!r},{v!r}\n" for u, v in x.tolist())
    found = {name: file.getvalue() for name, file in files.items()}
    return found | {"csv.gz": gzip.compress(text.encode()), "csv": text.encode("utf-16")}


@pytest.mark.parametrize("name", ["npy", "npz", "parquet", "arrow", "csv.gz", "csv"])
def test_standard_input_goes_by_its_first_bytes(
    name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, path = packed_tables(np.random.default_rng(1).normal(size=(20, 2)))[name], tmp_path / f"new.{name}"
    path.write_bytes(content)
    expected = kdsl("predict", model, path, "--decision")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    outcome = kdsl("predict", model, "-", "--decision")
    assert outcome == expected._replace(err=expected.err.replace(str(path), "-"))
    assert outcome.code == (1 if name == "npy" else 0)  # an array has no names: it is refused as a file is


def test_a_word_in_a_new_point_gets_advice_that_predict_can_take(model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("u,v\n1,2\nabc,3\n")
    outcome = kdsl("predict", model, tmp_path / "new.csv")
    assert outcome.code == 1 and "`abc` in `u`, line 3" in outcome.err and "--" not in outcome.err


@pytest.mark.parametrize("name", ["new.csv", "new.json"])
def test_json_is_called_what_it_is(name: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_text('[\n {"u": 1, "v": 2}\n]\n')
    outcome = kdsl("predict", model, tmp_path / name)
    assert outcome.code == 1 and "error[K504]" in outcome.err and "is JSON" in outcome.err


def test_new_points_without_a_header_are_called_so(model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("1,2\n3,4\n")
    outcome = kdsl("predict", model, tmp_path / "new.csv")
    assert outcome.code == 1 and "error[K520]" in outcome.err and "no header was found" in outcome.err


@pytest.mark.skipif(sys.platform != "linux", reason="VmHWM is Linux's")
def test_memory_does_not_grow_with_the_table(model: Path, tmp_path: Path) -> None:
    """Ten times the rows, hardly more memory than once."""
    program = (
        "import sys; from kdsl.cli.main import main; code = main(sys.argv[1:]);"
        "peak = [l for l in open('/proc/self/status') if l.startswith('VmHWM')];"
        "sys.stderr.write(peak[0]); sys.exit(code)"
    )
    peaks = []
    for rows in (20_000, 200_000):
        path = tmp_path / f"{rows}.csv"
        path.write_text("u,v\n" + "0.123456,-1.5\n" * rows)
        done = subprocess.run(
            [sys.executable, "-c", program, "predict", str(model), str(path), "-q"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == rows + 1
        peaks.append(int(done.stderr.split()[-2]))
    assert peaks[1] - peaks[0] < 20_000  # kB


def test_text_columns_and_missing_values_go_the_same_way_again(tmp_path: Path) -> None:
    """Expanded and dropped in training; new rows are expanded alike, and a new word is refused."""
    table = tmp_path / "t.csv"
    rows = [f"{n % 5},{('red', 'green', 'blue')[n % 3]},{1 if n % 5 > 2 else -1}" for n in range(20)]
    rows[7] = ",red,1"
    table.write_text("size,colour,y\n" + "\n".join(rows) + "\n")
    path = tmp_path / "m.kdsl"
    entry = solved("svm_1norm", "--data", table, "--onehot", "--drop-missing", "-o", path)
    assert (entry["n"], entry["d"]) == (19, 4)
    assert kdsl("verify", path, "--data", table).code == 0
    new = write_table(tmp_path / "new.csv", {"colour": ["blue", "red"], "size": [4, 0]})
    assert kdsl("predict", path, new).out.split() == ["label", "1", "-1"]
    strange = write_table(tmp_path / "strange.csv", {"colour": ["mauve"], "size": [4]})
    outcome = kdsl("predict", path, strange)
    assert outcome.code == 1
    assert "error[K538]" in outcome.err
    assert "mauve" in outcome.err


@pytest.mark.parametrize("block", [1, 2, 10_000])
@pytest.mark.parametrize("suffix", ["csv", "txt", "arff"])
def test_words_that_look_like_numbers_stay_as_they_are_written(
    block: int, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a category or a label is called does not depend on what else is in the file, or in its block."""
    monkeypatch.setattr(predict_verb, "ROWS", block)
    groups, train, path, plain = (tmp_path / name for name in ("g.kspec", "t.csv", "m.kdsl", "plain.kdsl"))
    groups.write_text(GROUPS, encoding="utf-8")
    words = ["007", "A2", "1.50", "7"]
    rows = [f"{n / 40},{words[n % 4]},{words[n % 3]},{(-1) ** (n // 5)}" for n in range(40)]
    train.write_text("\n".join(["u,job,group,y", *rows, ""]), encoding="utf-8")
    solved(groups, "--data", train, "--onehot", "-o", path)
    title = "u,job,group"
    if suffix == "arff":
        title = "@relation t\n@attribute u numeric\n@attribute job string\n@attribute group string\n@data"
    first = ["0.1,007,1.50", "0.2,1.50,007", "0.3,7,007"]
    new, longer = tmp_path / f"new.{suffix}", tmp_path / f"longer.{suffix}"
    new.write_text("\n".join([title, *first, ""]), encoding="utf-8")
    longer.write_text("\n".join([title, *first, "0.3,A2,A2", ""]), encoding="utf-8")
    short, long = kdsl("predict", path, new), kdsl("predict", path, longer)
    assert short.code == long.code == 0, short.err + long.err
    assert short.out.split() == long.out.split()[:-1]
    train.write_text(train.read_text().replace("A2", "3").replace("007", "7"), encoding="utf-8")
    solved(groups, "--data", train, "-o", plain)
    new.write_text("\n".join([title, "0.1,3,1.50", "0.2,7.0,x", ""]), encoding="utf-8")
    outcome = kdsl("predict", plain, new)
    assert "K651" in outcome.err and "the label `x`" in outcome.err


def test_groups_come_from_the_column_they_were_bound_to(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    x = random.normal(size=(30, 2))
    where = list(np.where(random.normal(size=30) > 0, "north", "south"))
    columns = {"u": x[:, 0], "v": x[:, 1], "region": where, "y": np.where(x[:, 0] > 0.3, 1, -1)}
    table = write_table(tmp_path / "t.csv", columns)
    pairs = write_table(tmp_path / "p.csv", {"lo.u": [0.0], "lo.v": [0.0], "hi.u": [1.0], "hi.v": [0.0]})
    path = tmp_path / "m.kdsl"
    options = ("--data", table, "--data", f"j:{pairs}")
    solved("monotone_groups", *options, "--bind", "group=region", "--kernel", "k = linear", "-o", path)
    loaded = package.load_model(path)
    outcome = kdsl("predict", path, table, "--decision")
    assert outcome.code == 0, outcome.err
    decisions = [float(line.split(",")[1]) for line in outcome.out.splitlines()[1:]]
    assert np.allclose(decisions, loaded.decision(x, {"g": where}), atol=1e-12)
    assert kdsl("verify", path, *options).code == 0


@pytest.mark.parametrize(
    "arrays", [("x", "y"), ("x",), ("X",)], ids=["points and labels", "points", "points by another case"]
)
def test_arrays_by_name_are_as_good_as_a_table(arrays: tuple[str, ...], model: Path, tmp_path: Path) -> None:
    table, x = new_points(tmp_path, 30)
    holder = tmp_path / "new.npz"
    np.savez(holder, **{name: np.ones(30) if name == "y" else x for name in arrays})
    assert kdsl("predict", model, holder, "--decision").out == kdsl("predict", model, table, "--decision").out


def test_a_model_of_arrays_predicts_them(tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(20, 2))
    holder, path = tmp_path / "train.npz", tmp_path / "m.kdsl"
    np.savez(holder, x=x, y=np.where(x[:, 0] > 0, 1, -1))
    solved("svm_1norm", "--data", holder, "-o", path)
    outcome = kdsl("predict", path, holder)
    assert outcome.code == 0
    assert outcome.out.split() == ["label", *package.load_model(path).predict(x).astype(int).astype(str)]


@pytest.mark.parametrize(
    ("arrays", "code", "words"),
    [
        ({"data": np.ones((3, 2))}, "K521", "its arrays are `data`\n  = help: call the array of points `x`"),
        (
            {"x": np.ones(2)},
            "K527",
            "1 column in the column `x` of `{folder}/new.npz`, where the model was fitted on 2",
        ),
        ({"x": np.ones((3, 5))}, "K527", "5 columns"),
        (
            {"x": np.empty((0, 2)), "z": np.ones(4)},
            "K506",
            "the array `x` of `{folder}/new.npz` has columns and no rows",
        ),
    ],
)
def test_arrays_that_are_no_points(
    arrays: dict[str, np.ndarray], code: str, words: str, model: Path, tmp_path: Path
) -> None:
    np.savez(tmp_path / "new.npz", **arrays)
    outcome = kdsl("predict", model, tmp_path / "new.npz")
    assert (outcome.code, outcome.out) == (1, "")
    assert f"error[{code}]" in outcome.err and words.format(folder=tmp_path) in outcome.err


def test_no_rows_are_not_no_answer(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "new.npy", np.empty((0, 2)))
    outcome = kdsl("predict", model, tmp_path / "new.npy")
    assert (outcome.code, outcome.out) == (1, "")
    assert "error[K506]" in outcome.err


def test_groups_may_be_an_array_too(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    x = random.normal(size=(30, 2))
    group = np.where(random.normal(size=30) > 0, "north", "south")
    given = {"x": x, "group": group, "y": np.where(x[:, 0] > 0.3, 1, -1)}
    np.savez(tmp_path / "t.npz", **given)
    pairs = write_table(tmp_path / "p.csv", {"lo.x1": [0.0], "lo.x2": [0.0], "hi.x1": [1.0], "hi.x2": [0.0]})
    path = tmp_path / "m.kdsl"
    solved(
        "monotone_groups", "--data", tmp_path / "t.npz", "--data", f"j:{pairs}", "--kernel", "k = linear", "-o", path
    )
    outcome = kdsl("predict", path, tmp_path / "t.npz")
    assert outcome.code == 0, outcome.err
    assert outcome.out.split()[1:] == [str(int(label)) for label in package.load_model(path).predict(x, {"g": group})]
    for changed, words in (({"group": group[:5]}, "with one label for each"), ({}, "has no array `group`")):
        np.savez(tmp_path / "new.npz", x=x, **changed)
        outcome = kdsl("predict", path, tmp_path / "new.npz")
        assert (outcome.code, outcome.out) == (1, "")
        assert "error[K651]" in outcome.err and words in outcome.err


def test_a_regression_from_columns(tmp_path: Path) -> None:
    """lasso has no kernel: it predicts sum_j a_j t_j + b."""
    random = np.random.default_rng(2)
    x = random.normal(size=(30, 3))
    y = x @ [1.0, 0.0, -2.0] + 0.5 + 0.01 * random.normal(size=30)
    table = write_table(tmp_path / "t.csv", {"p": x[:, 0], "q": x[:, 1], "r": x[:, 2], "y": y})
    path = tmp_path / "m.kdsl"
    entry = solved("lasso", "--data", table, "-D", "lambda=0.5", "-o", path, "--tol", "1e-9")
    predicted = np.array([float(word) for word in kdsl("predict", path, table).out.split()[1:]])
    loaded = package.load_model(path)
    a = loaded.fitted.predictor.scalars["a"]
    assert np.allclose(predicted, x @ a + entry["scalars"]["b"], atol=1e-12)
    assert a[1] == pytest.approx(0.0, abs=1e-6)
    assert np.abs(a - [1.0, 0.0, -2.0]).max() < 0.1


# ---------------------------------------------------------------------- verify


def test_verify_says_what_it_compared(model: Path, table: Path) -> None:
    outcome = kdsl("verify", model, "--data", table)
    assert outcome.code == 0
    assert "verified; it is optimal" in outcome.out
    assert "residual of margin" in outcome.out
    entry = kdsl("verify", model, "--data", table, "--json").json
    assert entry["verified"] is True
    assert entry["findings"] == []
    assert all(figure["holds"] for figure in entry["figures"])


def change_header(path: Path, change: Any) -> None:
    """As somebody would who edits the file and repairs its checksums."""
    from kdsl.models.container import pack
    from kdsl.models.model_file import read_container

    container = read_container(str(path))
    header = json.loads(json.dumps({n: v for n, v in container.header.items() if n != "arrays"}))
    arrays = {name: np.array(array) for name, array in container.arrays.items()}
    change(header, arrays)
    path.write_bytes(pack(header, arrays))


def test_a_changed_multiplier_fails_and_is_named(model: Path, table: Path) -> None:
    def change(header: Any, arrays: Any) -> None:
        values = arrays["multipliers/margin/values"]
        values[0] += 1e-3 * values.max()

    change_header(model, change)
    outcome = kdsl("verify", model, "--data", table)
    assert outcome.code == 3
    assert "NOT verified" in outcome.out
    assert "error[K657]: `multiplier margin[" in outcome.err


def test_a_changed_figure_fails_and_is_named(model: Path, table: Path) -> None:
    change_header(model, lambda header, arrays: header["certificate"].update(dual=header["certificate"]["dual"] + 1e-6))
    entry = kdsl("verify", model, "--data", table, "--json")
    assert entry.code == 3
    assert [figure["name"] for figure in entry.json["figures"] if not figure["holds"]] == ["dual"]


def test_a_flipped_byte_fails(model: Path, table: Path) -> None:
    content = bytearray(model.read_bytes())
    for place in (3, 60, 200, len(content) // 2, len(content) - 5):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        model.write_bytes(bytes(damaged))
        outcome = kdsl("verify", model, "--data", table)
        assert outcome.code == 3, place
        assert "error[K65" in outcome.err


def test_other_data_fail(model: Path, table: Path) -> None:
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([lines[0], *reversed(lines[1:])]))
    outcome = kdsl("verify", model, "--data", table)
    assert outcome.code == 3
    assert "error[K656]" in outcome.err
    assert outcome.out.endswith("NOT verified (1 finding)\n")


def test_other_tables_are_other_data(model: Path, table: Path, tmp_path: Path) -> None:
    """Whatever keeps them from being bound as then; the remedy is no option that these commands do not have."""
    columns = write_table(tmp_path / "columns.csv", {"u": [1.0, 2.0], "v": [1.0, 2.0]})
    lines = table.read_text().splitlines()
    missing = tmp_path / "missing.csv"
    missing.write_text("\n".join([*lines[:2], "nan,1,spam", *lines[3:]]) + "\n")
    for data, why in ((columns, f"nothing is bound to `y`: `{columns}` has no column"), (missing, "line 3: the value")):
        for verb in (("verify",), ("report", "-o", tmp_path / "page.html")):
            outcome = kdsl(*verb[:1], model, "--data", data, "-q", *verb[1:])
            assert outcome.code == 3
            assert "error[K656]" in outcome.err and why in outcome.err
            assert "`--" not in outcome.err
    assert not kdsl("verify", model, "--data", columns, "--json").json["verified"]
    assert kdsl("verify", model, "--data", tmp_path / "absent.csv").code == 4


def test_zero_has_no_sign(tmp_path: Path) -> None:
    """Interleaved points: the best unit margin is -0.0 in floats."""
    table = write_table(tmp_path / "mixed.csv", {"u": [-1.5, -0.5, 0.5, 1.5], "y": [1, -1, 1, -1]})
    model = tmp_path / "mixed.kdsl"
    shown = [kdsl("solve", "svm_hard_unit", "--data", table, "--kernel", "k = linear", "-o", model).out]
    shown.append(kdsl("show", model).out)
    for text in shown:
        assert "gamma" in text
        assert " -0\n" not in text


# ------------------------------------------------------------------------ show


def test_show(model: Path) -> None:
    outcome = kdsl("show", model)
    assert outcome.code == 0
    for word in ("svm_1norm (1-norm soft margin)", "exp(-0.5 ||x - z||^2)", "C = 1", "optimal", "SHA-256", "x: u, v"):
        assert word in outcome.out
    assert kdsl("show", model, "--spec").out.endswith("predict label(t) = sign(<w, phi(t)> + b)\n")
    assert kdsl("show", model, "--json").json["model"] == "svm_1norm"


def test_show_of_something_else(table: Path) -> None:
    outcome = kdsl("show", table)
    assert outcome.code == 1
    assert "error[K652]" in outcome.err


def test_several_vectors_share_the_values_of_a_kernel_that_is_not_kept(tmp_path: Path) -> None:
    """With little memory products are made in parts, which are told of, of a vector for each class."""
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 2))
    y = np.array(["a", "b", "c"])[(x[:, 0] > 0).astype(int) + (x[:, 1] > 0)]
    table = write_table(tmp_path / "three.csv", {"u": x[:, 0], "v": x[:, 1], "y": list(y)})
    path = tmp_path / "three.kdsl"
    solved("loss_multinomial", "--data", table, "--memory", "1M", "--tol", "1e-3", "-o", path)
    outcome = kdsl("verify", path, "--data", table, "--memory", "1M")
    assert outcome.code == 0, outcome.err
