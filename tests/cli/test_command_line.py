"""The command line's manners: streams, exit codes, interrupts, pipes, and terminals that show little."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from command_outcome import outcome

from kdsl import resources
from kdsl.cli import main as command
from kdsl.cli import sources, terminal
from kdsl.cli.verbs import specs as specs_verb

Run = Callable[..., subprocess.CompletedProcess[str]]


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make the verb `specs` raise the error."""

    def run(arguments: object, console: object) -> int:
        raise error

    monkeypatch.setattr(specs_verb, "run", run)


# ------------------------------------------------------------------- top level


def test_alone_it_says_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys)
    assert (code, err) == (0, "")
    assert len(out.splitlines()) <= 16 and max(map(len, out.splitlines())) <= 120


def test_the_three_commands_to_try_work_as_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    _, out, _ = outcome(capsys)
    commands = [shlex.split(line)[1:] for line in out.splitlines() if line.startswith("  kdsl ")]
    assert [words[0] for words in commands] == ["derive", "solve", "init"]
    for words in commands:
        code, printed, err = outcome(capsys, *words)
        assert code == 0 and printed, err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crescents.html", "my_svm.kspec"]


def test_data_that_are_near_are_named_briefly(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    monkeypatch.chdir(root)
    assert " --data examples/crescents.csv " in outcome(capsys)[1]


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, "--help")
    assert code == 0
    assert all(f"  {verb} " in out for verb in command.VERBS)


@pytest.mark.parametrize("verb", command.VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = outcome(capsys, verb, "--help")
    assert code == 0
    assert out.startswith(f"usage: kdsl {verb}")
    assert outcome(capsys, "help", verb) == (0, out, "")


def test_version_is_the_one_in_pyproject(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    import kdsl._core

    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert outcome(capsys, "--version") == (0, f"kdsl {version}\n", "")
    assert kdsl._core.version() == version


def test_unknown_verb_is_a_usage_error_with_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "dervie")
    assert (code, out) == (2, "")
    assert "did you mean `derive`?" in err


def test_unknown_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, "--verbose")[0] == 2
    assert outcome(capsys, "check", "--nonsense", "svm_1norm")[0] == 2


def test_a_usage_error_begins_with_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "solve", "svm_1norm", "--data", "t.csv", "-D", "C=abc")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "kdsl solve: error: argument -D: `abc` is not a number" and err.count("\n") == 2


# ------------------------------------------------------------------ exit codes


def test_missing_file_is_an_environment_error_with_the_nearest_spec(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "fmt", "svm_1nrm")
    assert (code, out) == (4, "")
    assert "error[K501]: there is no file `svm_1nrm`, nor a shipped spec" in err
    assert "`svm_1norm`" in err


def test_directory_is_an_environment_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = outcome(capsys, "fmt", str(tmp_path))
    assert code == 4
    assert "is a directory" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable_file_is_an_environment_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "secret.kspec"
    spec.write_text("model secret\n")
    spec.chmod(0)
    assert outcome(capsys, "fmt", str(spec))[0] == 4


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_full_disk_is_an_environment_error() -> None:
    with open("/dev/full", "w") as full:
        completed = subprocess.run(
            [sys.executable, "-m", "kdsl", "specs"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert completed.returncode == 4
    assert completed.stderr == "kdsl: No space left on device\n"


def test_bug_of_ours_is_one_line_and_a_saved_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fail_with(monkeypatch, ZeroDivisionError("one over nothing"))
    code, out, err = outcome(capsys, "specs")
    assert (code, out) == (70, "")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    (saved,) = tmp_path.iterdir()
    assert str(saved) in err
    content = saved.read_text()
    assert "Traceback" in content
    assert "one over nothing" in content
    assert "['specs']" in content


def test_traceback_that_cannot_be_saved_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    fail_with(monkeypatch, ZeroDivisionError("one over nothing"))
    code, _, err = outcome(capsys, "specs")
    assert code == 70
    assert "Traceback" in err


def test_missing_package_is_an_environment_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(monkeypatch, ModuleNotFoundError("No module named 'cvxpy.atoms'", name="cvxpy.atoms"))
    code, _, err = outcome(capsys, "specs")
    assert code == 4
    assert "the Python package cvxpy, which is not installed" in err


def test_memory_running_out_is_an_environment_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(monkeypatch, MemoryError())
    assert outcome(capsys, "specs") == (4, "", "kdsl: not enough memory\n")


INTERRUPTIBLE = """
import sys, time
from kdsl.cli.main import main
from kdsl.cli.verbs import specs
def run(arguments, console):
    print("running", flush=True)
    time.sleep(60)
specs.run = run
sys.exit(main(["specs"]))
"""


def test_interrupt_ends_with_130() -> None:
    command_line = [sys.executable, "-c", INTERRUPTIBLE]
    process = subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")


# ---------------------------------------------------------------------- streams


def test_closed_pipe_is_silent() -> None:
    code = "import sys; from kdsl.cli.main import main; import os; os.close(READ); sys.exit(main(['specs']))"
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", code.replace("READ", str(read))],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(read,),
    )
    os.close(read)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_closed_stdout_is_an_environment_error() -> None:
    command_line = f"exec {sys.executable} -m kdsl specs >&-"
    completed = subprocess.run(["sh", "-c", command_line], stderr=subprocess.PIPE, text=True, timeout=60)
    assert completed.returncode == 4
    assert completed.stderr == "kdsl: standard output is closed\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_messages_that_nobody_can_read_change_nothing() -> None:
    with open("/dev/full", "w") as full:
        completed = subprocess.run([sys.executable, "-m", "kdsl", "dervie"], stderr=full, timeout=60)
    assert completed.returncode == 2


def test_file_names_that_are_not_text_are_shown_as_far_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = outcome(capsys, "fmt", "caf\udce9.kspec")
    assert code == 4
    assert "there is no file `caf\ufffd.kspec`" in err


class Stream:
    """A stream with an encoding, which may be a terminal."""

    def __init__(self, encoding: str, terminal: bool = True) -> None:
        self.encoding = encoding
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("encoding", "environment", "unicode"),
    [
        ("utf-8", {}, True),
        ("UTF8", {"LANG": "de_CH.UTF-8"}, True),
        ("ascii", {}, False),
        ("ISO-8859-1", {"LANG": "de_CH.ISO-8859-1"}, False),
        ("utf-8", {"LC_ALL": "C"}, False),
        ("utf-8", {"LC_ALL": "POSIX", "LANG": "de_CH.UTF-8"}, False),
        ("utf-8", {"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ("utf-8", {"LANG": "C", "LC_CTYPE": "de_CH.UTF-8"}, True),
        ("utf-8", {"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}, True),
        ("utf-8", {"LANG": "C.UTF-8"}, True),
    ],
)
def test_unicode_only_where_it_is_shown(encoding: str, environment: dict[str, str], unicode: bool) -> None:
    assert terminal.shows_unicode(Stream(encoding), environment) is unicode  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("is_terminal", "environment", "colour"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_only_on_terminals_that_want_it(is_terminal: bool, environment: dict[str, str], colour: bool) -> None:
    assert terminal.shows_colour(Stream("utf-8", is_terminal), environment) is colour  # type: ignore[arg-type]


def test_ascii_terminal_gets_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.Console(ascii=True, colour_out=False, colour_err=False).out("⟨w, φ⟩\n")
    assert capsys.readouterr().out == "\\u27e8w, \\u03c6\\u27e9\n"


# ---------------------------------------------------------------------- sources


def test_path_wins_over_a_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sources.read_source("svm_1norm").filename == resources.spec_path("svm_1norm")
    (tmp_path / "svm_1norm").mkdir()
    assert sources.read_source("svm_1norm").filename == resources.spec_path("svm_1norm")
    (tmp_path / "svm_1norm").rmdir()
    (tmp_path / "svm_1norm").write_text("model mine\n")
    assert sources.read_source("svm_1norm") == ("model mine\n", "svm_1norm", "svm_1norm", ())


def test_text_is_read_as_it_is_but_for_the_byte_order_mark(tmp_path: Path) -> None:
    spec = tmp_path / "a.b.kspec"
    spec.write_bytes(b"\xef\xbb\xbfmodel a\r\n# \xce\xbe\n")
    assert sources.read_source(str(spec)) == ("model a\r\n# ξ\n", "a.b", str(spec), ())


@pytest.mark.parametrize("verb", ["check", "fmt", "derive"])
def test_other_encodings_are_refused_at_their_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: str
) -> None:
    spec = tmp_path / "latin.kspec"
    spec.write_bytes("model latin\n# naïve\n".encode("latin-1"))
    code, out, err = outcome(capsys, verb, str(spec))
    assert code == 1
    assert "error[K102]: the file is not UTF-8: byte 0xef at offset 16" in out + err
    assert f"{spec}:2:5" in out + err


def test_only_so_much_of_a_file_is_read(tmp_path: Path) -> None:
    spec = tmp_path / "long.kspec"
    spec.write_text("#" + "ξ" * sources.MAX_BYTES, encoding="utf-8")
    source = sources.read_source(str(spec))
    assert len(source.text) <= sources.MAX_BYTES
    assert [fault.code for fault in source.faults] == ["K105"]
    assert str(spec.stat().st_size) in source.faults[0].message
