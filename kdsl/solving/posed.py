"""A derivation with its data, ready to be solved: spaces, numbers and the dual as energies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.energies import Energies, energies_of
from kdsl.algebra.numeric import Values, evaluate
from kdsl.binding.bound import Bound
from kdsl.binding.kernels import DEFAULT_MEMORY, Kernel
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.solving.spaces import Space, build_spaces, problem_values


@dataclass(frozen=True, eq=False)
class Posed:
    """A derivation with its data, ready to be solved."""

    derivation: Derivation
    bound: Bound
    parameters: Mapping[str, float]
    kernels: Mapping[str, Kernel]
    spaces: Mapping[str, Space]
    values: Values
    energies: Energies

    @property
    def saturated(self) -> str | None:
        """The unknown whose row cannot hold with equality because the bounds of its multipliers are too low."""
        for tightness in self.derivation.tightness:
            if tightness.condition is not None and float(evaluate(tightness.condition, self.values)) < 0:
                return tightness.origin
        return None


def pose(
    derivation: Derivation,
    bound: Bound,
    parameters: Mapping[str, float],
    kernels: Mapping[str, Kernel],
    memory: int = DEFAULT_MEMORY,
    policy: str = "refuse",
    seed: int = 0,
) -> Posed:
    """What can be prepared before any choice of a solver; `policy` is for Gram matrices that are indefinite."""
    energies = energies_of(derivation)
    if energies is None or energies.dual.cones:
        raise KdslError(
            [
                Diagnostic(
                    "K614",
                    "this dual is not a quadratic program in its multipliers",
                    why="unsquared norms, several bounds on norms, curvatures that are multipliers themselves and "
                    "vectors that are expanded in other unknown vectors are not solved yet",
                    help="`kdsl derive --verify` still derives and checks it",
                )
            ]
        )
    spaces = build_spaces(derivation, bound, kernels, memory, policy, seed)
    return Posed(derivation, bound, parameters, kernels, spaces, problem_values(bound, parameters, spaces), energies)
