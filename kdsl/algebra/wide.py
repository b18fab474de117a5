"""Wide: numbers beyond the range of float64, so that what is made of exponentials does not overflow on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdsl.algebra.numeric import Array


@dataclass(frozen=True, eq=False)
class Wide:
    """factor * e^power, element by element."""

    factor: Array
    power: Array

    @staticmethod
    def of(array: Array) -> Wide:
        return Wide(array, np.zeros_like(array))

    def floats(self) -> Array:
        return np.where(self.factor == 0, self.factor, self.factor * np.exp(self.power))

    def __add__(self, other: Wide) -> Wide:
        top = _levelled(np.maximum(self._height(), other._height()))
        return Wide(self._below(top) + other._below(top), top)

    def __mul__(self, other: Wide) -> Wide:
        return Wide(self.factor * other.factor, self.power + other.power)

    def __truediv__(self, other: Wide) -> Wide:
        return Wide(self.factor / other.factor, self.power - other.power)

    def __pow__(self, exponent: int) -> Wide:
        return Wide(self.factor**exponent, self.power * exponent)

    def __abs__(self) -> Wide:
        return Wide(np.abs(self.factor), self.power)

    def maximum(self, other: Wide) -> Wide:
        """The larger of the two; not a number where one of them is none."""
        lead = (self + Wide(-other.factor, other.power)).factor
        factor = np.where(lead < 0, other.factor, self.factor)
        return Wide(
            np.where(np.isnan(lead), self.factor + other.factor, factor), np.where(lead < 0, other.power, self.power)
        )

    def exp(self) -> Wide:
        exponent = self.floats()
        finite = np.isfinite(exponent)
        return Wide(np.where(finite, 1.0, np.exp(exponent)), np.where(finite, exponent, 0.0))

    def log(self) -> Wide:
        return Wide.of(np.log(self.factor) + self.power)

    def root(self) -> Wide:
        """The square root of what is not negative but for rounding."""
        return Wide(np.sqrt(np.maximum(self.factor, 0.0)), self.power / 2)

    def sum(self, axes: tuple[int, ...]) -> Wide:
        top = _levelled(self._height().max(axis=axes, keepdims=True, initial=-np.inf))
        return Wide(self._below(top).sum(axis=axes), np.squeeze(top, axis=axes))

    def _height(self) -> Array:
        return np.where(self.factor == 0, -np.inf, self.power)

    def _below(self, top: Array) -> Array:
        """The factors beside e^top, where top is not less than the power of any that is not 0."""
        return np.asarray(self.factor * np.exp(np.minimum(self.power - top, 0.0)))


def _levelled(top: Array) -> Array:
    """Of zeros alone the power is 0."""
    return np.where(np.isfinite(top), top, 0.0)
