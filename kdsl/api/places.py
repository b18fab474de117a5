"""Where in a Python file something is written: the spans of a tree that was built by operators, exact to the column."""

from __future__ import annotations

import ast
import linecache
import sys
from types import CodeType, FrameType
from typing import NamedTuple

from kdsl.language.syntax import Span

_Range = tuple[int | None, int | None, int | None, int | None]


class File(NamedTuple):
    """One Python file; its text stands at `base` in the text that spans are offsets into."""

    name: str
    base: int
    text: str
    lines: tuple[str, ...]

    def offset(self, line: int, column: int) -> int:
        """The offset in `text` of a place whose column is counted in bytes, as Python does."""
        return sum(map(len, self.lines[: line - 1])) + _characters(self.lines[line - 1], column)


class Site:
    """One operation or call as it is written in Python: what `start` to `end` of all sources says."""

    def __init__(self, start: int, end: int, text: str) -> None:
        self.span = Span(start, end)
        self.text = text

    def operands(self) -> tuple[Span, Span]:
        """The two sides of an operation; the whole of it where they cannot be told apart."""
        node = self._parsed()
        if isinstance(node, ast.BinOp):
            return self._span(node.left), self._span(node.right)
        if isinstance(node, ast.Compare):
            return self._span(node.left), self._span(node.comparators[-1])
        return self.span, self.span

    def operand(self) -> Span:
        """What a sign stands before."""
        node = self._parsed()
        return self._span(node.operand) if isinstance(node, ast.UnaryOp) else self.span

    def subscripts(self, count: int) -> tuple[Span, tuple[Span, ...]]:
        """The symbol before the brackets and each of the `count` subscripts in them."""
        node = self._parsed()
        if not isinstance(node, ast.Subscript):
            return self.span, (self.span,) * count
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        spans = tuple(self._span(part) for part in inside)
        return self._span(node.value), spans if len(spans) == count else (self.span,) * count

    def argument(self, position: int, keyword: str = "") -> Span:
        """An argument of a call, by its keyword or its position; a text without its quotes."""
        node = self._parsed()
        if not isinstance(node, ast.Call):
            return self.span
        for given in node.keywords:
            if given.arg == keyword and keyword:
                return self._bare(given.value)
        if position >= len(node.args) or any(isinstance(part, ast.Starred) for part in node.args):
            return self.span
        return self._bare(node.args[position])

    def written(self, first: int, last: int) -> Span:
        """All that stands from one argument to another, as it is written."""
        node = self._parsed()
        if not isinstance(node, ast.Call) or last >= len(node.args):
            return self.span
        return Span(self._span(node.args[first]).start, self._span(node.args[last]).end)

    def keyword(self, name: str) -> Span:
        """The value of a keyword; the whole call where it is not given."""
        node = self._parsed()
        given = [k for k in node.keywords if k.arg == name] if isinstance(node, ast.Call) else []
        return self._bare(given[0].value) if given else self.span

    def parameters(self, position: int, names: tuple[str, ...]) -> tuple[Span, ...]:
        """Where the lambda that is the argument at `position` names its parameters."""
        node = self._parsed()
        function = node.args[position] if isinstance(node, ast.Call) and position < len(node.args) else None
        if not isinstance(function, ast.Lambda):
            return (self.span,) * len(names)
        arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        written = {one.arg: self._span(one) for one in arguments}
        return tuple(written.get(name, self.span) for name in names)

    def keywords(self, *names: str) -> Span:
        """All that the keywords among `names` say, from the first to the last; the whole call where there is none."""
        node = self._parsed()
        given = [k for k in node.keywords if k.arg in names] if isinstance(node, ast.Call) else []
        if not given:
            return self.span
        spans = [self._span(k) for k in given]
        return Span(min(s.start for s in spans), max(s.end for s in spans))

    def callee(self) -> Span:
        """The name of the function that is called, without what stands before its last point."""
        node = self._parsed()
        if not isinstance(node, ast.Call):
            return self.span
        called = self._span(node.func)
        return Span(called.end - len(node.func.attr), called.end) if isinstance(node.func, ast.Attribute) else called

    def method(self) -> Span:
        """The call from the name of the method on: `minimize(...)` of `p.minimize(...)`."""
        return Span(self.callee().start, self.span.end)

    def relations(self) -> int:
        """How many relations a comparison chains."""
        node = self._parsed()
        return len(node.ops) if isinstance(node, ast.Compare) else 0

    def _parsed(self) -> ast.expr | None:
        try:
            return ast.parse(f"({self.text})", mode="eval").body
        except (SyntaxError, ValueError):  # a statement such as `a += b`, or no text at all
            return None

    def _bare(self, node: ast.expr) -> Span:
        span = self._span(node)
        quoted = isinstance(node, ast.Constant) and isinstance(node.value, str) and span.end - span.start > 2
        return Span(span.start + 1, span.end - 1) if quoted else span

    def _span(self, node: ast.expr | ast.arg | ast.keyword) -> Span:
        lines = [line + "\n" for line in f"({self.text})".split("\n")]
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._offset(lines, node.lineno, node.col_offset)
        return Span(start, self._offset(lines, node.end_lineno, node.end_col_offset))

    def _offset(self, lines: list[str], line: int, column: int) -> int:
        before = sum(len(text) for text in lines[: line - 1]) + _characters(lines[line - 1], column)
        return self.span.start + before - 1


def _characters(line: str, column: int) -> int:
    """A column in bytes of UTF-8 as one in characters."""
    return column if line.isascii() else len(line.encode()[:column].decode(errors="replace"))


class Spot(NamedTuple):
    """An operation that is being carried out, before it is looked up where it is written."""

    code: CodeType
    instruction: int
    line: int
    names: dict[str, object]  # the globals of its module: they know where its source is


def spot() -> Spot | None:
    """What the caller of this package is doing, None where only the package itself is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "kdsl":
        frame = frame.f_back
    return None if frame is None else Spot(frame.f_code, frame.f_lasti, frame.f_lineno, frame.f_globals)


class Sources:
    """The Python files in which a problem is written, one after the other, as one text."""

    def __init__(self) -> None:
        self.complete = True  # False once something was written where no text can be had, such as a bare prompt
        self._files: dict[str, File] = {}
        self._ranges: dict[CodeType, list[_Range]] = {}

    @property
    def text(self) -> str:
        return "\n".join(file.text for file in self._files.values())

    def here(self) -> Site:
        """What the caller of this package is doing, in the text of all sources."""
        return self.site(spot())

    def site(self, at: Spot | None) -> Site:
        """Where an operation is written; an empty place where no source can be had."""
        file = None if at is None else self._file(at)
        if at is None or file is None or not 0 < at.line <= len(file.lines):
            self.complete = False
            return Site(0, 0, "")
        first, last, start, end = self._range(at)
        if first is None or last is None or start is None or end is None or not first <= last <= len(file.lines):
            line = file.lines[at.line - 1]
            first, last, start, end = at.line, at.line, len(line) - len(line.lstrip()), len(line.rstrip().encode())
        low, high = file.offset(first, start), file.offset(last, end)
        return Site(file.base + low, file.base + high, file.text[low:high])

    def file_of(self, span: Span) -> File:
        """The file in which a span begins."""
        files = list(self._files.values())
        return next((file for file in reversed(files) if file.base <= span.start), files[0])

    def _file(self, at: Spot) -> File:
        name = at.code.co_filename
        if name not in self._files:
            lines = linecache.getlines(name, at.names)
            base = sum(len(file.text) + 1 for file in self._files.values())
            self._files[name] = File(name, base, "".join(lines), tuple(lines))
        return self._files[name]

    def _range(self, at: Spot) -> _Range:
        if at.code not in self._ranges:
            self._ranges[at.code] = list(at.code.co_positions())
        return self._ranges[at.code][at.instruction // 2]
