"""A derivation with its data, ready to be solved: spaces, numbers and the dual as energies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.energies import Energies
from kdsl.algebra.numeric import Values, evaluate
from kdsl.binding.bound import Bound
from kdsl.binding.kernels import DEFAULT_MEMORY, Kernel
from kdsl.solving.derived import energies_for
from kdsl.solving.divisors import check_divisors, check_penalties
from kdsl.solving.infeasibility import conflict_of
from kdsl.solving.lowering import lower
from kdsl.solving.new_points import check_new_points
from kdsl.solving.spaces import Space, audited, build_spaces, problem_values


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
    energies = energies_for(derivation)
    spaces = build_spaces(derivation, bound, kernels, memory)
    check_new_points(derivation.model, bound, spaces)
    values = problem_values(bound, parameters, spaces)
    check_divisors(derivation.primal, values)
    check_penalties(energies, values)
    posed = Posed(derivation, bound, parameters, kernels, spaces, values, energies)
    if all(kernel.psd for kernel in kernels.values()) or _is_refuted(posed):
        return posed
    spaces = audited(spaces, memory, policy, seed)
    return replace(posed, spaces=spaces, values=problem_values(bound, parameters, spaces))


def _is_refuted(posed: Posed) -> bool:
    """Whether rows and bounds of the dual conflict: no kernel need be evaluated to say that there is no solution."""
    outer = None if posed.energies.outer is None else 1.0
    return conflict_of(lower(posed.energies, posed.values, posed.spaces, outer, posed.saturated).problem) is not None
