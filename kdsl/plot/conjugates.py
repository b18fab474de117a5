"""A loss and its conjugate, the two faces of one convex function: what is paid, and what its multiplier pays for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from kdsl.algebra import plq
from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly, substitute
from kdsl.algebra.primal import Logistic, LossTerm
from kdsl.algebra.terms import Factor, Sym
from kdsl.binding.faults import fault, nearest
from kdsl.language.model import Model
from kdsl.numerics.arrays import Floats
from kdsl.plot import sheets
from kdsl.plot.sheets import BLUE, INK, MIDDLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAMPLES = 401  # points of a curve
Curve = Callable[[Floats], Floats]


def loss(
    problem: str | os.PathLike[str] | Model | Derivation,
    params: Mapping[str, float] | None = None,
    term: str | None = None,
    *,
    columns: int = 1,
) -> Figure:
    """A loss of the objective beside its conjugate, on which the bounds of its multipliers are seen; no data needed."""
    numbers = {name: Fraction(value) for name, value in (params or {}).items()}
    derivation = _derivation(problem, numbers)
    known = {p.name: p.default for p in derivation.model.parameters if p.default is not None}
    unknown = [name for name in numbers if name not in {p.name for p in derivation.model.parameters}]
    if unknown:
        names = [p.name for p in derivation.model.parameters]
        raise fault(
            "K666",
            f"`{derivation.model.name}` has no parameter `{unknown[0]}`",
            help=nearest(unknown[0], names),
        )
    known.update(numbers)
    chosen = _term(derivation, term)
    with sheets.printed():
        figure, (left, right) = sheets.sheet(columns, 0.52 if columns == 1 else 0.36, parts=2)
        if isinstance(chosen.function, Logistic):
            draw(left, _logistic, (-4.0, 4.0), (), "t", r"\ell(t)")
            draw(right, _entropy, (-1.0, 0.0), (-1.0, 0.0), "u", r"\ell^{\ast}(u)")
            used: dict[str, Fraction] = {}
        else:
            assert isinstance(chosen.function, Plq)
            function, used = with_numbers(chosen, chosen.function, known)
            dual = plq.conjugate(function)
            window = around(function)
            slopes = [float(_number(function.pieces[k].slope_at(Poly.number(Fraction(window[k]))))) for k in (0, -1)]
            draw(left, curve(function), window, walls(function), "t", r"\ell(t)", kinks(function))
            draw(right, curve(dual), domain(dual, slopes), walls(dual), "u", r"\ell^{\ast}(u)", kinks(dual))
        values = ", ".join(f"{name} = {float(value):g}" for name, value in used.items())
        sheets.note(left, sheets.plain(f"{chosen.text},\n{values}" if values else chosen.text))
        sheets.note(right, "its conjugate")
    return figure


def _derivation(problem: str | os.PathLike[str] | Model | Derivation, known: Mapping[str, Fraction]) -> Derivation:
    if isinstance(problem, Derivation):
        return problem
    if isinstance(problem, Model):
        return derive(problem, known or None)
    from kdsl.solving.api import read_model

    return derive(read_model(problem), known or None)


def _term(derivation: Derivation, wanted: str | None) -> LossTerm:
    terms = [t for t in derivation.primal.losses if isinstance(t.function, (Plq, Logistic))]
    names = [t.label for t in terms]
    if not terms:
        raise fault(
            "K666",
            f"`{derivation.model.name}` has no loss of one argument in its objective",
            "slacks with constraints say the same, but without a function to draw",
            "write the loss form of the model, such as `hinge(y[i] * f(x[i]))`",
        )
    if wanted is None:
        return terms[0]
    if wanted not in names:
        raise fault("K666", f"`{derivation.model.name}` has no loss `{wanted}`", help=nearest(wanted, names))
    return next(t for t in terms if t.label == wanted)


def with_numbers(term: LossTerm, function: Plq, known: Mapping[str, Fraction]) -> tuple[Plq, dict[str, Fraction]]:
    """The function with a number for every parameter, and those that it has."""
    parts = [*function.breaks, *(c for piece in function.pieces for c in piece)]
    symbols = {factor for part in parts for factor in _factors(part)}
    used: dict[str, Fraction] = {}
    for symbol in sorted(symbols, key=str):
        if not isinstance(symbol, Sym) or symbol.role != "param" or symbol.args:
            what = getattr(symbol, "name", "a size")
            raise fault("K666", f"the loss `{term.text}` differs between examples: it holds `{what}`", help=CHOOSE)
        if symbol.name not in known:
            raise fault(
                "K666",
                f"the loss `{term.text}` has the parameter `{symbol.name}` without a value",
                help=f"give one: `-D {symbol.name}=1`",
            )
        used[symbol.name] = known[symbol.name]

    def numeric(part: Poly) -> Poly:
        for symbol in part.factors():
            assert isinstance(symbol, Sym)
            value = Poly.number(known[symbol.name]) if symbol.whole is None else numeric(symbol.whole)
            part = substitute(part, symbol, value)
        return part

    return function.mapped(numeric), used


def _factors(part: Poly) -> set[Factor]:
    """The factors of a polynomial, a composite one as those of its sum."""
    found: set[Factor] = set()
    for factor in part.factors():
        found |= _factors(factor.whole) if isinstance(factor, Sym) and factor.whole is not None else {factor}
    return found


CHOOSE = "draw the loss of a model in which it is the same for all"


# -------------------------------------------------------------------- numbers


def _number(poly: Poly) -> Fraction:
    value = poly.as_number()
    assert value is not None
    return value


def curve(function: Plq) -> Curve:
    """The function at points inside its domain."""
    breaks = np.array([float(_number(b)) for b in function.breaks])
    pieces = np.array([[float(_number(c)) for c in piece] for piece in function.pieces])

    def values(t: Floats) -> Floats:
        curvature, slope, value = pieces[np.searchsorted(breaks, t)].T
        return np.asarray(0.5 * curvature * t**2 + slope * t + value)

    return values


def kinks(function: Plq) -> tuple[float, ...]:
    """The break points."""
    return tuple(float(_number(b)) for b in function.breaks)


def walls(function: Plq) -> tuple[float, ...]:
    """The finite ends of the domain."""
    return tuple(float(_number(end)) for end in (function.lower, function.upper) if end is not None)


def around(function: Plq) -> tuple[float, float]:
    """A window on everything that happens: the breaks and 0, and as much again beside them."""
    points = [0.0, *kinks(function)]
    spread = max(max(points) - min(points), 1.0)
    return min(points) - spread, max(points) + spread


def domain(dual: Plq, slopes: list[float]) -> tuple[float, float]:
    """From end to end of the conjugate's domain; where it has none, the slopes that the window shows."""
    low = slopes[0] if dual.lower is None else float(_number(dual.lower))
    high = slopes[1] if dual.upper is None else float(_number(dual.upper))
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def _logistic(t: Floats) -> Floats:
    return np.logaddexp(0.0, -t)


def _entropy(u: Floats) -> Floats:
    p = np.clip(-u, 1e-300, 1.0)
    q = np.clip(1.0 + u, 1e-300, 1.0)
    return np.asarray(p * np.log(p) + q * np.log(q))


# ---------------------------------------------------------------- the picture


def draw(
    axes: Axes,
    function: Curve,
    window: tuple[float, float],
    ends: tuple[float, ...],
    argument: str,
    name: str,
    breaks: tuple[float, ...] = (),
) -> None:
    """A curve over its window, its break points as dots, walls where it becomes infinite."""
    at = np.unique(np.concatenate([np.linspace(*window, SAMPLES), [b for b in breaks if window[0] <= b <= window[1]]]))
    values = function(at)
    axes.plot(at, values, color=BLUE, linewidth=1.2, zorder=2)[0].set_gid("function")
    inside = np.array([b for b in breaks if window[0] <= b <= window[1]])
    axes.plot(inside, function(inside), linestyle="none", marker="o", markersize=2.6, color=INK, zorder=3)
    for end in ends:
        axes.axvline(end, color=MIDDLE, linewidth=0.7, linestyle="dashed", zorder=1).set_gid("wall")
        (height,) = function(np.array([end]))
        axes.plot([end], [height], marker="o", markersize=2.6, color=INK, zorder=3)
    margin = 0.12 * (window[1] - window[0]) if ends else 0.0
    axes.set_xlim(window[0] - margin, window[1] + margin)
    axes.set(xlabel=f"${argument}$", ylabel=f"${name}$")
