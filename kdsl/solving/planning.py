"""What is decided about a posed problem before a solver is called: its normal form, and the route to a backend."""

from __future__ import annotations

from dataclasses import replace

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.solving.backends.interface import Options
from kdsl.solving.backends.registry import find_backend
from kdsl.solving.entropic_form import with_entropies
from kdsl.solving.facts import facts_of
from kdsl.solving.lowering import Lowered, lower
from kdsl.solving.posed import Posed
from kdsl.solving.routing import Route, route

_CONIC = "norms that no single multiplier squares"
_ENTROPIC = "an entropy in the dual"


def normal_form(posed: Posed, alike: Lowered | None = None) -> Lowered:
    """The normal form as a backend sees it; the multiplier of a norm that is searched for is 1.

    alike: as for `lower`.
    """
    outer = None if posed.energies.outer is None else 1.0
    lowered = lower(posed.energies, posed.values, posed.spaces, outer, posed.saturated, alike)
    return replace(lowered, problem=with_entropies(posed, lowered))


def chosen_route(posed: Posed, lowered: Lowered, options: Options, backend: str | None = None) -> Route:
    """The route for this normal form; `backend` overrides the choice."""
    if posed.energies.conic and backend not in (None, "cvxpy"):
        raise KdslError([_no_quadratic_program(find_backend(str(backend)).name, _CONIC)])
    if posed.energies.conic or (posed.energies.dual.entropies and backend == "cvxpy"):
        what = _CONIC if posed.energies.conic else _ENTROPIC
        return Route(find_backend("cvxpy"), f"{what}: a conic program, solved by Clarabel through CVXPY")
    return route(facts_of(lowered.problem, options.memory), backend, options.tol)


def _no_quadratic_program(name: str, what: str) -> Diagnostic:
    return Diagnostic(
        "K601",
        f"the backend `{name}` cannot take this problem",
        why=f"it has {what}, and is no quadratic program",
        help="leave the choice to kdsl, or ask for `cvxpy`",
    )
