"""The losses that every spec may call by name, each with its definition written in the language itself."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kdsl.language.model import Interval


class LossParameter(NamedTuple):
    """A loss parameter; its value lies between `lower` and `upper` (None: infinite), open ends excluded."""

    name: str
    default: Fraction | None = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    lower_open: bool = True
    upper_open: bool = True

    @property
    def interval(self) -> Interval:
        return Interval(self.lower, self.upper, self.lower_open, self.upper_open)


class BuiltinLoss(NamedTuple):
    """One loss of one affine argument.

    `kind` is "margin" (the argument is y f(x)) or "residual" (it is y - f(x)); `entropy` marks the two
    that are not piecewise linear-quadratic. In `multinomial` the first parameter names the index that the
    score runs over, the second the label of the example.
    """

    name: str
    formals: tuple[str, ...]
    parameters: tuple[LossParameter, ...]
    definition: str
    kind: str
    reference: str
    entropy: bool = False


_ZERO, _ONE = Fraction(0), Fraction(1)

BUILTIN_LOSSES: tuple[BuiltinLoss, ...] = (
    BuiltinLoss("hinge", ("m",), (), "max(0, 1 - m)", "margin", "ES (12.25)"),
    BuiltinLoss("squared_hinge", ("m",), (), "square(pos(1 - m))", "margin", "KM 7.37"),
    BuiltinLoss(
        "huberized_squared_hinge",
        ("m",),
        (LossParameter("delta", Fraction(2), _ZERO),),
        "square(pos(1 - m)) - square(pos(1 - delta - m))",
        "margin",
        "ES table 12.1",
    ),
    BuiltinLoss("squared", ("r",), (), "square(r)", "residual", "ES (12.37)"),
    BuiltinLoss("absolute", ("r",), (), "abs(r)", "residual", "ES 12.3.6"),
    BuiltinLoss(
        "eps_insensitive",
        ("r",),
        (LossParameter("eps", None, _ZERO, lower_open=False),),
        "pos(abs(r) - eps)",
        "residual",
        "ES (12.36)",
    ),
    BuiltinLoss(
        "eps_insensitive_squared",
        ("r",),
        (LossParameter("eps", None, _ZERO, lower_open=False),),
        "square(pos(abs(r) - eps))",
        "residual",
        "KM 7.45",
    ),
    BuiltinLoss(
        "huber",
        ("r",),
        (LossParameter("delta", Fraction("1.345"), _ZERO),),
        "1/2 * square(r) - 1/2 * square(pos(abs(r) - delta))",
        "residual",
        "ES 12.3.6",
    ),
    BuiltinLoss(
        "pinball",
        ("r",),
        (LossParameter("tau", None, _ZERO, _ONE),),
        "max(tau * r, (tau - 1) * r)",
        "residual",
        "Koenker and Bassett 1978",
    ),
    BuiltinLoss("perceptron", ("m",), (), "max(0, -m)", "margin", "SV rem. 7.9"),
    BuiltinLoss("logistic", ("m",), (), "log(1 + exp(-m))", "margin", "ES table 12.1", entropy=True),
    BuiltinLoss(
        "multinomial",
        ("s",),
        (LossParameter("k"), LossParameter("y")),
        "log(sum[k] exp(s[k])) - s[y]",
        "margin",
        "ES 12.3.7",
        entropy=True,
    ),
)

LOSSES_BY_NAME: dict[str, BuiltinLoss] = {loss.name: loss for loss in BUILTIN_LOSSES}
