"""PythonKernel: a user's own function as a kernel; its values are checked, its exceptions go through untouched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from kdsl.binding.distances import to_dense
from kdsl.binding.faults import fault
from kdsl.binding.kernels import Against, Kernel
from kdsl.numerics.arrays import Floats, Matrix

Function = Callable[..., Any]

DIAGONAL_CHUNK = 256


@dataclass(frozen=True)
class PythonKernel(Kernel):
    """function(X, Z) -> the matrix kappa(x, z), for the rows x of X and z of Z (dense float64).

    A kernel from a model file has no function until it is given again, and no values.
    """

    function: Function | None
    name: str

    @property
    def description(self) -> str:
        return f"{self.name}(x, z), a Python function"

    @property
    def psd(self) -> bool:
        return False

    def against(self, others: Matrix) -> Against:
        dense = to_dense(others)
        return lambda points: self.call(to_dense(points), dense)

    def diagonal(self, points: Matrix) -> Floats:
        dense = to_dense(points)
        parts = [dense[s : s + DIAGONAL_CHUNK] for s in range(0, len(dense), DIAGONAL_CHUNK)]
        return np.concatenate([np.diagonal(self.call(part, part)) for part in parts])

    def call(self, points: Floats, others: Floats) -> Floats:
        if self.function is None:
            raise fault(
                "K569",
                f"the model was fitted with the Python kernel `{self.name}`, which is not given",
                "a model file holds no code",
                "give the function again, under the same name",
            )
        expected = (len(points), len(others))
        answer = self.function(points, others)
        try:
            returned = np.asarray(answer)
            block = np.asarray(returned.real, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise fault(
                "K564",
                f"the Python kernel `{self.name}` returned no matrix of numbers ({type(answer).__name__})",
                str(error),
                f"return an array of shape {expected}",
            ) from None
        if returned.dtype.kind == "c":
            raise fault(
                "K564",
                f"the Python kernel `{self.name}` returned complex numbers ({returned.dtype})",
                "a kernel is real, and its imaginary part would be lost",
                "return the real part, where that is what is meant",
            )
        if block.shape != expected:
            raise fault(
                "K564",
                f"the Python kernel `{self.name}` returned an array of shape {block.shape} "
                f"for {expected[0]} points against {expected[1]}",
                "it is asked for a matrix with one row for each point of its first argument",
                f"return an array of shape {expected}",
            )
        if not np.isfinite(block).all():
            row, column = (int(p) for p in np.argwhere(~np.isfinite(block))[0])
            raise fault(
                "K564",
                f"the Python kernel `{self.name}` returned {block[row, column]} for the pair "
                f"({row + 1}, {column + 1}) of a block of {expected[0]} x {expected[1]}",
                f"x = {short(points[row])}, z = {short(others[column])}",
                "make it return a finite number for every pair",
            )
        return block


def calls_python(kernel: Kernel) -> bool:
    """Whether a kernel is a Python function, or made of one."""
    if isinstance(kernel, PythonKernel):
        return True
    values = [getattr(kernel, field.name) for field in fields(kernel)]  # type: ignore[arg-type]
    parts = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    return any(calls_python(part) for part in parts if isinstance(part, Kernel))


def short(vector: Floats) -> str:
    shown = ", ".join(f"{v:.6g}" for v in vector[:6])
    return f"({shown}{', ...' if len(vector) > 6 else ''})"
