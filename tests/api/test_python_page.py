"""docs/python.md runs as it is printed: its blocks one after the other as one script, each output as shown below it."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def blocks() -> list[tuple[str, str | None]]:
    """(code, the output shown below it or None), in order."""
    fenced = re.findall(r"^```(python|text)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    found: list[tuple[str, str | None]] = []
    for language, text in fenced:
        if language == "python":
            found.append((text, None))
        else:
            assert found[-1][1] is None
            found[-1] = (found[-1][0], text)
    return found


def test_every_block_prints_what_the_page_shows() -> None:
    script = "".join(code for code, _ in blocks())
    linecache.cache["problem.py"] = (len(script), None, script.splitlines(keepends=True), "problem.py")
    names: dict[str, Any] = {"__name__": "__main__"}
    line = 0
    for code, shown in blocks():
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, "problem.py", "exec"), names)
        line += code.count("\n")
        assert shown is None or printed.getvalue().strip() == shown.strip(), printed.getvalue()
    assert [shown is None for _, shown in blocks()] == [False] * 6
