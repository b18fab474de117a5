"""docs/language.md has every production, symbol, kernel, loss and function; KDSL_UPDATE_GOLDEN=1 renews its tables."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path

import pytest
from doc_blocks import blocks

from kdsl.algebra.builtin_losses import BUILTIN_LOSSES, LossParameter
from kdsl.language.kernel_catalog import KERNEL_FAMILIES, PARAMETER_WORDS, KernelParameter
from kdsl.language.lexer import KEYWORDS, RESERVED
from kdsl.language.ranges import in_words
from kdsl.language.scopes import FUNCTIONS
from kdsl.language.statements import PREDICT_KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "language.md"
SPELLINGS = re.compile(r'"([^"]+)"')


def productions() -> dict[str, str]:
    """Every rule and terminal of the grammar without comments and names of actions, as the page quotes it."""
    text = (ROOT / "grammars" / "kspec.lark").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("//") and line.strip()]
    found: dict[str, str] = {}
    for line in kept:
        quoted = re.sub(r"\s*->\s*\w+\s*$", "", line)
        if rule := re.match(r"%?(\w+)\s*:(?!\s*:)|%declare (.*)", quoted):
            name = rule[1] or "%declare"
            found[name] = quoted
        else:
            name = next(reversed(found))
            found[name] += "\n" + quoted
    return found


def quoted(block: str) -> str:
    """The block with every production that it names as the grammar has it now."""
    known = productions()
    names = dict.fromkeys(re.findall(r"^(%?\w+)", block, flags=re.MULTILINE))
    if "MODEL" in names:  # the block of terminals has all of them
        names = {name: None for name in known if name.isupper() or name.startswith("%")}
    return "".join(f"{known[name]}\n" for name in names)


def table(head: str, rows: list[tuple[str, ...]]) -> tuple[str, str]:
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |\n" for row in rows]
    return head, "".join(lines)


def symbols() -> list[tuple[str, ...]]:
    """ASCII and Unicode spellings of each terminal that has both."""
    rows = []
    for definition in productions().values():
        spelt = SPELLINGS.findall(definition)
        ascii_, others = [s for s in spelt if s.isascii()], [s for s in spelt if not s.isascii()]
        if ascii_ and others and definition.split(":")[0].isupper():
            rows.append((", ".join(f"`{s}`" for s in ascii_), ", ".join(f"`{s}`" for s in others)))
    rows += [("`^2`", "`²`"), ("`alpha`, ..., `omega`", "`α`, ..., `ω`"), ("`l`", "`ℓ`"), ("`inf`", "`∞`")]
    return list(dict.fromkeys(rows))


def kernel_parameter(parameter: KernelParameter) -> str:
    if parameter.kind == "kernel":
        return f"`{parameter.name}`, a declared kernel"
    kind = " whole" if parameter.kind == "integer" else ""
    words = f" or {', '.join(f'`{word}`' for word in parameter.words)}" if parameter.words else ""
    return f"`{range_of(parameter)}`{kind}{words}{default(parameter.default)}"


def loss_parameter(parameter: LossParameter) -> str:
    return f"`{range_of(parameter)}`{default(parameter.default)}"


def range_of(parameter: KernelParameter | LossParameter) -> str:
    words = in_words(parameter.name, parameter.interval)
    return parameter.name if words == "a number" else words


def default(value: Fraction | str | None) -> str:
    return "" if value is None else f" ({shown(value)})"


def shown(value: Fraction | str) -> str:
    return value if isinstance(value, str) else f"{float(value):g}"


def generated() -> list[tuple[str, str]]:
    """Each table that follows from the code: its head, its rows."""
    families = [
        (f"`{f.name}`", f"`{f.formula.replace('`', '')}`", "; ".join(map(kernel_parameter, f.parameters)) or "none")
        for f in KERNEL_FAMILIES
    ]
    losses = [
        (
            f"`{z.name}`",
            f"`{z.definition}`",
            "; ".join(map(loss_parameter, z.parameters)) or "none",
            f"a {z.kind}",
            z.reference,
        )
        for z in BUILTIN_LOSSES
    ]
    return [
        table("| ASCII | Unicode |\n|---|---|\n", symbols()),
        table("| kernel | formula | parameters |\n|---|---|---|\n", families),
        table("| word | what it is |\n|---|---|\n", [(f"`{w}`", f"`{f}`") for w, f in PARAMETER_WORDS.items()]),
        table("| loss | definition | parameters | of | source |\n|---|---|---|---|---|\n", losses),
    ]


def ought(page: str) -> str:
    page = re.sub(r"(?<=^```lark\n)(.*?)(?=^```$)", lambda m: quoted(m[1]), page, flags=re.MULTILINE | re.DOTALL)
    for head, rows in generated():
        assert page.count(head) == 1, head
        page = re.sub(re.escape(head) + r"(\|.*\n)*", lambda _, new=head + rows: new, page)
    return page


@pytest.fixture(scope="module")
def page() -> str:
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("KDSL_UPDATE_GOLDEN"):
        text = ought(text)
        PAGE.write_text(text, encoding="utf-8")
    return text


def test_tables_and_productions_are_those_of_the_code(page: str) -> None:
    assert ought(page) == page, "KDSL_UPDATE_GOLDEN=1 renews it"


def test_every_production_is_quoted(page: str) -> None:
    shown_here = "".join(block.text for block in blocks(page) if block.language == "lark")
    named = set(re.findall(r"^(%?\w+)", shown_here, flags=re.MULTILINE))
    assert sorted(set(productions()) - named) == []


def test_every_word_has_its_place(page: str) -> None:
    words = set(re.findall(r"[A-Za-z]+", " ".join(re.findall(r"`[^`\n]+`", page))))
    headings = " ".join(re.findall(r"^## .*$", page, flags=re.MULTILINE))
    assert sorted(word for word in KEYWORDS if f"`{word}" not in headings) == []
    assert sorted(({*RESERVED, *FUNCTIONS, *PREDICT_KINDS}) - words) == []


def test_the_page_gains_what_the_grammar_gains(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = productions()
    more = {**known, "set": known["set"] + "\n   | NEW", "another": "another: NEW"}
    monkeypatch.setitem(globals(), "productions", lambda: more)
    assert ought(page).count("\n   | NEW") == page.count("\n   | NEW") + 1
    with pytest.raises(AssertionError):
        test_every_production_is_quoted(page)
