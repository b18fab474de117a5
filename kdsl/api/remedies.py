"""Remedies in the words of the Python builder, where the compiler has those of the language."""

from __future__ import annotations

import re
from collections.abc import Callable

# One side of an inner product, and what a sum is taken of: brackets in them hold no others of their kind.
_SIDE = r"(?:[^<>(),\[\]]|\([^()]*\)|\[[^\[\]]*\])+"
_BODY = r"[\w.']+(?:\[[^\[\]]*\]|\([^()]*\))*"

_DOMAINS = {
    "real >= 0": "lower=0",
    "in (0, inf)": "lower=0, open=True",
    "in (0, 1)": "lower=0, upper=1, open=True",
    "{-1, 1}": "values=(-1, 1)",
}


def _indices(subscripts: str | None) -> str:
    return "".join(f", {name.strip()}" for name in (subscripts or "").split(",") if name.strip())


def _unknown(found: re.Match[str]) -> str:
    return f'declare `p.real("{found[1]}"{_indices(found[2])}, lower=0)`'


def _labelled(found: re.Match[str]) -> str:
    return f'write `p.subject_to("{found[1]}"{_indices(found[2])}, ...)`'


def _domain(found: re.Match[str]) -> str:
    declared, domain = found[1] is not None, found[2]
    if domain in _DOMAINS:
        return f"`{_DOMAINS[domain]}`"
    return f'`labels="{domain}"`' if declared and domain.isidentifier() else found[0]


def _definition(found: re.Match[str]) -> str:
    return f'`p.{found[1]}("{found[2]}", lambda {found[3]}: {found[4]})`'


# In their order: statements, the words about statements, then formulas, which may stand in the statements.
_WORDS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"add `([\w']+)(?:\[(.*?)\])? : real >= 0` to the `var` line", _unknown),
    (r"`((?:data )?[\w'.]+(?:\[.*?\])? : )?([^`]+)`", _domain),
    (r"declare it as (?:a label: )?(?=`\w+=)", "declare it with "),
    (r"declare (\w+) : real >= 0", r"declare \1 with `lower=0`"),
    (r"`(let|loss|predict) ([\w']+)\((\w+)\) = ([^`]+)`", _definition),
    (r"`minimize ([^`]+)`", r"`p.minimize(\1)`"),
    (r"minimize (A \+ C \* B)", r"`p.minimize(\1)`"),
    (r"write minimize:", "write `p.minimize`:"),
    (r"`kernel (\w+) = ([^`]+)`", r'`\1 = p.kernel("\1", \2)`'),
    (r"\bkernel (\w+) = (\w+)$", r'p.kernel("\1", \2())'),
    (r"`index (\w+) in (\d+)\.\.(\w+)`", r'`\1 = p.index("\1", \2, "\3")`'),
    (r"`index (\w+) in (\w+)`, and `: \w+`", r'`\1 = p.index("\1", "\2")`, and `labels="\2"`'),
    (r"label it (\w+)\[([^\]]+)\]", _labelled),
    (r"add a line such as", "add one, such as"),
    (r"add a line (?=`)", "add "),
    (r"in a `var`, `param` or `data` line", "with `p.real`, `p.param` or `p.data`"),
    (r"in (?:a|the) `(param|data)` line", r"with `p.\1`"),
    (r"in the `var` line", "with `p.hilbert`"),
    (r"of the `var` line", "of `p.real` and `p.hilbert`"),
    (r"write a `where` before the colon", "give `where=`"),
    (r"`where`", "`where=`"),
    (r"`=`", "`==`"),
    (r"(<=, >= or|use) =(?=[ ;])", r"\1 =="),
    (r"--psd", "`psd=`"),
    (r"write a number, `scale`, `median`", 'write a number, "scale", "median"'),
    (r"outside the angle brackets", "outside inner(...)"),
    (r"\b([a-z]\w*) = (?=\d[^`]*\))", r"\1="),
    (rf"<(?=\w)({_SIDE}), ([^<>]+)>", r"inner(\1, \2)"),
    (r"1/2 \|\|(.+?)\|\|\^2", r"norm(\1)**2 / 2"),
    (r"\|\|(.+?)\|\|", r"norm(\1)"),
    (rf"\bsum\[([^\]]+)\] ({_BODY})", r"sum_over(\1)(\2)"),
    (r"\bargmax\[([^\]]+)\]", r"argmax(\1)"),
    (r"\bmax\(", "maximum("),
    (r"(?<=\))\^2 = ", "**2 == "),
    (r"\^(\d)", r"**\1"),
    (r"(\w+\([^`]*?); (?=[^`()]*\))", r"\1, "),
)
_PATTERNS = tuple((re.compile(pattern), words) for pattern, words in _WORDS)


def in_python(remedy: str) -> str:
    """What a remedy says, with statements and formulas as the builder has them."""
    for pattern, words in _PATTERNS:
        remedy = pattern.sub(words, remedy)
    return remedy
