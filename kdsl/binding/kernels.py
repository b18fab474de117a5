"""Kernel: what every kernel can do (value, diagonal, block, expansion), and the built-in families on vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kdsl.binding.distances import city_block_distances, inner_products, squared_distances, squared_norms
from kdsl.binding.expansions import Expansion
from kdsl.numerics.arrays import Floats, Matrix
from kdsl.numerics.native_kernel import NativeKernel

DEFAULT_MEMORY = 1 << 28

Against = Callable[[Matrix], Floats]


class Kernel(ABC):
    """kappa(x, z) = <phi(x), phi(z)>, on points given as the rows of a dense or CSR matrix.

    `description` is the formula with its numbers, and the words that they came from.
    `psd` is True where the formula alone makes every Gram matrix positive semidefinite.
    """

    @property
    @abstractmethod
    def description(self) -> str: ...

    @property
    def psd(self) -> bool:
        return True

    @abstractmethod
    def against(self, others: Matrix) -> Against:
        """X -> kappa(X, others); whatever depends on `others` alone is computed once."""

    @abstractmethod
    def diagonal(self, points: Matrix) -> Floats:
        """kappa(x, x) for each point."""

    def block(self, points: Matrix, others: Matrix) -> Floats:
        return self.against(others)(points)

    def value(self, a: Floats, b: Floats) -> float:
        return float(self.block(np.reshape(a, (1, -1)), np.reshape(b, (1, -1)))[0, 0])

    def expansion(self, support: Matrix, coefficients: Floats, points: Matrix, memory: int = DEFAULT_MEMORY) -> Floats:
        """sum_j coefficients[j] kappa(x, support_j) for each point x, in blocks within `memory` bytes."""
        return self.expanding(support, coefficients, memory)(points)

    def expanding(self, support: Matrix, coefficients: Floats, memory: int = DEFAULT_MEMORY) -> Against:
        """The expansion as a function of the points, which are float64 or, for single precision, float32."""
        return Expansion(self, support, coefficients, memory)

    def native(self, points: Matrix) -> NativeKernel | None:
        """The same kernel for the compiled core, or None where the core does not know it."""
        return None


@dataclass(frozen=True)
class Linear(Kernel):
    """<x, z>"""

    @property
    def description(self) -> str:
        return "<x, z>"

    def against(self, others: Matrix) -> Against:
        return inner_products(others)

    def diagonal(self, points: Matrix) -> Floats:
        return squared_norms(points)

    def expanding(self, support: Matrix, coefficients: Floats, memory: int = DEFAULT_MEMORY) -> Against:
        """<x, sum_j c_j z_j>: no block of the Gram matrix is needed."""
        sum_of_points = support.T @ coefficients
        return lambda points: np.asarray(points @ sum_of_points)

    def native(self, points: Matrix) -> NativeKernel | None:
        return NativeKernel("linear", points)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(gamma <x, z> + coef0)^degree"""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0
    words: str = ""

    @property
    def description(self) -> str:
        return f"({affine(self.gamma, self.coef0)})^{self.degree}{self.words}"

    def against(self, others: Matrix) -> Against:
        products = inner_products(others)
        return lambda points: self.shape(products(points))

    def diagonal(self, points: Matrix) -> Floats:
        return self.shape(squared_norms(points))

    def shape(self, products: Floats) -> Floats:
        return np.asarray((self.gamma * products + self.coef0) ** self.degree)

    def native(self, points: Matrix) -> NativeKernel | None:
        return NativeKernel("polynomial", points, self.gamma, self.coef0, self.degree)


@dataclass(frozen=True)
class Gaussian(Kernel):
    """exp(-gamma ||x - z||^2), whichever way gamma was given: 1/(2 sigma^2), 1/(2 sigma2), 1/width^2"""

    gamma: float
    words: str = ""

    @property
    def description(self) -> str:
        return f"exp(-{times(self.gamma)}||x - z||^2){self.words}"

    def against(self, others: Matrix) -> Against:
        distances = squared_distances(others)

        def evaluate(points: Matrix) -> Floats:
            result = distances(points)
            result *= -self.gamma
            return np.exp(result, out=result)

        return evaluate

    def diagonal(self, points: Matrix) -> Floats:
        return np.ones(points.shape[0])

    def native(self, points: Matrix) -> NativeKernel | None:
        return NativeKernel("gaussian", points, self.gamma)


@dataclass(frozen=True)
class Laplacian(Kernel):
    """exp(-gamma ||x - z||_1)"""

    gamma: float
    words: str = ""

    @property
    def description(self) -> str:
        return f"exp(-{times(self.gamma)}||x - z||_1){self.words}"

    def against(self, others: Matrix) -> Against:
        distances = city_block_distances(others)
        return lambda points: np.exp(-self.gamma * distances(points))

    def diagonal(self, points: Matrix) -> Floats:
        return np.ones(points.shape[0])

    def native(self, points: Matrix) -> NativeKernel | None:
        return NativeKernel("laplacian", points, self.gamma)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """tanh(gamma <x, z> + coef0), which is not positive semidefinite in general"""

    gamma: float
    coef0: float = 0.0
    words: str = ""

    @property
    def description(self) -> str:
        return f"tanh({affine(self.gamma, self.coef0)}){self.words}"

    @property
    def psd(self) -> bool:
        return False

    def against(self, others: Matrix) -> Against:
        products = inner_products(others)
        return lambda points: self.shape(products(points))

    def diagonal(self, points: Matrix) -> Floats:
        return self.shape(squared_norms(points))

    def shape(self, products: Floats) -> Floats:
        return np.asarray(np.tanh(self.gamma * products + self.coef0))

    def native(self, points: Matrix) -> NativeKernel | None:
        return NativeKernel("sigmoid", points, self.gamma, self.coef0)


def number(value: float) -> str:
    """As short as it can be: six significant figures."""
    return f"{value:.6g}"


def times(factor: float) -> str:
    """A factor before what it multiplies; 1 is not written."""
    return "" if factor == 1 else f"{number(factor)} "


def affine(gamma: float, coef0: float) -> str:
    """gamma <x, z> + coef0, as one would write it."""
    offset = "" if coef0 == 0 else f" {'-' if coef0 < 0 else '+'} {number(abs(coef0))}"
    return f"{times(gamma)}<x, z>{offset}"
