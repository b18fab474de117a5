"""The installed tables are those of the grammar, the grammar has no conflicts, and the lexer knows its terminals."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kdsl.language import _tables
from kdsl.language.actions import ACTIONS, GROWING
from kdsl.language.lexer import KEYWORDS, RESERVED, SYMBOLS, scan
from kdsl.language.terminals import DOMAIN_WORDS

# Terminals that the layout makes of the lexer's: the grammar's spelling is the lexer's of another terminal.
CONTEXTUAL = {"CROSS", "NORM_CLOSE", "INNER_OPEN", "INNER_CLOSE"}


@pytest.fixture(scope="module")
def maker(root: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location("make_tables", root / "grammars" / "make_tables.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def grammar(root: Path) -> str:
    return (root / "grammars" / "kspec.lark").read_text(encoding="utf-8")


def spellings(grammar: str) -> dict[str, list[str]]:
    """The literal spellings of each terminal of the grammar."""
    found: dict[str, list[str]] = {}
    for name, body in re.findall(r'^([A-Z_]+): ((?:"[^"]+"(?: \| )?)+)$', grammar, re.MULTILINE):
        found[name] = re.findall(r'"([^"]+)"', body)
    return found


def test_installed_tables_are_those_of_the_grammar(maker: ModuleType, grammar: str) -> None:
    made: dict[str, object] = {}
    exec(maker.make_tables(grammar), made)
    for name in ("GRAMMAR_SHA256", "STARTS", "ENDS", "RULES", "ACTIONS", "GOTOS"):
        assert getattr(_tables, name) == made[name], f"{name}: rebuild the package, the grammar has changed"


def test_a_conflict_is_an_error(maker: ModuleType, grammar: str) -> None:
    ambiguous = grammar.replace("expr: terms ", "expr: expr PLUS expr -> add\n    | terms ", 1)
    assert ambiguous != grammar
    with pytest.raises(Exception, match=r"[Cc]onflict"):
        maker.make_tables(ambiguous)


def test_every_alternative_has_an_action_and_every_action_an_alternative() -> None:
    named = {action for _, _, action in _tables.RULES}
    assert named == set(ACTIONS)
    assert named > GROWING


def test_the_lexer_knows_the_spellings_of_the_grammar(grammar: str) -> None:
    known = spellings(grammar)
    assert len(known) > 40
    for terminal, texts in known.items():
        for text in texts:
            if terminal in KEYWORDS.values():
                assert KEYWORDS[text] == terminal
            elif text in RESERVED:
                assert RESERVED[text] == terminal
            elif terminal in ("REAL", "INPUT"):
                assert scan(text)[0][0].text in DOMAIN_WORDS
            elif text in SYMBOLS:
                assert SYMBOLS[text] == terminal or terminal in CONTEXTUAL
            else:
                assert (terminal, text) in {("CROSS", "x"), ("HILBERT", "H")}


def test_the_grammar_knows_the_spellings_of_the_lexer(grammar: str) -> None:
    known = spellings(grammar)
    for text, terminal in [*SYMBOLS.items(), *RESERVED.items()]:
        assert terminal == "NUMBER" or text in known[terminal]
    for word, terminal in KEYWORDS.items():
        assert terminal == "SUBJECT_TO" or word in known[terminal]


@pytest.mark.parametrize(
    ("terminal", "samples"),
    [
        ("NAME", ["x", "xi'", "svm_1norm", "ξ", "λ'"]),
        ("NUMBER", ["1", "0.5", "1/2", "1e-3", "2.5E+10", "inf", "∞"]),
        ("STRING", ['"a title"', '""']),
        ("POWER", ["^2", "^ 10", "²", "¹⁰"]),
    ],
)
def test_the_lexer_cuts_what_the_grammar_describes(grammar: str, terminal: str, samples: list[str]) -> None:
    found = re.search(rf"^{terminal}: /(.*)/$", grammar, re.MULTILINE)
    assert found is not None
    pattern = re.compile(found[1].replace(r"\/", "/"))
    for sample in samples:
        tokens, faults = scan(sample)
        assert pattern.fullmatch(sample)
        assert [token.type for token in tokens] == [terminal]
        assert not faults


def test_the_parser_needs_no_parser_generator() -> None:
    code = (
        "import sys; import kdsl.language.parser, kdsl.language.formatter; "
        "print(sorted({'lark', 'numpy', 'dataclasses', 'inspect', 'ast', 'unicodedata'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[]"
