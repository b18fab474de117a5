"""The formulas of the generalisation theorems, as numbers of numbers; corrected where docs/errata.md shows a slip.

l examples, delta the probability that the statement fails, trace the trace of the Gram matrix, radius that of a ball
about the origin that holds the features. Margins are geometric: those of the weight vector scaled to norm 1.
"""

from __future__ import annotations

from math import e, inf, log, sqrt

SPHERE = 12.0  # the constant that the proof of KM 7.5 gives
SPHERE_PRINTED = 6.0


def confidence(l: int, delta: float, parts: float = 2.0) -> float:
    """3 sqrt(ln(parts / delta) / 2 l): the last term of every bound of KM, chapter 7, by Rademacher complexity."""
    return 3.0 * sqrt(log(parts / delta) / (2.0 * l))


def sphere(l: int, delta: float, radius: float, gamma: float, slack: float, constant: float = SPHERE) -> float:
    """KM 7.5, 7.9, 7.12: P(|phi - c|^2 > r^2 + gamma)."""
    return slack / (gamma * l) + constant * radius**2 / (gamma * sqrt(l)) + confidence(l, delta)


def sphere_width(l: int, share: float, radius: float, slack: float) -> float:
    """KM 7.14: the gamma at which the first two terms of that bound are `share`."""
    return (slack / l + SPHERE * radius**2 / sqrt(l)) / share


def margin(l: int, delta: float, trace: float, gamma: float, slack: float = 0.0) -> float:
    """KM 7.22, 7.27 (no slack), 7.30, 7.33: P(error) by the margin and the sum of the slacks of the unit vector."""
    return slack / (l * gamma) + 4.0 * sqrt(trace) / (l * gamma) + confidence(l, delta)


def margin_squared(
    l: int, delta: float, trace: float, gamma: float, mu: float, square: float, printed: bool = False
) -> float:
    """KM 7.38: gamma* and ||alpha||^2 = square for the kernel kappa + mu delta and multipliers of sum 1."""
    first = (mu if printed else mu**2) * square / (l * gamma**4) + 8.0 * sqrt(trace) / (l * gamma)
    second = 4.0 * sqrt(trace + l * mu) / (l * gamma)
    return min(first, second) + confidence(l, delta, 4.0)


def squared_error(l: int, delta: float, trace: float, radius: float, norm: float, error: float, size: float) -> float:
    """KM 7.39: E (y - g)^2 for ||w|| <= norm; error = sum (y - g)^2, size = ||y||."""
    second = 16.0 * radius * norm / l * (norm * sqrt(trace) + size)
    return error / l + second + 4.0 * (radius * norm) ** 2 * confidence(l, delta)


def tube(l: int, delta: float, trace: float, norm: float, slack: float, width: float) -> float:
    """KM 7.49: P(|y - g| > gamma) with width = gamma - eps."""
    return (slack + 4.0 * norm * sqrt(trace)) / (l * width) + confidence(l, delta)


def tube_width(l: int, share: float, trace: float, norm: float, slack: float) -> float:
    """The gamma - eps at which the first two terms of that bound are `share`."""
    return (slack + 4.0 * norm * sqrt(trace)) / (l * share)


def updates(radius: float, gamma: float) -> float:
    """KM 7.53 (Novikoff): the updates of the perceptron."""
    return (radius / gamma) ** 2


def compression(l: int, delta: float, k: float) -> float:
    """KM 7.54: P(error) after k updates of the perceptron."""
    return (k * log(l) + log(l / (2.0 * delta))) / (l - k) if k < l else inf


def perceptron(l: int, delta: float, k: float) -> float:
    """KM 7.55: the same with k = R^2 / gamma^2 <= l / 2."""
    return 2.0 / l * (k * log(l) + log(l / (2.0 * delta)))


def sparseness(l: int, delta: float, support: int) -> float:
    """KM 7.56, HB 5.5: P(error) of the maximal margin hyperplane by its support vectors."""
    if support >= l or support == 0:
        return inf
    return (support * log(e * l / support) + log(l / delta)) / (l - support)


def fat_shattering(l: int, delta: float, radius: float, gamma: float) -> float:
    """HB 5.2: P(error) by R^2 / gamma^2; infinite where its logarithms have no meaning."""
    inner, outer = e * l * gamma / (8.0 * radius**2), 32.0 * l / gamma**2
    if inner <= 1.0 or outer <= 1.0:
        return inf
    return 2.0 / l * (64.0 * radius**2 / gamma**2 * log(inner) * log(outer) + log(4.0 / delta))


def dimension(radius: float, norm: float) -> float:
    """ES 12.50: the VC dimension of {sign(f) : ||w|| <= norm}."""
    return (radius * norm) ** 2


def vapnik(l: int, delta: float, h: float) -> float:
    """ES 12.51: P(error) of a function that separates the data; (2 e l / h)^h counts labellings for h <= 2 l only."""
    return 4.0 * (h * (log(2.0 * l / h) + 1.0) - log(delta / 4.0)) / l if 0 < h <= 2 * l else inf
