"""`kdsl init`: templates that are right as they are, files that are never lost, and what is said of a bad name."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kdsl import pipeline, resources
from kdsl.cli.main import main
from kdsl.language.formatter import format_source
from kdsl.language.lexer import scan

TEMPLATES = resources.template_names()


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_there_is_a_template_for_each_kind_of_answer() -> None:
    assert {"classification", "regression", "novelty", "ranking"} <= set(TEMPLATES)
    kinds = {pipeline.parse_spec(resources.template(name)).predictions[0].kind for name in TEMPLATES}
    assert kinds == {"label", "value", "novelty", "score", "class"}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_checks_is_laid_out_and_says_what_it_is(template: str) -> None:
    text = resources.template(template)
    checked = pipeline.check(pipeline.syntax(text), text, template)
    assert checked.diagnostics == () and checked.model is not None
    assert (checked.model.name, bool(checked.model.title)) == (template, True)
    assert format_source(text) == text
    comments = [token.text for token in scan(text)[0] if token.type == "COMMENT"]
    assert len(comments) >= 7 and max(len(line) for line in text.splitlines()) <= 120


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_derives_and_verifies(template: str) -> None:
    derivation = pipeline.derive(pipeline.parse_spec(resources.template(template)))
    evidence = pipeline.verify(derivation, time_limit=60.0)
    assert len(evidence.checks) == 3
    assert all(check.passed and check.times > 0 for check in evidence.checks), evidence


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_started_spec_solves(template: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, "init", "mine", "--template", template)[0] == 0
    random = np.random.default_rng(0)
    rows = ["a,b,y"]
    for a, b in random.normal(size=(24, 2)):
        rows.append(f"{a:.3f},{b:.3f},{int(a > 0) if template != 'multiclass' else 'abc'[int(b > 0) + int(a > 0)]}")
    if template == "novelty":
        rows = [row.rpartition(",")[0] for row in rows]
    Path("train.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    code, out, err = outcome(capsys, "solve", "mine.kspec", "--data", "train.csv", "-q")
    assert code == 0, err
    assert "status      optimal\n" in out


def test_comments_of_a_template_tell_the_truth_about_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    text = resources.template("classification").replace("\n# ", " ")
    (named,) = re.findall(r"Others: (.*?), and sums and products of them, such as (.*?)\. `scale`", text)
    for kernel in (*re.split(r", (?=[a-z])", named[0]), named[1]):
        changed = resources.template("classification").replace("rbf(gamma = scale)", kernel)
        assert changed.count(f"kernel k = {kernel}\n") == 1
        assert pipeline.parse_spec(changed).kernels[0].name == "k"


def test_the_model_is_called_as_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "init", "crops_2026")
    assert (code, err) == (0, "")
    written = Path("crops_2026.kspec").read_text(encoding="utf-8")
    assert written == resources.template("classification").replace("model classification ", "model crops_2026 ")
    assert out.startswith("crops_2026.kspec is yours: weighted soft margin.")
    Path("sub").mkdir()
    assert outcome(capsys, "init", "sub/λ.kspec", "--template", "novelty")[0] == 0
    assert pipeline.read_spec("sub/λ.kspec").name == "lambda"


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_it_says_to_do_next_can_be_done(template: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "init", "mine", "--template", template)
    assert code == 0
    commands = [shlex.split(re.split(r" {3,}", line.strip())[0]) for line in out.splitlines()[2:]]
    assert [words[1] for words in commands] == ["check", "derive", "solve", "predict"]
    assert ("--target" in commands[2]) == (template != "novelty")
    assert outcome(capsys, *commands[0][1:])[0] == 0


@pytest.mark.parametrize("name", ["mine", "mine.kspec"])
def test_nothing_is_overwritten(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.kspec").write_text("the work of a day", encoding="utf-8")
    assert outcome(capsys, "init", name)[::2] == (2, page("K682")[0])
    assert Path("mine.kspec").read_text(encoding="utf-8") == "the work of a day"


@pytest.mark.parametrize(
    ("name", "mended"),
    [
        ("my-svm", "my_svm"),
        ("2nd", "model_2nd"),
        ("two words", "two_words"),
        ("", "model"),
        ("sub/", "model"),
        ("a.b", "a_b"),
        ("sum", "sum_model"),
        ("größe", "gro_e"),
        ("ünder", "under"),
        ("x; rm -rf ~", "x_rm_rf"),
        ("-", "model"),
    ],
)
def test_a_bad_name_is_refused_with_a_better_one(
    name: str, mended: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = outcome(capsys, "init", "--", name)
    assert (code, out) == (2, "")
    assert err.startswith("error[K680]: ") and err.endswith(f"such as `kdsl init {mended}`\n")
    assert list(tmp_path.iterdir()) == []
    assert outcome(capsys, "init", mended)[0] == 0


def test_a_folder_that_is_not_there_is_the_environments_fault(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "init", "no/such")
    assert (code, out, err) == (4, "", "kdsl: no/such.kspec: No such file or directory\n")


# ------------------------------------------------------------------- messages


def page(code: str) -> list[str]:
    """The messages on the page of a code."""
    text = resources.explanation(code)
    assert text is not None
    block = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    return [part.rstrip("\n") + "\n" for part in block[1].split("\n\n")]


def test_pages_have_the_messages_letter_by_letter(capsys: pytest.CaptureFixture[str]) -> None:
    assert [outcome(capsys, "init", "my-svm")[2]] == page("K680")
    shown = [outcome(capsys, "init", "a", "--template", word)[2] for word in ("clasification", "kmeans")]
    assert shown == page("K681")


# ---------------------------------------------------------------- cold start


def test_starting_a_spec_imports_nothing_heavy() -> None:
    code = (
        "import sys; from kdsl.cli.main import main; assert main(['init', 'quick']) == 0;"
        "print([m for m in ('numpy', 'scipy', 'lark', 'rich', 'dataclasses', 'inspect') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
