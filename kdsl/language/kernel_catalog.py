"""The kernels that a spec may name: their formulas, parameters, ranges and defaults, in one table."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kdsl.language.model import Interval


class KernelParameter(NamedTuple):
    """One parameter of a built-in kernel.

    kind "real" or "integer" (a number between `lower` and `upper`; None is infinite, open ends excluded)
    or "kernel" (the name of another kernel). `words` may stand in place of a number and are computed
    from the data. `default` is a number, a word, or None for "not given".
    """

    name: str
    kind: str = "real"
    lower: Fraction | None = None
    upper: Fraction | None = None
    lower_open: bool = False
    upper_open: bool = False
    words: tuple[str, ...] = ()
    default: Fraction | str | None = None

    @property
    def interval(self) -> Interval:
        return Interval(self.lower, self.upper, self.lower_open, self.upper_open)


class KernelFamily(NamedTuple):
    """A built-in kernel; of the parameters named together in one group of `exclusive` at most one is given."""

    name: str
    formula: str
    parameters: tuple[KernelParameter, ...]
    psd: bool = True
    exclusive: tuple[tuple[str, ...], ...] = ()
    needs_columns: bool = True  # False where there are no feature columns to choose with `on`


_ZERO, _ONE = Fraction(0), Fraction(1)

# What `gamma = scale` and `gamma = median` stand for; the report prints the formula with its value.
PARAMETER_WORDS: dict[str, str] = {
    "scale": "1 / (d * var(x)), d columns, var over all entries of the training features",
    "median": "1 / m^2, m the median distance between two training points",
}


def _gamma(default: Fraction | str | None) -> KernelParameter:
    return KernelParameter("gamma", lower=_ZERO, lower_open=True, words=("scale", "median"), default=default)


KERNEL_FAMILIES: tuple[KernelFamily, ...] = (
    KernelFamily("linear", "<x, z>", ()),
    KernelFamily(
        "poly",
        "(gamma <x, z> + coef0)^degree",
        (
            KernelParameter("degree", "integer", lower=_ONE, default=Fraction(3)),
            _gamma(_ONE),
            KernelParameter("coef0", lower=_ZERO, default=_ONE),
        ),
    ),
    KernelFamily(
        "rbf",
        "exp(-gamma ||x - z||^2), gamma = 1/(2 sigma^2) = 1/(2 sigma2) = 1/width^2",
        (
            _gamma("scale"),
            KernelParameter("sigma", lower=_ZERO, lower_open=True),
            KernelParameter("sigma2", lower=_ZERO, lower_open=True),
            KernelParameter("width", lower=_ZERO, lower_open=True),
        ),
        exclusive=(("gamma", "sigma", "sigma2", "width"),),
    ),
    KernelFamily("laplacian", "exp(-gamma ||x - z||_1)", (_gamma("scale"),)),
    KernelFamily(
        "sigmoid",
        "tanh(gamma <x, z> + coef0)",
        (_gamma("scale"), KernelParameter("coef0", default=_ZERO)),
        psd=False,
    ),
    KernelFamily("precomputed", "the matrix given with the data", (), needs_columns=False),
    KernelFamily(
        "normalized",
        "q(x, z) / sqrt(q(x, x) q(z, z)), q the kernel named by `of`",
        (KernelParameter("of", "kernel"),),
        needs_columns=False,
    ),
)

FAMILIES_BY_NAME: dict[str, KernelFamily] = {family.name: family for family in KERNEL_FAMILIES}

# What other libraries and books call a built-in kernel, in small letters.
OTHER_NAMES: dict[str, str] = {
    "gaussian": "rbf",
    "gauss": "rbf",
    "polynomial": "poly",
    "laplace": "laplacian",
    "tanh": "sigmoid",
}
