"""The verbs that take a spec and no more: specs, explain, fmt, compile, check and derive, one after another."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from command_outcome import outcome

from kdsl import resources

# ----------------------------------------------------------------- specs, explain


def test_specs_lists_every_shipped_spec(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    code, out, _ = outcome(capsys, "specs")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == sorted(p.stem for p in (root / "specs").glob("*.kspec"))
    assert "svm_1norm " in out
    assert "1-norm soft margin\n" in out


def test_specs_prints_one(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    assert outcome(capsys, "specs", "ridge") == (0, (root / "specs" / "ridge.kspec").read_text(), "")


def test_specs_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    listing = json.loads(outcome(capsys, "specs", "--json")[1])
    assert listing["schema"] == 1
    entry = next(entry for entry in listing["specs"] if entry["name"] == "svm_1norm")
    assert entry == {"name": "svm_1norm", "title": "1-norm soft margin", "path": resources.spec_path("svm_1norm")}


def test_one_spec_as_json(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    import json

    assert json.loads(outcome(capsys, "specs", "svm_nu", "--json")[1]) == {
        "schema": 1,
        "name": "svm_nu",
        "path": resources.spec_path("svm_nu"),
        "text": (root / "specs" / "svm_nu.kspec").read_text(encoding="utf-8"),
    }


def test_explain_lists_and_explains_every_code(capsys: pytest.CaptureFixture[str]) -> None:
    codes = resources.explained_codes()
    assert codes
    code, out, _ = outcome(capsys, "explain")
    assert code == 0
    assert [line[:4] for line in out.splitlines()] == list(codes)
    assert outcome(capsys, "explain", codes[0].lower())[0] == 0
    for copied in ("error[K203]", "warning[K203]:"):
        assert outcome(capsys, "explain", copied) == outcome(capsys, "explain", "K203")


def test_explain_an_unknown_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "explain", "K999")
    assert (code, out) == (2, "")
    assert "K999" in err


# --------------------------------------------------------------------------- fmt


def test_fmt_prints_checks_and_rewrites(capsys: pytest.CaptureFixture[str], tmp_path: Path, root: Path) -> None:
    tidy = outcome(capsys, "fmt", "svm_1norm")[1]
    assert "minimize" in tidy
    spec = tmp_path / "mine.kspec"
    spec.write_text(tidy.replace("minimize ", "minimize    "))
    spec.chmod(0o640)
    link = tmp_path / "link.kspec"
    link.symlink_to(spec)
    assert outcome(capsys, "fmt", "--check", str(link))[:2] == (1, "")
    assert outcome(capsys, "fmt", "--in-place", str(link))[:2] == (0, "")
    assert spec.read_text() == tidy
    assert link.is_symlink()
    assert stat.S_IMODE(spec.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.kspec", "mine.kspec"]
    assert outcome(capsys, "fmt", "--check", str(link)) == (0, "", "")


def test_fmt_rewrites_no_shipped_spec(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: Path
) -> None:
    monkeypatch.setattr(resources, "specs_directory", lambda: str(tmp_path / "shipped"))
    text = (root / "specs" / "ridge.kspec").read_text(encoding="utf-8").replace("minimize ", "minimize    ")
    for place in ("shipped", "own"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "ridge.kspec").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "own")
    code, out, err = outcome(capsys, "fmt", "-i", "ridge", "ridge.kspec")
    assert (code, out) == (2, "") and "error[K659]: `ridge` is a spec that comes with kdsl" in err
    assert (tmp_path / "shipped" / "ridge.kspec").read_text(encoding="utf-8") == text
    assert (tmp_path / "own" / "ridge.kspec").read_text(encoding="utf-8") != text


# ----------------------------------------------------------------------- compile


def test_syntax_tree_is_drawn_one_node_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "tiny.kspec"
    spec.write_text('model tiny "a tiny one"\nvar b : real\nminimize 2 * b + 1\n')
    assert outcome(capsys, "compile", "--emit", "syntax", str(spec)) == (0, TINY, "")


TINY = """\
Spec title='a tiny one'
  name: Name id=tiny
  statements:
    - VarLine
      entries:
        - SymbolDecl
          name: Name id=b
          domain: Domain kind=real
    - Objective sense=minimize
      body: Add operators=['+']
        terms:
          - Mul operators=['*']
            factors:
              - Number text=2
              - Name id=b
          - Number text=1
"""


# ------------------------------------------------------------------------- check

UNUSED = """\
model unused
index i in 1..l
data x[i] : input
param C : in (0, inf) = 1
kernel k = linear
var w : H(k)
minimize 1/2 ||w||^2
subject to
  margin[i]: <w, phi(x[i])> >= 1
predict value(t) = <w, phi(t)>
"""


@pytest.fixture
def unused(tmp_path: Path) -> str:
    """A spec with one warning: nothing uses its parameter."""
    spec = tmp_path / "unused.kspec"
    spec.write_text(UNUSED)
    return str(spec)


def test_check_prints_warnings_and_is_content(capsys: pytest.CaptureFixture[str], unused: str) -> None:
    code, out, err = outcome(capsys, "check", unused)
    assert (code, err) == (0, "")
    assert out.startswith("warning[K")
    assert f"{unused}:4:7" in out


def test_strict_makes_warnings_errors(capsys: pytest.CaptureFixture[str], unused: str) -> None:
    code, out, _ = outcome(capsys, "check", "--strict", unused)
    assert code == 1
    assert out.startswith("error[K")
    assert outcome(capsys, "compile", "--emit", "model", unused)[0] == 0
    assert outcome(capsys, "compile", "--emit", "model", "--strict", unused)[0] == 1


def test_check_as_json(capsys: pytest.CaptureFixture[str], unused: str) -> None:
    import json

    code, out, _ = outcome(capsys, "check", "--json", unused)
    found = json.loads(out)
    assert code == 0
    assert found["file"] == unused
    assert [(entry["severity"], entry["labels"][0]["line"]) for entry in found["diagnostics"]] == [("warning", 4)]
    assert json.loads(outcome(capsys, "check", "--json", "svm_1norm")[1])["diagnostics"] == []


def test_check_reports_every_spec_it_is_given(capsys: pytest.CaptureFixture[str], unused: str) -> None:
    code, out, err = outcome(capsys, "check", "svm_1norm", unused)
    assert code == 0
    assert "warning[K" in out
    assert "svm_1norm.kspec: nothing to report\n" in err


def test_standard_input_is_a_spec(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from io import BytesIO, TextIOWrapper

    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(UNUSED.replace("]: <w", "]: <v").encode())))
    code, out, _ = outcome(capsys, "check", "-")
    assert code == 1
    assert "<stdin>:9:15" in out


def test_a_spec_that_is_wrong_stops_every_verb(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.kspec").write_text(UNUSED.replace("]: <w", "]: <v"))
    for arguments in (["compile", "--emit", "model"], ["derive"]):
        code, out, err = outcome(capsys, *arguments, "wrong.kspec")
        assert (code, out) == (1, "")
        assert "error[K2" in err
        assert "wrong.kspec:9:15" in err


@pytest.mark.parametrize("spelling", ["--unicode", "--ascii"])
def test_fmt_spells_symbols_as_asked(capsys: pytest.CaptureFixture[str], spelling: str) -> None:
    out = outcome(capsys, "fmt", spelling, "svm_1norm")[1]
    assert ("ξ" in out) is (spelling == "--unicode")


# ------------------------------------------------------------------------ derive


@pytest.mark.parametrize("option", ["--time-limit=0", "--time-limit=nan", "--seed=-1", "--seed=one", "--format=pdf"])
def test_values_that_make_no_sense_are_usage_errors(capsys: pytest.CaptureFixture[str], option: str) -> None:
    code, out, err = outcome(capsys, "derive", "--verify", option, "svm_1norm")
    assert (code, out) == (2, "")
    assert option.split("=")[0] in err


@pytest.mark.parametrize("form", ["text", "latex", "html", "json"])
def test_output_file_holds_what_would_have_been_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    file = tmp_path / "out"
    assert outcome(capsys, "derive", "--format", form, "-o", str(file), "svm_1norm") == (0, "", "")
    assert (0, file.read_text(encoding="utf-8"), "") == outcome(capsys, "derive", "--format", form, "svm_1norm")


def test_output_file_that_cannot_be_written_is_an_environment_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = outcome(capsys, "derive", "-o", str(tmp_path / "absent" / "out"), "svm_1norm")
    assert code == 4
    assert "error[K658]" in err and "absent/out` cannot be written: No such file or directory" in err


@pytest.mark.parametrize("verb", ["derive", "fmt"])
def test_a_disk_that_is_full_leaves_what_was_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: Path, verb: str
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    file = tmp_path / "mine.kspec"
    before = (root / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8").replace("minimize ", "minimize    ")
    file.write_text(before, encoding="utf-8")
    given = ("derive", "-o", str(file), "svm_1norm") if verb == "derive" else ("fmt", "--in-place", str(file))
    code, _, err = outcome(capsys, *given)
    assert code == 4 and "error[K658]" in err and "what was there before is unchanged" in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.kspec"]
    assert file.read_text(encoding="utf-8") == before


@pytest.mark.parametrize("name", resources.spec_names())
def test_every_shipped_spec_derives_in_ascii_where_the_terminal_has_no_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    code, out, err = outcome(capsys, "derive", name)
    assert (code, err) == (0, "")
    assert out.isascii()
    assert "\\u" not in out


UNCOERCED = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.skipif(os.name == "nt", reason="paths are bytes")
@pytest.mark.parametrize("verb", ["check", "qp"])
def test_json_has_the_characters_of_a_path_under_the_c_locale(verb: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kdsl", verb, "nö\udcff.kspec", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | UNCOERCED, capture_output=True, timeout=60)
    assert "there is no file `nö\ufffd.kspec`" in json.loads(done.stdout.decode("utf-8"))["diagnostics"][0]["message"]


@pytest.mark.skipif(os.name == "nt", reason="paths are bytes")
@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, UNCOERCED])
def test_a_place_is_said_in_its_own_bytes(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("u,y\n0,-1\n1,-1\n2,1\n3,1\n")
    for words in ("solve svm_1norm --data t.csv -q -o", "report --data t.csv -q"):
        command = [sys.executable, "-m", "kdsl", *words.split(), "mö del.kdsl"]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | environment, capture_output=True, timeout=60)
    assert done.stdout == "mö del.html\n".encode() and (tmp_path / "mö del.html").exists()


def test_evidence_that_fails_ends_with_3(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from kdsl.algebra import evidence

    broken = evidence.Evidence((evidence.Check(evidence.PRIMAL_IS_DUAL, 1, 0.5, 1e-6),), 0.1)
    monkeypatch.setattr(evidence, "verify", lambda derivation, seed, time_limit: broken)
    code, out, err = outcome(capsys, "derive", "--verify", "svm_1norm")
    assert code == 3
    assert evidence.PRIMAL_IS_DUAL.split()[0] in out.lower() or "primal" in out.lower()
    assert "does not support" in err


def test_evidence_that_was_not_found_ends_with_5(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kdsl.algebra import evidence

    none = evidence.Evidence((evidence.Check(evidence.PRIMAL_IS_DUAL, 0, 0.0, 1e-6, "of 2 instances, ..."),), 0.1)
    monkeypatch.setattr(evidence, "verify", lambda derivation, seed, time_limit: none)
    code, out, err = outcome(capsys, "derive", "--verify", "svm_1norm")
    assert code == 5
    assert "not made: of 2 instances" in out
    assert "could not be tested" in err and "does not support" not in err
    code, out, _ = outcome(capsys, "derive", "--verify", "svm_1norm", "--format", "json")
    found = json.loads(out)["evidence"]
    assert (code, found["verdict"], found["passed"]) == (5, "untested", False)
    assert [(check["verdict"], check["worst"]) for check in found["checks"]] == [("untested", None)]


@pytest.mark.parametrize("stage", ["primal", "lagrangian", "dual", "kkt"])
def test_stages_of_the_algebra_are_parts_of_the_derivation(capsys: pytest.CaptureFixture[str], stage: str) -> None:
    whole = outcome(capsys, "derive", "sphere_nu")[1]
    code, part, _ = outcome(capsys, "compile", "--emit", stage, "sphere_nu")
    assert code == 0
    assert 5 < part.count("\n") < whole.count("\n") / 2
    assert all(line in whole for line in part.splitlines())


def test_the_stages_of_data(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    data = ["--data", str(root / "examples" / "crescents.csv")]
    code, out, err = outcome(capsys, "compile", "--emit", "normal-form", "svm_1norm", *data, "-D", "C=3")
    assert (code, err) == (0, "")
    assert "  alpha[i] of `margin`  [0, 3] c = 0, s = -1\n" in out and "  row 1  200 entries of -1 .. 1, = 0\n" in out
    code, out, err = outcome(capsys, "compile", "--emit", "route", "svm_1norm", *data)
    assert (code, err) == (0, "")
    assert "  chosen  engine\n" in out and "  direct              cannot: it solves linear systems" in out
    code, out, err = outcome(capsys, "compile", "--emit", "route", "svm_1norm", *data, "--backend", "direct")
    assert (code, out) == (1, "") and "error[K601]" in err
    code, out, err = outcome(capsys, "compile", "--emit", "route", "svm_1norm")
    assert (code, out) == (1, "") and "error[K521]" in err and "--data FILE" in err
    code, out, err = outcome(capsys, "compile", "--emit", "route", "svm_1norm", *data, "--kernel", "k = rbf(gamma = ")
    assert (code, out) == (1, "") and "--kernel" in err


def test_warnings_of_the_stages_of_data(capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path) -> None:
    spec = tmp_path / "unused.kspec"
    text = (root / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
    spec.write_text(text.replace("param  C : in (0, inf) = 1", "param  C : in (0, inf) = 1, D : real = 1"))
    data = ["--data", str(root / "examples" / "crescents.csv")]
    code, out, err = outcome(capsys, "compile", "--emit", "route", str(spec), *data)
    assert code == 0 and "chosen" in out and "warning[" in err and "`D`" in err
    assert outcome(capsys, "compile", "--emit", "route", "--strict", str(spec), *data)[:2] == (1, "")
