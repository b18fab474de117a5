"""The pieces that a report is made of: text made safe, figures, tables, lists and sections of HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kdsl.render.mathml import escaped


class Html(str):
    """Text that is HTML already; any other text is escaped where it meets HTML."""

    __slots__ = ()


def safe(text: str) -> Html:
    """Text as HTML; what no page shows, or what would turn the text around it, becomes a visible mark."""
    if isinstance(text, Html):
        return text
    shown = text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return Html(escaped(shown))


def together(*parts: str) -> Html:
    return Html("".join(safe(part) for part in parts))


def joined(parts: Iterable[str], separator: str = ", ") -> Html:
    return Html(safe(separator).join(safe(part) for part in parts))


def code(text: str) -> Html:
    """A name or a word of the spec, the data or the command line."""
    return together(Html("<code>"), text, Html("</code>"))


def prose(text: str) -> Html:
    """A message, with what it quotes in backquotes set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return safe(text)
    return Html("".join(code(part) if n % 2 else safe(part) for n, part in enumerate(parts)))


def figure(value: float, digits: int = 9) -> Html:
    """A number: a minus sign, powers of ten set as such, zero without a sign."""
    if math.isnan(value):
        return Html("undefined")
    if math.isinf(value):
        return Html("∞" if value > 0 else "−∞")
    mantissa, mark, power = f"{value + 0.0:.{digits}g}".partition("e")
    shown = mantissa.replace("-", "−")
    if not mark:
        return Html(shown)
    times = {"1": "", "−1": "−"}.get(shown, f"{shown}&#160;×&#160;")
    return Html(f"{times}10<sup>{str(int(power)).replace('-', '−')}</sup>")


def small(value: float) -> Html:
    """A residual or a gap, of which two digits say enough."""
    return figure(value, 2)


def paragraph(*parts: str) -> Html:
    return together(Html("<p>"), *parts, Html("</p>"))


def tabulated(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[int] = frozenset()
) -> Html:
    """A table with a caption; the first cell of every row heads it, the columns of `numbers` are set to the right.

    A last column in which nothing stands is left out.
    """
    rows = [tuple(row) for row in rows]
    if rows and not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]

    def kind(column: int) -> str:
        return ' class="number"' if column in numbers else ""

    head = "".join(f'<th scope="col"{kind(n)}>{safe(cell)}</th>' for n, cell in enumerate(header))
    lines = ['<div class="wide"><table>', f"<caption>{safe(caption)}</caption>", f"<thead><tr>{head}</tr></thead>"]
    lines.append("<tbody>")
    for first, *others in rows:
        cells = "".join(f"<td{kind(n)}>{safe(cell)}</td>" for n, cell in enumerate(others, 1))
        lines.append(f'<tr><th scope="row"{kind(0)}>{safe(first)}</th>{cells}</tr>')
    return Html("\n".join([*lines, "</tbody></table></div>"]))


def described(pairs: Iterable[tuple[str, str]]) -> Html:
    """Names with what is to be said of each."""
    lines = [f"<div><dt>{safe(name)}</dt><dd>{safe(value)}</dd></div>" for name, value in pairs]
    return Html("\n".join(['<dl class="facts">', *lines, "</dl>"]))


def listed(items: Iterable[str]) -> Html:
    return Html("\n".join(["<ul>", *(f"<li>{safe(item)}</li>" for item in items), "</ul>"]))


def section(key: str, title: str, *blocks: str) -> Html:
    """A part of the page; the contents lead to its key."""
    opening = f'<section id="{key}" aria-labelledby="{key}-title">\n<h2 id="{key}-title">{safe(title)}</h2>'
    return Html("\n".join([opening, *(safe(block) for block in blocks), "</section>"]))
