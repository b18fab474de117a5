"""From the figures of `kdsl solve --json` to those that LIBSVM prints.

LIBSVM minimises, so its objective is minus the dual's value; its rho is -b. One-class: its multipliers add up to
nu l where ours add up to 1. nu-SVC: it solves with bounds 1 and divides by r at the end, which makes it the C-SVC of
C = 1/r; ours has bounds 1/l and the margin rho, so r = l rho. nu-SVR: its cost is C l times the mean where ours is C
times the mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Figures(NamedTuple):
    """objective, rho, number of support vectors and of bounded ones."""

    objective: float
    rho: float
    support: int
    bounded: int


def c_svc(entry: dict[str, Any]) -> Figures:
    """svm_1norm, svm_weighted, svr_linear_eps; for svr_nu the C given was LIBSVM's times l."""
    return Figures(-entry["dual"], -entry["scalars"]["b"], entry["support"]["total"], entry["support"]["bound"])


def nu_svc(entry: dict[str, Any]) -> Figures:
    """svm_nu_sum, where value = 1/2 |w|^2 - nu rho + mean of xi and dual = -1/2 |w|^2."""
    rho = entry["scalars"]["rho"]
    return Figures(
        -entry["dual"] / rho**2, -entry["scalars"]["b"] / rho, entry["support"]["total"], entry["support"]["bound"]
    )


def one_class(entry: dict[str, Any]) -> Figures:
    scale = entry["params"]["nu"] * entry["n"]
    support = entry["support"]
    return Figures(-entry["dual"] * scale**2, entry["scalars"]["rho"] * scale, support["total"], support["bound"])
