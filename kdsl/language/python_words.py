"""A diagnostic as the text of a Python exception, its remedies in keywords where the command line has options."""

from __future__ import annotations

import re

from kdsl.language.diagnostics import Diagnostic

_OPTION = re.compile(r"`(?:--(?=[a-z])|-(?=D [\w']+=))([A-Za-z][a-z-]*)(?: ([^`]+))?`")  # not `-B`, of a spec
_ENTRY = re.compile(r"([\w']+)[=:](.+)")
_KEYWORDS = {"D": "params", "bind": "bindings"}  # the others are called as their option is
_BLANKS = ("...", "FILE", "NAME")
_FLAGS = ("allow-python", "drop-missing", "onehot")


def worded(diagnostic: Diagnostic) -> str:
    """Code, message, reason and remedy in one line."""
    parts = [f"{diagnostic.code}: {diagnostic.message}", diagnostic.why, diagnostic.help]
    return _OPTION.sub(_as_keyword, ". ".join(part for part in parts if part))


def _as_keyword(option: re.Match[str]) -> str:
    """`--psd clip` as `psd='clip'`, `-D C=1` as `params={'C': 1}`, `--onehot` as `onehot=True`."""
    name, value = option[1], option[2]
    keyword = _KEYWORDS.get(name, name.replace("-", "_"))
    if value is None:
        return f"`{keyword}={'True' if name in _FLAGS else ''}`"
    entry = _ENTRY.fullmatch(value)
    return f"`{keyword}={_literal(value) if entry is None else f'{{{entry[1]!r}: {_literal(entry[2])}}}'}`"


def _literal(text: str) -> str:
    """A number as it is, and what stands for something to be filled in (`NAME`, `FILE`) as `...`."""
    try:
        float(text)
    except ValueError:
        return "..." if text in _BLANKS else repr(text)
    return text
