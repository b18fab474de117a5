"""Runs the blocks of one page in a folder of its own, as a reader would who copies them one after the other."""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import LANGUAGES, Block, blocks, commands, same

from kdsl.language.parser import parse_spec_text
from kdsl.pipeline import parse_spec

SCRIPT = "problem.py"  # what messages call the script that the page's python blocks make
TIMEOUT = 120.0  # seconds for one command


class Reader:
    """Somebody who copies a page: a shell, a Python session, and the folder that both are in."""

    def __init__(self, folder: Path, root: Path) -> None:
        """The reader begins in a copy of the checkout, as far as pages show it; pip installs into the folder."""
        self.state = folder / "state"
        self.cwd = folder / "kdsl"
        packages = folder / "packages"
        for place in (self.state, self.cwd, packages):
            place.mkdir()
        for name in ("docs", "examples", "specs"):
            (self.cwd / name).symlink_to(root / name)
        programs = os.path.dirname(sys.executable)
        unwanted = ("PYTHON", "COLUMNS", "LC_", "FORCE_COLOR")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        self.env |= {"PATH": f"{programs}:{self.env['PATH']}", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        self.env["PYTHONUNBUFFERED"] = "1"  # as on a terminal, both streams in the order of time
        self.env |= {"PYTHONPATH": str(packages), "PIP_TARGET": str(packages), "PIP_QUIET": "1", "MPLBACKEND": "agg"}
        self.env |= dict.fromkeys(("PIP_NO_DEPS", "PIP_NO_INDEX", "PIP_DISABLE_PIP_VERSION_CHECK"), "1")
        self.env["PIP_NO_BUILD_ISOLATION"] = "0"  # pip's way to say: no isolation
        self.code = 0
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.script = ""

    def shell(self, command: str) -> str:
        """What a terminal shows; directory, variables and `$?` are there for the next command."""
        keep = f"\ncode=$?; pwd > '{self.state}/cwd'; env -0 > '{self.state}/env'; exit $code"
        line = ["bash", "-c", f"(exit {self.code})\n{command}{keep}"]
        # Both streams in one pipe; a command that reads finds nothing.
        done = subprocess.run(
            line,
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT,
        )
        self.code = done.returncode
        self.cwd = Path((self.state / "cwd").read_text().rstrip("\n"))
        pairs = (self.state / "env").read_text().rstrip("\0").split("\0")
        self.env = {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
        return done.stdout.decode()

    def python(self, code: str) -> str:
        """What the next block of the page's script prints."""
        line = self.script.count("\n")
        self.script += code
        linecache.cache[SCRIPT] = (len(self.script), None, self.script.splitlines(keepends=True), SCRIPT)
        printed = io.StringIO()
        with contextlib.chdir(self.cwd), contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, SCRIPT, "exec"), self.names)
        return printed.getvalue()


def run_page(page: str, reader: Reader) -> str:
    """The page as it ought to be; a block that fails, or that is not run, fails the test."""
    lines = page.splitlines()
    changes: list[tuple[int, int, list[str]]] = []  # lines first to last, and what was printed instead
    found = blocks(page)
    printed: list[str] = []
    for number, block in enumerate(found):
        where = f"line {block.line + 1}"
        if block.exempt:
            continue
        assert block.language in LANGUAGES, f"{where}: no block of `{block.language}` is run"
        if block.title:
            (reader.cwd / block.title).write_text(block.text, encoding="utf-8")
        if block.language == "kspec":
            if not (block.title and _is_used(block.title, found[number + 1 :])):
                _check_spec(block)
        elif block.title:
            continue
        elif block.language == "sh":
            output = reader.shell(block.text)
            assert reader.code == 0, f"{where}: exit code {reader.code}\n{output}"
        elif block.language == "console":
            for command in commands(block):
                output = reader.shell(command.text)
                assert reader.code != 70, f"{where}: {command.text}\n{output}"
                assert reader.code == 0 or output, f"{where}: {command.text}: exit code {reader.code}"
                changes += _change(command.shown, output.splitlines(), command.first, command.last)
        elif block.language == "python":
            printed = reader.python(block.text).strip("\n").splitlines()
            following = found[number + 1] if number + 1 < len(found) else None
            below = following is not None and following.language == "text" and following.output_of == "python"
            if printed and not below:
                end = block.line + block.text.count("\n") + 1
                changes.append((end, end, ["", "```text", *printed, "```"]))
        elif block.language == "text":
            assert block.output_of == "python", f"{where}: what prints this text?"
            shown = block.text.splitlines()
            changes += _change(shown, printed, block.line, block.line + len(shown))
        else:
            assert block.language == "lark", f"{where}: `{block.language}` needs a title, the file that it is"
    for first, last, instead in reversed(changes):
        lines[first:last] = instead
    return "\n".join(lines) + "\n"


def _change(shown: list[str], printed: list[str], first: int, last: int) -> list[tuple[int, int, list[str]]]:
    """Nothing where the page shows what was printed."""
    return [] if same(shown, printed) else [(first, last, printed)]


def _is_used(title: str, later: list[Block]) -> bool:
    """Whether a command of the page takes the file: it will say itself what is wrong with it."""
    return any(title in block.text for block in later if block.language in ("console", "sh", "python"))


def _check_spec(block: Block) -> None:
    """A spec must be correct; a fragment must be one that the parser takes."""
    whole = any(line.startswith(("minimize", "maximize")) for line in block.text.splitlines())
    parse_spec(block.text) if whole else parse_spec_text(block.text)


@pytest.fixture
def reader(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """A new reader, whose Python finds the modules that the page has written, and forgets them afterwards."""
    fresh = Reader(tmp_path, root)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.syspath_prepend(str(fresh.cwd))
    return fresh
