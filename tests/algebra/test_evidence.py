"""Evidence passes on every shipped spec, and catches derivations that are wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import cvxpy
import pytest

from kdsl import resources
from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.evidence import PRIMAL_IS_DUAL, W_IS_MIN_L, verify
from kdsl.algebra.numeric_quadratics import disciplined
from kdsl.algebra.poly import Poly
from kdsl.algebra.trusted_solvers import Answer, solve
from kdsl.pipeline import parse_spec, read_spec


def derived(name: str) -> Derivation:
    path = resources.spec_path(name)
    assert path is not None
    return derive(read_spec(path))


@pytest.mark.parametrize("name", resources.spec_names())
def test_every_shipped_spec_is_verified(name: str) -> None:
    evidence = verify(derived(name), instances=2)
    assert evidence.passed, [f"{check.name}: {check.detail}" for check in evidence.checks]
    checks = {check.name: check for check in evidence.checks}
    assert checks[PRIMAL_IS_DUAL].times == 2


@pytest.mark.parametrize("name", ["svm_1norm", "svr_nu", "sphere_nu", "ridge_ball", "multiclass_delta", "loss_huber"])
def test_the_minimum_of_the_lagrangian_is_compared(name: str) -> None:
    checks = {check.name: check for check in verify(derived(name), instances=2).checks}
    assert checks[W_IS_MIN_L].times == 2
    assert checks[W_IS_MIN_L].passed


def scaled_quadratic(derivation: Derivation) -> Derivation:
    """The same derivation with its quadratic part multiplied by 1.01."""

    def change(objective: Poly) -> Poly:
        curved, rest = objective.split(lambda m: len(m.binders) == 2)
        return curved.scale(Fraction(101, 100)) + rest

    exact = derivation.exact._replace(objective=change(derivation.exact.objective))
    return derivation._replace(exact=exact, dual=derivation.dual._replace(objective=change(derivation.dual.objective)))


def test_a_wrong_coefficient_is_caught() -> None:
    evidence = verify(scaled_quadratic(derived("svm_1norm")), instances=2)
    failed = {check.name for check in evidence.checks if check.times and not check.passed}
    assert {W_IS_MIN_L, PRIMAL_IS_DUAL} <= failed


def test_a_loss_that_is_convex_only_as_a_whole_is_tested_too() -> None:
    """A difference of squares: CVXPY cannot tell that it is convex, a descent finds its minimum all the same."""
    path = Path(__file__).parent / "models" / "own_huber_hinge.kspec"
    derivation = derive(parse_spec(path.read_text(encoding="utf-8"), path.stem))
    assert [(check.times, check.passed) for check in verify(derivation, instances=2).checks] == [(2, True)] * 3
    wrong = {check.name: check for check in verify(scaled_quadratic(derivation), instances=2).checks}
    assert wrong[W_IS_MIN_L].times == 2 and not wrong[W_IS_MIN_L].passed


def test_a_lost_row_is_caught() -> None:
    derivation = derived("svm_1norm")
    assert not verify(derivation._replace(dual=derivation.dual._replace(rows=())), instances=2).passed


def test_a_lost_bound_is_caught() -> None:
    derivation = derived("svm_1norm")
    open_ended = tuple(v._replace(upper=None) for v in derivation.dual.variables)
    assert not verify(derivation._replace(dual=derivation.dual._replace(variables=open_ended)), instances=4).passed


def test_a_multiplier_eliminated_wrongly_is_caught() -> None:
    derivation = derived("svm_1norm")
    wrong = tuple(e._replace(value=e.value.scale(2)) for e in derivation.eliminated)
    assert not verify(derivation._replace(eliminated=wrong), instances=2).passed


# --------------------------------------------------------- solvers that fail


def failing(monkeypatch: pytest.MonkeyPatch, *solvers: str) -> None:
    """Let the named solvers fail on whatever they are given."""
    solved = cvxpy.Problem.solve

    def attempt(problem: cvxpy.Problem, **options: object) -> object:
        if options["solver"] in solvers:
            raise cvxpy.error.SolverError(f"Solver '{options['solver']}' failed.")
        return solved(problem, **options)

    monkeypatch.setattr(cvxpy.Problem, "solve", attempt)


def test_where_a_solver_fails_another_one_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "CLARABEL")
    assert verify(derived("svm_1norm"), instances=1).verdict == "passed"
    assert verify(scaled_quadratic(derived("svm_1norm")), instances=1).verdict == "refuted"


def test_solvers_that_fail_refute_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "CLARABEL", "HIGHS", "OSQP", "SCS")
    evidence = verify(derived("svm_1norm"))
    assert (evidence.verdict, evidence.passed) == ("untested", False)
    assert [check.verdict for check in evidence.checks] == ["untested"] * 3
    assert evidence.checks[-1].detail == "not made: of 12 instances, 12 that no solver was sure of"


def test_only_an_exact_solver_says_that_there_is_no_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    x = cvxpy.Variable()
    unbounded = cvxpy.Problem(cvxpy.Minimize(x))
    assert solve(unbounded) is Answer.NO_OPTIMUM
    failing(monkeypatch, "CLARABEL")
    assert solve(unbounded) is Answer.UNKNOWN


def test_squares_that_are_convex_together_are_seen_to_be() -> None:
    u, v = cvxpy.Variable(2), cvxpy.Variable(2)
    apart = cvxpy.sum_squares(u) - u @ v + cvxpy.sum_squares(v) + cvxpy.abs(u[0] - 1)
    assert not apart.is_convex() and disciplined(apart).is_convex()
    u.value, v.value = [1.5, -2.0], [0.5, 3.0]
    assert disciplined(apart).value == pytest.approx(apart.value)
    saddle = cvxpy.sum_squares(u) - 3 * (u @ v) + cvxpy.sum_squares(v)
    assert disciplined(saddle) is saddle


def test_a_root_may_hold_a_point_that_no_multiplier_scales() -> None:
    text = """
index  i in 1..l, j in 1..m
data   x[i] : input, y[i] : {-1, 1}, u[j] : input
param  D : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k)
maximize 1/m * sum[j] <w, phi(u[j])> - sum[i] hinge(y[i] * <w, phi(x[i])>)
subject to
  ball: ||w|| <= D
predict value(t) = <w, phi(t)>
"""
    derivation = derive(parse_spec(text))
    assert derivation.dual.roots
    assert verify(derivation, instances=2).passed
