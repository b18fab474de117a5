"""The pictures of a report: those that fit the problem, each as SVG inside the page, or as PNG where that is large."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from kdsl.algebra.plq import Plq
from kdsl.algebra.primal import Logistic
from kdsl.language.diagnostics import KdslError
from kdsl.plot import conjugates, convergence, level_sets, multipliers, regression, sheets, surfaces
from kdsl.plot.fits import Fit, fit_of, slice_points
from kdsl.report.parts import Html, code, paragraph, prose, safe, together

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kdsl.report.account import Account

SVG_BYTES = 1_500_000  # beyond this a picture is a PNG: a page must open quickly
RESOLUTION = 200  # dots an inch of a PNG
FEATURES = 200  # features among which the most telling are looked for
FEW = 10  # values of a feature whose points would lie on one another
GROUPS = 4  # labels beside the point that are drawn one by one
KINDS = {"value": "tube", "novelty": "novelty"}
ABSCISSAE = {"sign": "margin", "value": "residual", "novelty": "novelty"}
QUIET = ("K661", "K662", "K663", "K664", "K665", "K666")  # a picture does not fit the problem


class Picture(NamedTuple):
    """`figure` draws it; `told` is the caption, which says in words what is to be seen."""

    name: str
    told: str
    figure: Callable[[], Figure]


def drawn(account: Account) -> Html:
    """Every picture that fits, then those that could not be drawn with the reason."""
    shown: list[str] = []
    missing: list[tuple[str, str]] = []
    for picture in pictures_for(account):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box stands for it
                image = inline(picture.figure(), f"{picture.name}-", picture.told)
        except KdslError as error:
            diagnostic = error.diagnostics[0]
            missing.append((picture.name, diagnostic.message + (f" ({diagnostic.help})" if diagnostic.help else "")))
            if diagnostic.code not in QUIET:
                break
            continue
        except Exception as error:  # a picture is not worth the page
            missing.append((picture.name, f"{type(error).__name__}: {error}"))
            continue
        caption = together(Html("<figcaption>"), picture.told, Html("</figcaption>"))
        shown.append(together(Html(f'<figure id="picture-{picture.name}">'), image, caption, Html("</figure>")))
    blocks: list[str] = [Html(f'<div class="pictures">{"".join(shown)}</div>')] if shown else []
    blocks += [paragraph("Not drawn, ", code(name), ": ", prose(why), ".") for name, why in missing]
    return Html("\n".join(blocks))


def pictures_for(account: Account) -> list[Picture]:
    """The pictures that are about a problem like this one."""
    found: list[Picture] = []
    solved = account.solved
    if solved is not None and account.bound.points and solved.fitted.model.predictions:
        found += _found("prediction", lambda: _of_prediction(fit_of(solved)))
    losses = [t for t in account.derivation.primal.losses if isinstance(t.function, (Plq, Logistic))]
    for n, term in enumerate(losses):
        told = f"The loss {term.text} and its conjugate, on which the bounds of its multipliers are seen."
        draw = partial(conjugates.loss, account.derivation, account.parameters, term.label)
        found.append(Picture(_numbered("loss", n), told, draw))
    record = account.record
    if record is not None and len(record.moments) > 1:
        told = "What the solver reported while it ran, and what was certified at the end."
        found.append(Picture("gap", told, lambda: convergence.gap(record.moments)))
    return found


def _of_prediction(fit: Fit) -> list[Picture]:
    """What is predicted, and the multipliers beside it."""
    surfaces_found = _found(KINDS.get(fit.kind, "decision"), lambda: _surfaces(fit))
    if fit.kind == "class":
        return surfaces_found
    told = f"Each example by its {ABSCISSAE[fit.kind]} and its multiplier. The band is what KKT allows."
    return [*surfaces_found, Picture("margins", told, lambda: multipliers.margins(fit))]


def _found(name: str, search: Callable[[], list[Picture]]) -> list[Picture]:
    """What a search finds; where it fails, a picture of that name that cannot be drawn for the same reason."""
    try:
        return search()
    except Exception as error:

        def fail(reason: Exception = error) -> NoReturn:
            raise reason

        return [Picture(name, "", fail)]


def _surfaces(fit: Fit) -> list[Picture]:
    """The decision, the novelty or the curve, over the features along which it changes most; one for each group."""
    if fit.fitted.feature_map.precomputed or (fit.kind != "value" and len(fit.features) < 2):
        return []
    found: list[Picture] = []
    for n, at in enumerate(_groups(fit)):
        shown = telling(fit, at, 1 if fit.kind == "value" else 2)
        group = "".join(f" where {formal} is {label}" for formal, label in at.items())
        over = f"over {' and '.join(shown)}{_held(fit, len(shown))}{group}, and the examples."
        if fit.kind == "value":
            told, draw = f"What is predicted {over}", partial(regression.tube, fit, shown[0], at)
        elif fit.kind == "novelty":
            told = f"Level sets of the novelty {over} The line is where it is 0, what is shaded is normal."
            draw = partial(level_sets.novelty, fit, (shown[0], shown[1]), at)
        else:
            told = f"The decision {over} Support vectors are filled."
            draw = partial(surfaces.decision, fit, (shown[0], shown[1]), at)
        found.append(Picture(_numbered(KINDS.get(fit.kind, "decision"), n), told, draw))
    return found


def _groups(fit: Fit) -> list[dict[str, str]]:
    """The labels beside the point for which the prediction is drawn: the first few, where there is one such label."""
    formals = fit.clause.formals[1:]
    if len(formals) == 1:
        return [{formals[0]: label} for label in fit.names(formals[0])[:GROUPS]]
    return [{formal: fit.names(formal)[0] for formal in formals}]


def _numbered(name: str, place: int) -> str:
    return name if place == 0 else f"{name}-{place + 1}"


def _held(fit: Fit, shown: int) -> str:
    left = len(fit.features) - shown
    others = "the other feature at its median" if left == 1 else f"the other {left} features at their medians"
    return f" ({others})" if left else ""


def telling(fit: Fit, at: dict[str, str], wanted: int) -> tuple[str, ...]:
    """The features along which the decision changes most between their outer deciles, the others at their medians.

    They are in the order of the data. Features of few values are taken only where there are no others; among more
    than `FEATURES` the first are.
    """
    names = fit.features
    if len(names) <= wanted or len(names) > FEATURES:
        return names[:wanted]
    from dataclasses import replace

    raw = fit.raw_points()
    middle = np.median(raw, axis=0)
    ends = []
    for decile in (0.1, 0.9):
        points = np.tile(middle, (len(names), 1))
        np.fill_diagonal(points, np.quantile(raw, decile, axis=0))
        ends.append(replace(fit, at=at).decision(slice_points(fit, tuple(range(len(names))), points)))
    change = np.abs(ends[1] - ends[0]).reshape(len(names), -1).max(axis=1)
    lively = np.array([len(np.unique(column)) > FEW for column in raw.T])
    best = sorted(np.lexsort((-change, ~lively))[:wanted].tolist())
    return tuple(names[k] for k in best)


# ------------------------------------------------------------------- as HTML


def inline(figure: Figure, prefix: str, told: str) -> Html:
    """A figure as an element of the page, with its names made unique by the prefix."""
    content = io.BytesIO()
    with sheets.printed():
        figure.savefig(content, format="svg", metadata={"Date": None})
    if len(content.getvalue()) <= SVG_BYTES:
        return svg_element(content.getvalue().decode("utf-8"), prefix, told)
    from base64 import b64encode

    content = io.BytesIO()
    with sheets.printed():
        figure.savefig(content, format="png", dpi=RESOLUTION, metadata={"Software": None})
    encoded = b64encode(content.getvalue()).decode("ascii")
    return Html(f'<img src="data:image/png;base64,{encoded}" alt="{safe(told)}"/>')


def svg_element(text: str, prefix: str, told: str) -> Html:
    """The <svg> of a file, without what would leak into the page: prologue, metadata, style, and names nobody uses."""
    body = text[text.index("<svg") :].rstrip()
    body = re.sub(r"<metadata>.*?</metadata>\s*", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"<style[^>]*>.*?</style>\s*", "", body, count=1, flags=re.DOTALL)
    opening, _, rest = body.partition(">")
    size = re.search(r'viewBox="[^"]*"', opening)
    assert size is not None, "matplotlib gives every figure a view box"
    used = {*re.findall(r'xlink:href="#([^"]*)"', rest), *re.findall(r"url\(#([^)]*)\)", rest)}
    rest = re.sub(r' id="([^"]*)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", rest)
    rest = rest.replace('xlink:href="#', f'href="#{prefix}').replace("url(#", f"url(#{prefix}")
    style = "stroke-linejoin: round; stroke-linecap: butt"
    return Html(f'<svg role="img" aria-label="{safe(told)}" {size.group()} style="{style}">{rest}')
