"""The fenced blocks of a page of the documentation: where they stand, what they hold, and how output is compared.

`sh` is run and must succeed; `console` is run command by command (`$ `, continued by `> `) and its output compared;
`python` is run, all blocks of a page as one script, and a `text` block directly below is what it prints; `kspec` is
checked, or only parsed where it is a fragment without an objective; any block with `title="FILE"` is written to that
file instead. `<!-- not run: REASON -->` above a block exempts it. Nothing else may stand in a fence.

Of output, these vary and are compared in this way:
- `...` alone on a line stands for any lines;
- seconds and numbers of iterations are not compared, nor the numbers of lines that begin with `gap`, `m - M` or
  `seconds`, nor lines that begin with `residual` at all: they are what rounding and the order of steps leave;
- numbers with a decimal point or an exponent agree when they differ by less than a thousandth, or are both below 1e-3
  in size; spaces beside such numbers may be more or fewer.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

LANGUAGES = {"sh", "console", "python", "text", "kspec", "toml", "csv", "lark"}
FENCE = re.compile(r"^```(?P<language>\w*)(?P<rest>.*)$")
TITLE = re.compile(r'title="([^"]+)"')
EXEMPT = re.compile(r"<!-- not run: \S.* -->")
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
SECONDS = re.compile(r"\b[\d.]+(?:e-\d+)?(?= s\b)|(?<=read )[\d.e-]+|(?<=lower )[\d.e-]+|(?<=solve )[\d.e-]+")
CERTIFY = re.compile(r"(?<=certify )[\d.e-]+")
LEFTOVERS = ("gap ", "m - M ", "seconds ")
ITERATIONS = re.compile(r"\b[\d,]+(?= iterations?\b)")


class Block(NamedTuple):
    """One fenced block; `line` is that of its first line of text, counted from 0."""

    language: str
    title: str
    text: str
    line: int
    exempt: bool
    output_of: str  # for `text`: "python" where it stands directly below such a block


class Command(NamedTuple):
    """One command of a `console` block, with the lines of the page that show its output."""

    text: str
    shown: list[str]
    first: int
    last: int


def blocks(page: str) -> list[Block]:
    """Every fenced block, in order."""
    lines = page.splitlines()
    found: list[Block] = []
    before, start, info = "", -1, re.match("", "")
    previous = ""  # the language of the block that ended just above, with nothing but blank lines since
    for number, line in enumerate(lines):
        assert start >= 0 or not line.startswith((" ", "\t")) or not line.lstrip().startswith("```"), (
            f"line {number + 1}: a fence that is indented is not run"
        )
        if start < 0 and (fence := FENCE.match(line)):
            start, info = number + 1, fence
        elif start >= 0 and line == "```":
            assert info is not None
            title = TITLE.search(info["rest"])
            text = "".join(f"{inside}\n" for inside in lines[start:number])
            exempt = EXEMPT.fullmatch(before) is not None
            language = info["language"]
            found.append(Block(language, title[1] if title else "", text, start, exempt, previous))
            previous, before, start = "" if title or exempt else language, "", -1
        elif start < 0 and line:
            previous, before = "", line
    assert start < 0, f"line {start}: the block does not end"
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a `console` block, each with its output."""
    lines = block.text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {block.line + 1}: a console block begins with a command"
    found: list[Command] = []
    for start, end in pairwise([*starts, len(lines)]):
        first = start + 1
        while first < end and lines[first].startswith("> "):
            first += 1
        text = "\n".join(line[2:] for line in lines[start:first])
        found.append(Command(text, lines[first:end], block.line + first, block.line + end))
    return found


def same(shown: list[str], printed: list[str]) -> bool:
    """Whether the page shows what was printed."""
    return _same(*([line for line in lines if not line.startswith("residual ")] for lines in (shown, printed)))


def _same(shown: list[str], printed: list[str]) -> bool:
    if "..." in shown:
        place = shown.index("...")
        head, tail = shown[:place], shown[place + 1 :]
        if len(printed) < place or not _same(head, printed[:place]):
            return False
        return any(_same(tail, printed[skip:]) for skip in range(place, len(printed) + 1))
    return len(shown) == len(printed) and all(map(_alike, shown, printed))


def _alike(shown: str, printed: str) -> bool:
    ours, theirs = _masked(shown), _masked(printed)
    if ours == theirs:
        return True
    figures, others = NUMBER.findall(ours), NUMBER.findall(theirs)
    if _words(ours) != _words(theirs) or len(figures) != len(others) or not any(map(_is_decimal, figures + others)):
        return False
    return all(map(_close, figures, others))


def _masked(line: str) -> str:
    if line.startswith(LEFTOVERS):
        return re.sub(r" +", " ", NUMBER.sub("?", line))
    return ITERATIONS.sub("?", CERTIFY.sub("?", SECONDS.sub("?", line.rstrip())))


def _words(line: str) -> str:
    return re.sub(r"(?<=\S) +", " ", NUMBER.sub("#", line))


def _is_decimal(figure: str) -> bool:
    return "." in figure or "e" in figure


def _close(one: str, other: str) -> bool:
    if not _is_decimal(one + other):
        return one == other
    a, b = (float(text.replace("−", "-")) for text in (one, other))
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b)) or max(abs(a), abs(b)) < 1e-3
