"""Kernels made of kernels: sums, products, non-negative multiples, normalised, and on a choice of columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.sparse as sp

from kdsl.binding.faults import fault
from kdsl.binding.kernels import DEFAULT_MEMORY, Against, Kernel, Linear, Polynomial, number
from kdsl.numerics.arrays import Floats, Matrix
from kdsl.numerics.native_kernel import NativeKernel


@dataclass(frozen=True)
class Sum(Kernel):
    """k1(x, z) + k2(x, z) + ...: the feature vectors stand side by side."""

    terms: tuple[Kernel, ...]

    @property
    def description(self) -> str:
        return " + ".join(term.description for term in self.terms)

    @property
    def psd(self) -> bool:
        return all(term.psd for term in self.terms)

    def against(self, others: Matrix) -> Against:
        parts = [term.against(others) for term in self.terms]

        def evaluate(points: Matrix) -> Floats:
            result = parts[0](points)
            for part in parts[1:]:
                result = result + part(points)
            return result

        return evaluate

    def diagonal(self, points: Matrix) -> Floats:
        return sum_of([term.diagonal(points) for term in self.terms])

    def expanding(self, support: Matrix, coefficients: Floats, memory: int = DEFAULT_MEMORY) -> Against:
        terms = [term.expanding(support, coefficients, memory) for term in self.terms]
        return lambda points: sum_of([term(points) for term in terms])


@dataclass(frozen=True)
class Product(Kernel):
    """k1(x, z) k2(x, z) ...: the tensor product of the feature vectors (Schur's theorem)."""

    factors: tuple[Kernel, ...]

    @property
    def description(self) -> str:
        return " * ".join(bracketed(factor) for factor in self.factors)

    @property
    def psd(self) -> bool:
        return all(factor.psd for factor in self.factors)

    def against(self, others: Matrix) -> Against:
        parts = [factor.against(others) for factor in self.factors]
        return lambda points: reduce(np.multiply, (part(points) for part in parts))

    def diagonal(self, points: Matrix) -> Floats:
        return np.asarray(np.prod([factor.diagonal(points) for factor in self.factors], axis=0))


@dataclass(frozen=True)
class Scaled(Kernel):
    """factor k(x, z), factor >= 0: the feature vector times sqrt(factor)."""

    factor: float
    kernel: Kernel
    word: str = ""

    @property
    def description(self) -> str:
        return f"{self.word or number(self.factor)} {bracketed(self.kernel)}"

    @property
    def psd(self) -> bool:
        return self.kernel.psd

    def against(self, others: Matrix) -> Against:
        inner = self.kernel.against(others)
        return lambda points: self.factor * inner(points)

    def diagonal(self, points: Matrix) -> Floats:
        return self.factor * self.kernel.diagonal(points)

    def expanding(self, support: Matrix, coefficients: Floats, memory: int = DEFAULT_MEMORY) -> Against:
        inner = self.kernel.expanding(support, coefficients, memory)
        return lambda points: self.factor * inner(points)

    def native(self, points: Matrix) -> NativeKernel | None:
        """A multiple of <x, z> is a polynomial of degree 1; other multiples are not in the core."""
        if isinstance(self.kernel, Linear):
            return Polynomial(1, self.factor, 0.0).native(points)
        return None


@dataclass(frozen=True)
class Constant(Kernel):
    """The same number for every pair: one more feature with the value sqrt(level)."""

    level: float

    @property
    def description(self) -> str:
        return number(self.level)

    def against(self, others: Matrix) -> Against:
        return lambda points: np.full((points.shape[0], others.shape[0]), self.level)

    def diagonal(self, points: Matrix) -> Floats:
        return np.full(points.shape[0], self.level)


@dataclass(frozen=True)
class Normalized(Kernel):
    """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine in feature space; a point with k(x, x) = 0 has the value 0."""

    kernel: Kernel

    @property
    def description(self) -> str:
        return f"normalized({self.kernel.description})"

    @property
    def psd(self) -> bool:
        return self.kernel.psd

    def against(self, others: Matrix) -> Against:
        inner = self.kernel.against(others)
        weights = self.weights(others)

        def evaluate(points: Matrix) -> Floats:
            result = self.weights(points)[:, None] * inner(points)
            result *= weights
            return result

        return evaluate

    def weights(self, points: Matrix) -> Floats:
        lengths = self.kernel.diagonal(points)
        if np.any(lengths < 0):
            row = int(np.argmin(lengths))
            raise fault(
                "K567",
                f"the kernel cannot be normalised: k(x, x) = {number(float(lengths[row]))} at point {row + 1}",
                f"k(x, x) is the squared length of phi(x); {self.kernel.description} is not a kernel there",
                "normalise a kernel with a non-negative diagonal",
            )
        return np.divide(1.0, np.sqrt(lengths), out=np.zeros_like(lengths), where=lengths > 0)

    def diagonal(self, points: Matrix) -> Floats:
        return np.where(self.kernel.diagonal(points) > 0, 1.0, 0.0)


@dataclass(frozen=True)
class OnColumns(Kernel):
    """k of some columns only; `names` are the words after `on`, `columns` their places among the features."""

    kernel: Kernel
    columns: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def description(self) -> str:
        return f"{bracketed(self.kernel)} on {', '.join(self.names)}"

    @property
    def psd(self) -> bool:
        return self.kernel.psd

    def pick(self, points: Matrix) -> Matrix:
        chosen: Matrix = points[:, list(self.columns)]
        return chosen if sp.issparse(chosen) else np.ascontiguousarray(chosen)

    def against(self, others: Matrix) -> Against:
        inner = self.kernel.against(self.pick(others))
        return lambda points: inner(self.pick(points))

    def diagonal(self, points: Matrix) -> Floats:
        return self.kernel.diagonal(self.pick(points))

    def expanding(self, support: Matrix, coefficients: Floats, memory: int = DEFAULT_MEMORY) -> Against:
        inner = self.kernel.expanding(self.pick(support), coefficients, memory)
        return lambda points: inner(self.pick(points))

    def native(self, points: Matrix) -> NativeKernel | None:
        return self.kernel.native(self.pick(points))


def sum_of(parts: list[Floats]) -> Floats:
    return np.asarray(np.sum(parts, axis=0))


def bracketed(kernel: Kernel) -> str:
    return f"({kernel.description})" if isinstance(kernel, Sum) else kernel.description
