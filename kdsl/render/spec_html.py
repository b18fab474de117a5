"""The text of a specification as HTML, its words marked by what they are: statement, name, number, title, comment."""

from __future__ import annotations

from kdsl.language.lexer import KEYWORDS, RESERVED, Token, scan
from kdsl.language.terminals import DOMAIN_WORDS
from kdsl.render.mathml import escaped

_KINDS = {"COMMENT": "comment", "STRING": "title", "NUMBER": "number"}
SPEC_STYLE = """
pre.spec { overflow-x: auto; padding: 0.9em 1.1em; border-left: 3px solid var(--rule, #999);
  font: 0.86em/1.55 ui-monospace, Menlo, Consolas, monospace; tab-size: 4; }
pre.spec code { font-size: 1em; }
.spec .word { font-weight: bold; color: var(--word, inherit); }
.spec .number { color: var(--number, inherit); }
.spec .title { font-weight: normal; color: var(--string, inherit); }
.spec .comment { font-style: italic; color: var(--quiet, inherit); }
"""


def highlighted(text: str) -> str:
    """A <pre> that holds the text, letter by letter, with a <span> around every word that is not a plain name."""
    parts: list[str] = []
    end = 0
    previous: Token | None = None
    for token in scan(text)[0]:
        kind = _kind(token, previous)
        parts.append(escaped(text[end : token.start]))
        piece = escaped(text[token.start : token.end])
        parts.append(f'<span class="{kind}">{piece}</span>' if kind else piece)
        end, previous = token.end, token
    return f'<pre class="spec"><code>{"".join(parts)}{escaped(text[end:])}</code></pre>'


def _kind(token: Token, previous: Token | None) -> str:
    """The class of a token, "" where it is like the text around it."""
    if token.type in _KINDS:
        return _KINDS[token.type]
    starts = previous is None or previous.type == "NEWLINE"
    if starts and token.text in KEYWORDS:
        return "word"
    follows = previous is not None and previous.text == "subject" and token.text == "to"
    return "word" if follows or token.text in RESERVED or token.text in DOMAIN_WORDS else ""
