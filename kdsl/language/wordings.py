"""Recognises statement words in other people's spelling: `min`, `minimise`, `s.t.`, `such that`, `variables`."""

from __future__ import annotations

from kdsl.language.lexer import KEYWORDS, Token
from kdsl.language.suggestions import nearest

_SPELLINGS: dict[str, str] = {
    "min": "minimize",
    "minimise": "minimize",
    "minimum": "minimize",
    "max": "maximize",
    "maximise": "maximize",
    "maximum": "maximize",
    "objective": "minimize",
    "st": "subject",
    "such": "subject",
    "subject": "subject",
    "subjectto": "subject",
    "constraints": "subject",
    "constraint": "subject",
    "title": "model",
    "indices": "index",
    "indexes": "index",
    "dataset": "data",
    "parameter": "param",
    "parameters": "param",
    "params": "param",
    "variable": "var",
    "variables": "var",
    "vars": "var",
    "kernels": "kernel",
    "define": "let",
    "def": "let",
    "prediction": "predict",
    "output": "predict",
}
RANGE_WORDS = ("for", "forall", "foreach")  # `for all i: ...`, a constraint whose range stands before it
_BEGINNINGS = frozenset({"NAME", "NUMBER", "STRING", "NORM_OPEN", "SUM", "LPAR", "LBRACE", "NEWLINE", "MINUS", "LATEX"})
_RELATIONS = frozenset({"LESS_EQUAL", "GREATER_EQUAL", "EQUAL"})


def statement_slip(raw: list[Token], position: int) -> tuple[str, int]:
    """The statement word meant at the start of a line and how many tokens it takes; ("", 0) if none is."""
    text = raw[position].text
    following = raw[position + 1] if position + 1 < len(raw) else Token("NEWLINE", "", 0, 0)
    if following.type not in _BEGINNINGS or text.lower() in RANGE_WORDS:
        return "", 0
    if following.type in ("LPAR", "MINUS") and _has_relation(raw, position):
        return "", 0
    stem = text.lower().partition("_")[0]
    word = stem if stem in KEYWORDS else _SPELLINGS.get(stem, "")
    if text.lower() == "subject_to":
        word = "subject"
    if not word and following.type in ("NAME", "NUMBER", "STRING", "NORM_OPEN"):
        word = nearest(text, KEYWORDS) if len(text) > 2 else ""
    if not word:
        return "", 0
    return word, 2 if word == "subject" and following.text in ("to", "that") else 1


def _has_relation(raw: list[Token], position: int) -> bool:
    for token in raw[position:]:
        if token.type == "NEWLINE":
            return False
        if token.type in _RELATIONS:
            return True
    return False
