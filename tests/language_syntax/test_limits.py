"""Limits, odd bytes and endless repetition end in a diagnostic, and soon."""

from __future__ import annotations

import time

import pytest

from kdsl.language import limits
from kdsl.language.diagnostics import KdslError
from kdsl.language.formatter import format_source
from kdsl.language.parser import parse_expression, parse_spec_text
from kdsl.language.source import decode_source

SECONDS = 20.0  # on a busy machine; what is not limited takes minutes


def codes_of(text: str) -> set[str]:
    """The codes that reading `text` ends with, within the time allowed."""
    begun = time.process_time()
    found: set[str] = set()
    try:
        format_source(text)
    except KdslError as error:
        found = {diagnostic.code for diagnostic in error.diagnostics}
        assert len(error.diagnostics) <= limits.ERRORS
    assert time.process_time() - begun < SECONDS
    return found


@pytest.mark.parametrize("opener", ["(", "a[", "f(", "<", "||", "-", "sum[i] ", "2*(1+", "(\n", "<a, "])
def test_nesting(opener: str) -> None:
    assert "K106" in codes_of("let a = " + opener * 30_000)


@pytest.mark.parametrize(
    ("inside", "outside"),
    [("(" * 200 + "a" + ")" * 200, "(" * 201 + "a" + ")" * 201), ("-" * 200 + "a", "-" * 201 + "a")],
)
def test_two_hundred_levels_are_read(inside: str, outside: str) -> None:
    assert codes_of(f"let a = {inside}") == set()
    assert codes_of(f"let a = {outside}") == {"K106"}


def test_the_tree_is_not_higher_than_the_limit() -> None:
    assert codes_of("let a = " + "2*(1+" * 149 + "a" + ")" * 149) == set()
    assert codes_of("let a = " + "2*(1+" * 151 + "a" + ")" * 151) == {"K106"}


def test_terms() -> None:
    assert codes_of("let a = b" + "+b" * (limits.TERMS - 1)) == set()
    assert codes_of("let a = b" + "+b" * limits.TERMS) == {"K107"}
    assert codes_of("let a = b" + "*b" * limits.TERMS) == {"K107"}
    assert codes_of("let a = f(b" + ",b" * limits.TERMS + ")") == {"K107"}
    assert codes_of("kernel k = b" + "+b" * limits.TERMS) == {"K107"}


def test_expressions_have_the_same_limits() -> None:
    with pytest.raises(KdslError, match="K107"):
        parse_expression("b" + "+b" * limits.TERMS)
    with pytest.raises(KdslError, match="K106"):
        parse_expression("(" * 300 + "b" + ")" * 300)


def test_the_rest_of_the_file_is_read_after_a_long_line() -> None:
    assert codes_of("let a = b" + "+b" * limits.TERMS + "\nlet b c\n") == {"K107", "K103"}


def test_statements() -> None:
    assert codes_of("let a = b\n" * limits.STATEMENTS) == set()
    assert codes_of("let a = b\n" * (limits.STATEMENTS + 1)) == {"K126"}
    assert codes_of("var a : real" + ", b : real" * (limits.STATEMENTS - 1)) == set()
    assert codes_of("var a : real" + ", b : real" * limits.STATEMENTS) == {"K126"}


def test_size() -> None:
    assert codes_of("#" * limits.SOURCE_BYTES) == set()
    assert codes_of("#" * (limits.SOURCE_BYTES + 1)) == {"K105"}
    assert codes_of("#" + "ξ" * (limits.SOURCE_BYTES // 2)) == {"K105"}
    with pytest.raises(KdslError, match="K105"):
        decode_source(b"#" * (limits.SOURCE_BYTES + 1))


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        ("let a = ", "x+"),
        ("let a = f(", "x,"),
        ("", "let a=b\n"),
        ("", "let a b\n"),
        ("", "a\n"),
        ("", "kernal k\n"),
        ("", "\0"),
        ("index i in 1..l", ", (a"),
        ("kernel k = a", ", b = c"),
        ("data y : {1", ",1"),
    ],
)
def test_endless_repetition(beginning: str, piece: str) -> None:
    assert codes_of(beginning + piece * ((limits.SOURCE_BYTES - 100) // len(piece)))


@pytest.mark.parametrize(
    "digits", ["9" * 5000, "1/" + "9" * 5000, "1e99999999999999999999", "1e-999999", "1/0", "1/000"]
)
def test_absurd_numbers(digits: str) -> None:
    with pytest.raises(KdslError, match="K108"):
        parse_expression(digits)


@pytest.mark.parametrize("power", ["^1001", "^" + "9" * 5000, "⁹" * 5000])
def test_absurd_powers(power: str) -> None:
    with pytest.raises(KdslError, match="K108"):
        parse_expression("a" + power)
    assert parse_expression("a^0001000") == parse_expression("a^1000")


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\u202e", "\u200b", "\ufeff", "\u2028", "\ud800", "\x85"])
def test_unseen_characters_are_shown_wherever_they_stand(character: str) -> None:
    for text in (
        f"minimize a {character} b",
        f"# a{character}b\n",
        f'model m "a{character}b"\n',
        f"minimize a{character}",
    ):
        with pytest.raises(KdslError) as caught:
            parse_spec_text(text)
        (found,) = caught.value.diagnostics
        assert found.code == "K101"
        assert f"U+{ord(character):04X}" in found.message
        assert text[slice(*found.labels[0].span)] == character


def test_bytes_are_decoded() -> None:
    assert decode_source("ξ\r\n".encode()) == "ξ\r\n"
    assert decode_source("ξ".encode("utf-8-sig")) == "ξ"


@pytest.mark.parametrize(
    "data", [b"let a = \xff", b"\xce", "ξ".encode("utf-16"), "ä".encode("latin-1"), b"\xed\xa0\x80"]
)
def test_other_encodings_are_refused(data: bytes) -> None:
    with pytest.raises(KdslError, match="K102") as caught:
        decode_source(data)
    assert "UTF-8" in caught.value.diagnostics[0].help


def test_utf_16_is_recognised() -> None:
    with pytest.raises(KdslError) as caught:
        decode_source("let a".encode("utf-16"))
    assert "UTF-16" in caught.value.diagnostics[0].help
