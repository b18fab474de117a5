"""What svm-train's flags ask for: their values, their defaults, and which of them a problem uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

KERNEL_FLAGS = ((), ("-d", "-g", "-r"), ("-g",), ("-g", "-r"))  # by -t
TYPE_FLAGS = (("-c", "-w"), ("-n",), ("-n",), ("-c", "-p"), ("-c", "-n"))  # by -s


class TrainOptions(NamedTuple):
    """svm_type is -s, kernel -t, degree -d, gamma -g (0: one over the number of features), coef0 -r, cost -c, nu -n,
    tube -p, kkt_tol -e (None: kdsl's own rule, a relative gap of 1e-6), memory -m in bytes, weights -wi.
    """

    svm_type: int = 0
    kernel: int = 2
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    cost: float = 1.0
    nu: float = 0.5
    tube: float = 0.1
    kkt_tol: float | None = None
    memory: int = 1 << 28
    weights: Mapping[int, float] = {}

    def gamma_of(self, features: int) -> float:
        return self.gamma if self.gamma != 0 else 1.0 / max(features, 1)

    def kernel_text(self, features: int) -> str:
        """The kernel as a spec has it."""
        gamma = repr(self.gamma_of(features))
        return (
            "linear",
            f"poly(degree = {self.degree}, gamma = {gamma}, coef0 = {self.coef0!r})",
            f"rbf(gamma = {gamma})",
            f"sigmoid(gamma = {gamma}, coef0 = {self.coef0!r})",
        )[self.kernel]

    def unused(self, given: frozenset[str]) -> tuple[str, ...]:
        """Of the flags that were given, those that svm-train would read and not use."""
        used = {*TYPE_FLAGS[self.svm_type], *KERNEL_FLAGS[self.kernel]}
        return tuple(flag for flag in ("-d", "-g", "-r", "-c", "-n", "-p", "-w") if flag in given and flag not in used)
