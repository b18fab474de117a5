"""Account -> the page: its parts in their order, the contents, and the style that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.binding.faults import count
from kdsl.models.report import examples, features_words
from kdsl.render.document import document
from kdsl.render.html import STYLE, page_html, section_html
from kdsl.render.spec_html import SPEC_STYLE, highlighted
from kdsl.report.certificate_part import certificate_section, verdict
from kdsl.report.data_part import data_section
from kdsl.report.drawings import drawn
from kdsl.report.parts import Html, code, paragraph, safe, section, together
from kdsl.report.solution_part import (
    bounds_section,
    route_section,
    settings_section,
    solution_section,
    warnings_section,
)
from kdsl.report.style import REPORT_STYLE

if TYPE_CHECKING:
    from kdsl.report.account import Account

# Nothing is fetched and no script runs, whatever the names in spec and data are made to look like.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
HEAD = (
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"/>',
    '<link rel="icon" href="data:,"/>',
    '<meta name="color-scheme" content="light dark"/>',
)
GRADES = {"optimal": "good", "optimal_inaccurate": "fair", "user_limit": "fair"}


def report_page(account: Account) -> str:
    """The whole page."""
    model = account.derivation.model
    printed = document(account.derivation)
    title = safe(printed.title)
    parts = _parts(account)
    body = [
        "<header>",
        f"<h1>{title}</h1>",
        paragraph(*_about(account)).replace("<p>", '<p class="about">', 1),
        f'<div class="verdict {_grade(account)}">{paragraph(verdict(account))}</div>',
        "</header>",
        _contents([*((key, name) for key, name, _ in parts), ("derivation", "The derivation")]),
        "<main>",
        *(part for _, _, part in parts),
        '<section id="derivation" aria-labelledby="derivation-title">',
        '<h2 id="derivation-title">The derivation</h2>',
        *(line for one in printed.sections for line in section_html(one, level=3)),
        "</section>",
        "</main>",
        _footer(),
    ]
    return page_html(f"{title} ({safe(model.name)})", STYLE + SPEC_STYLE + REPORT_STYLE, body, HEAD)


def _parts(account: Account) -> list[tuple[str, str, str]]:
    """(key, name in the contents, HTML) of every part but the derivation."""
    found: list[tuple[str, str, str]] = []
    if account.certificate is None:
        found.append(("certificate", "Why there is no solution", certificate_section(account)))
    if account.warnings:
        found.append(("warnings", "Warnings", warnings_section(account.warnings)))
    spec = Html(highlighted(account.derivation.model.source))
    found.append(("spec", "The problem", section("spec", "The problem as written", spec)))
    found.append(("data", "The data", data_section(account)))
    if account.certificate is None:
        settings = settings_section(account)
        return [*found, ("route", "The settings", settings)] if settings else found
    found.append(("route", "The route", route_section(account)))
    found.append(("certificate", "The certificate", certificate_section(account)))
    found.append(("solution", "The solution", solution_section(account)))
    pictures = drawn(account)
    if pictures:
        found.append(("pictures", "Pictures", section("pictures", "Pictures", pictures)))
    if account.bounds is not None:
        found.append(("bounds", "Bounds", bounds_section(account.bounds)))
    return found


def _about(account: Account) -> list[str]:
    model, bound = account.derivation.model, account.bound
    if not model.data:
        return [code(model.name), " without data"]
    return [code(model.name), f" on {count(examples(model, bound), 'example')} of {features_words(bound)}"]


def _grade(account: Account) -> str:
    """The colour of the verdict, which its words say too."""
    holds = account.verified is None or account.verified.holds
    return GRADES.get(account.status, "bad") if holds else "bad"


def _contents(parts: list[tuple[str, str]]) -> str:
    links = "".join(f'<li><a href="#{key}">{safe(name)}</a></li>' for key, name in parts)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _footer() -> str:
    from importlib.metadata import version

    versions = ", ".join(f"{name} {version(name)}" for name in ("kdsl", "numpy", "scipy"))
    return together(Html("<footer>"), f"Written by {versions}.", Html("</footer>"))
