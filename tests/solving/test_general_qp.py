"""General quadratic programs: files, the audit of P, certified optima, witnesses, and `kdsl qp` and `kdsl backends`."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from exact_text import compare
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from kdsl.cli.main import main
from kdsl.language.diagnostics import KdslError
from kdsl.solving import general_qp
from kdsl.solving.backends.explicit import Answer, nothing_found
from kdsl.solving.backends.interface import Backend, Options
from kdsl.solving.backends.registry import shipped
from kdsl.solving.expand import ExplicitQP
from kdsl.solving.general_qp import certify, falling_direction, infeasibility, minimise_convex, solve_qp
from kdsl.solving.polish_qp import polish
from kdsl.solving.psd_sparse import audit_sparse
from kdsl.solving.qp_files import assemble, read_qp

QUICK = "HS21 HS35 HS76 HS118 DUAL1 QAFIRO CVXQP1_S HS268 GOULDQP3 PRIMALC1 QISRAEL QBEACONF TAME DUALC8 KSIP HUESTIS"


def program(P: object, q: object, A: object = None, l: object = None, u: object = None) -> ExplicitQP:
    """A program without bounds of its own."""
    members = {"P": np.asarray(P, float), "q": np.asarray(q, float)}
    if A is not None:
        members |= {"A": np.asarray(A, float), "l": np.asarray(l, float), "u": np.asarray(u, float)}
    return assemble(members, "test")


# the example on qpsolvers' front page
M = np.array([[1.0, 2.0, 0.0], [-8.0, 3.0, 2.0], [0.0, 1.0, 1.0]])
CLASSIC = {
    "P": M.T @ M,
    "q": np.array([3.0, 2.0, 3.0]) @ M,
    "G": np.array([[1.0, 2.0, 1.0], [2.0, 0.0, 1.0], [-1.0, 2.0, -1.0]]),
    "h": np.array([3.0, 2.0, -2.0]),
    "A": np.array([[1.0, 1.0, 1.0]]),
    "b": np.array([1.0]),
}


def random_program(seed: int, n: int = 30, m: int = 20) -> ExplicitQP:
    """Feasible and bounded, with equalities, one- and two-sided rows and a box."""
    random = np.random.default_rng(seed)
    root = random.standard_normal((n, n // 2))
    A, inside = random.standard_normal((m, n)), random.uniform(-0.5, 0.5, n)
    l, u = A @ inside - random.uniform(0, 1, m), A @ inside + random.uniform(0, 1, m)
    l[:5] = u[:5] = (A @ inside)[:5]
    l[5:8], u[8:11] = -np.inf, np.inf
    P = sp.csc_array(root @ root.T)
    return ExplicitQP(
        P, random.standard_normal(n), sp.csr_array(A), l, u, np.full(n, -1.0), np.full(n, 1.0), constant=2.0
    )


@pytest.mark.parametrize("backend", [None, "qpsolvers:clarabel", "qpsolvers:highs", "osqp", "cvxpy"])
@pytest.mark.parametrize("seed", range(3))
def test_random_programs_are_certified(backend: str | None, seed: int) -> None:
    if backend is not None and not shipped_backend(backend).installed():
        pytest.skip("not installed")
    problem = random_program(seed)
    found = solve_qp(problem, backend)
    assert found.status == "optimal"
    assert found.certificate.worst <= 1e-6
    assert found.certificate.value == pytest.approx(reference_value(problem), abs=1e-6)
    assert sum(found.seconds[part] for part in ("audit", "solve", "certify")) == pytest.approx(found.seconds["total"])


def shipped_backend(name: str) -> Backend:
    """A shipped backend, installed or not."""
    return next(backend for backend in shipped() if backend.name == name)


def reference_value(problem: ExplicitQP) -> float:
    """The optimum by CVXPY."""
    import cvxpy

    x = cvxpy.Variable(problem.size)
    ends = [problem.lower <= x, x <= problem.upper]
    ends += [problem.A[[i]] @ x >= problem.l[i] for i in np.flatnonzero(np.isfinite(problem.l))]
    ends += [problem.A[[i]] @ x <= problem.u[i] for i in np.flatnonzero(np.isfinite(problem.u))]
    cost = cvxpy.quad_form(x, cvxpy.psd_wrap(problem.P.toarray())) / 2 + problem.q @ x
    return float(cvxpy.Problem(cvxpy.Minimize(cost), ends).solve(solver="CLARABEL")) + problem.constant


def test_the_classic_of_qpsolvers() -> None:
    found = solve_qp(assemble(CLASSIC, "classic"))
    assert found.status == "optimal"
    np.testing.assert_allclose(found.x, [0.30769231, -0.69230769, 1.38461538], atol=1e-7)


def test_a_problem_without_inequalities_is_a_linear_system() -> None:
    found = solve_qp(program(np.diag([2.0, 4.0]), [1.0, 1.0], [[1.0, 1.0]], [1.0], [1.0]))
    assert (found.status, found.backend) == ("optimal", "direct")
    np.testing.assert_allclose(found.x, [2 / 3, 1 / 3], atol=1e-14)
    assert found.reason == "2 variables, 1 row, no inequalities: a linear system, by factorisation"


def test_certificate_by_hand() -> None:
    """min x^2/2 - 2x on x <= 1: x = 1, multiplier 1, value -3/2; a wrong multiplier shows in both figures."""
    problem = program([[1.0]], [-2.0], [[1.0]], [-1e20], [1.0])
    right = Answer(np.array([1.0]), np.array([1.0]), np.zeros(1), "solved", "", 0)
    c = certify(problem, right)
    assert (c.value, c.dual, c.gap, c.primal_residual, c.dual_residual) == (-1.5, -1.5, 0.0, 0.0, 0.0)
    c = certify(problem, right._replace(y=np.array([1.5])))
    assert (c.dual, c.dual_residual) == (-2.0, 0.5)
    c = certify(problem, right._replace(y=np.array([-1.0])))
    assert (c.dual, c.dual_residual) == (-0.5, 1.0)  # there is no lower end to push against
    c = certify(problem, right._replace(x=np.array([1.25])))
    assert c.primal_residual == 0.25


@pytest.mark.parametrize("seed", range(5))
def test_polishing_sharpens_a_blurred_answer(seed: int) -> None:
    problem = random_program(seed)
    exact = solve_qp(problem, options=Options(tol=1e-9))
    random = np.random.default_rng(seed)
    blurred = Answer(
        exact.x + 1e-5 * random.standard_normal(problem.size),
        exact.y + 1e-5 * random.standard_normal(len(exact.y)) * (exact.y != 0),
        exact.z + 1e-5 * random.standard_normal(problem.size) * (exact.z != 0),
        "solved",
        "blurred",
        0,
    )
    sharp = polish(problem, blurred)
    assert sharp is not None
    assert certify(problem, sharp).worst <= 1e-10 < 1e-7 < certify(problem, blurred).worst


@pytest.mark.parametrize("seed", range(5))
def test_a_convex_program_is_minimised_to_rounding(seed: int) -> None:
    problem = random_program(seed, n=60, m=40)
    answer, certificate = minimise_convex(problem)
    assert certificate.worst <= 1e-10
    assert certificate.value == pytest.approx(solve_qp(problem).certificate.value, abs=1e-6)
    assert certify(problem, answer) == certificate


def test_infeasible_rows_have_a_checked_witness() -> None:
    problem = program(np.eye(2), [0.0, 0.0], [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [3.0, -1e20, -1e20], [4.0, 1.0, 1.0])
    found = solve_qp(problem)
    assert found.status == "infeasible"
    assert found.witness is not None
    y = found.witness[:3]
    np.testing.assert_allclose(problem.A.T @ y, 0.0, atol=1e-12)
    assert y[0] * 3 + y[1] + y[2] < 0  # y_0 < 0 pushes on the lower end 3, the others on their upper ends 1
    assert infeasibility(random_program(0)) is None


def test_an_unbounded_program_has_a_checked_direction() -> None:
    problem = program(np.diag([1.0, 0.0]), [0.0, -1.0], [[1.0, 1.0]], [0.0], [1e20])
    found = solve_qp(problem)
    assert found.status == "unbounded"
    assert found.witness is not None
    assert problem.P @ found.witness == pytest.approx(0.0)
    assert found.witness[1] > 0
    assert falling_direction(random_program(0)) is None


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_small_degenerate_programs_end_in_a_proof(seed: int) -> None:
    """Whole numbers, singular P, repeated and missing ends: each status is proven, and a feasibility LP agrees."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 6)), int(random.integers(0, 7))
    root = random.integers(-2, 3, (n, int(random.integers(0, n + 1)))).astype(float)
    A, l = random.integers(-2, 3, (m, n)).astype(float), random.integers(-4, 2, m).astype(float)
    u = l + random.integers(0, 4, m)
    l[random.random(m) < 0.4], u[random.random(m) < 0.4] = -np.inf, np.inf
    lower, upper = np.where(random.random(n) < 0.4, 0.0, -np.inf), np.where(random.random(n) < 0.3, 2.0, np.inf)
    q = random.integers(-3, 4, n).astype(float)
    problem = ExplicitQP(sp.csc_array(root @ root.T), q, sp.csr_array(A), l, u, lower, upper)
    found = solve_qp(problem)
    rows, ends = np.vstack([A, -A]), np.r_[u, -l]
    kept = np.isfinite(ends)
    feasible = linprog(np.zeros(n), rows[kept], ends[kept], bounds=np.c_[lower, upper], method="highs").status == 0
    if found.status == "optimal":
        assert feasible
        assert certify(problem, Answer(found.x, found.y, found.z, "solved", "", 0)).worst <= 1e-6
    elif found.status == "infeasible":
        assert not feasible
    else:
        assert found.status == "unbounded"
        assert feasible
        d = found.witness
        assert d is not None
        far = 1e3 * d
        assert (rows[kept] @ far <= 1e-6).all()
        assert ((far >= -1e-6) | np.isneginf(lower)).all()
        assert ((far <= 1e-6) | np.isposinf(upper)).all()
        assert np.abs(root.T @ far).max(initial=0.0) <= 1e-5
        assert q @ d < 0


def test_a_claim_without_witness_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that calls a solvable program infeasible is passed over, and that is said."""
    liar = lambda problem, options: nothing_found(problem, "infeasible", "liar: infeasible")  # noqa: E731
    monkeypatch.setattr(general_qp, "PREFERRED", ("qpsolvers:clarabel", "qpsolvers:highs", "osqp"))
    monkeypatch.setitem(general_qp._SOLVERS, "qpsolvers:clarabel", liar)
    found = solve_qp(random_program(1))
    assert found.status == "optimal"
    assert found.backend != "qpsolvers:clarabel"
    assert [warning.code for warning in found.warnings] == ["K613"]
    compare("K613", found.warnings)
    assert solve_qp(random_program(1), "qpsolvers:clarabel").status == "infeasible_or_unbounded"


def test_a_backend_that_throws_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(problem: ExplicitQP, options: Options) -> Answer:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(general_qp, "PREFERRED", ("qpsolvers:clarabel", "qpsolvers:highs", "osqp"))
    monkeypatch.setitem(general_qp._SOLVERS, "qpsolvers:clarabel", broken)
    found = solve_qp(random_program(1))
    assert found.status == "optimal"
    assert "ZeroDivisionError: no" in found.warnings[0].why


def test_limits_end_in_a_true_status() -> None:
    found = solve_qp(random_program(2), "osqp", options=Options(tol=1e-12, max_iterations=2))
    assert found.status in ("user_limit", "optimal_inaccurate")


INDEFINITE = {"P": np.diag([1.0, -1.0]), "q": np.zeros(2), "A": np.eye(2), "l": -np.ones(2), "u": np.ones(2)}


def test_an_indefinite_program_is_refused_and_never_called_optimal() -> None:
    with pytest.raises(KdslError) as caught:
        solve_qp(assemble(INDEFINITE, "test"))
    compare("K611", caught.value.diagnostics)
    found = solve_qp(assemble(INDEFINITE, "test"), psd="accept")
    compare("K612", found.warnings[:1])
    assert found.status != "optimal"


@pytest.mark.parametrize(("n", "shift", "verdict"), [(60, 0.0, "psd"), (2500, 0.0, "psd"), (2500, -0.01, "indefinite")])
def test_the_audit_of_a_chain(n: int, shift: float, verdict: str) -> None:
    """The second difference matrix, whose eigenvalues are 2 - 2 cos(k pi / (n + 1))."""
    chain = sp.diags_array([-np.ones(n - 1), np.full(n, 2.0 + shift), -np.ones(n - 1)], offsets=[-1, 0, 1])
    report = audit_sparse(sp.csc_array(chain))
    smallest = 2 - 2 * np.cos(np.pi / (n + 1)) + shift
    assert report.verdict == verdict
    assert report.at_least <= smallest + 1e-12
    assert report.at_most >= smallest - 1e-12
    assert report.exact == (n == 60)


@pytest.mark.parametrize(
    ("rank", "least", "verdict"),
    [(400, 1e-3, "psd"), (250, 0.0, "psd"), (399, -1e-6, "indefinite"), (250, -1.0, "indefinite")],
)
def test_the_audit_of_a_dense_component(rank: int, least: float, verdict: str) -> None:
    """A factor speaks for those that have one; where lambda_min is negative it is measured."""
    random = np.random.default_rng(rank)
    directions = np.linalg.qr(random.normal(size=(400, 400)))[0]
    values = np.zeros(400)
    values[:rank] = random.uniform(1, 2, rank)
    values[-1] = least
    report = audit_sparse(sp.csc_array((directions * values) @ directions.T))
    assert report.verdict == verdict
    assert report.at_least - report.rounding <= least <= report.at_most + report.rounding
    if least < 0:
        assert report.at_most == pytest.approx(least, rel=1e-6)


def test_the_audit_of_separate_components() -> None:
    blocks = [np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[3.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])]
    report = audit_sparse(sp.csc_array(sp.block_diag(blocks)))
    assert (report.exact, report.verdict) == (True, "indefinite")
    assert report.at_most == pytest.approx(-1.0)
    assert audit_sparse(sp.csc_array((3, 3))).verdict == "psd"


def saved(path: Path, members: dict[str, object]) -> str:
    np.savez(path, **members)  # type: ignore[arg-type]
    return str(path)


def test_files_of_both_formats_mean_the_same(tmp_path: Path) -> None:
    absent = {"lb": None, "ub": None}
    from_npz = read_qp(saved(tmp_path / "classic.npz", {**CLASSIC, **absent}))
    stacked = {
        "P": sp.csc_matrix(CLASSIC["P"]),
        "q": CLASSIC["q"],
        "A": sp.csc_matrix(np.vstack([CLASSIC["G"], CLASSIC["A"]])),
        "l": np.r_[np.full(3, -1e20), 1.0],
        "u": np.r_[CLASSIC["h"], 1.0],
        "r": 2.5,
    }
    scipy.io.savemat(tmp_path / "classic.mat", stacked)
    from_mat = read_qp(str(tmp_path / "classic.mat"))
    for one, two in zip(from_npz[:7], from_mat[:7], strict=True):
        dense = [part.toarray() if sp.issparse(part) else part for part in (one, two)]
        np.testing.assert_array_equal(*dense)
    assert (from_npz.constant, from_mat.constant) == (0.0, 2.5)


BAD: dict[str, tuple[dict[str, object], str]] = {
    "no_q": ({"P": np.eye(2)}, "it has no members P and q; it holds P"),
    "not_square": ({"P": np.ones((3, 2)), "q": np.ones(2)}, "P has 3 rows and q has 2 entries"),
    "not_symmetric": ({"P": np.array([[1.0, 2.0], [0.0, 1.0]]), "q": np.ones(2)}, "P is not symmetric"),
    "columns": ({"P": np.ones((2, 3)), "q": np.ones(2)}, "P has 3 columns and there are 2 variables"),
    "nan": ({"P": np.full((2, 2), np.nan), "q": np.ones(2)}, "P holds a number that is not finite"),
    "infinite": ({"P": np.eye(2), "q": np.array([1.0, np.inf])}, "q holds a number that is not finite"),
    "text": ({"P": np.eye(2), "q": np.array(["a", "b"])}, "q is not a vector of numbers"),
    "no_h": ({"P": np.eye(2), "q": np.ones(2), "G": np.eye(2)}, "it has no member h"),
    "short": ({"P": np.eye(2), "q": np.ones(2), "A": np.eye(2), "b": np.ones(3)}, "b has 3 entries instead of 2"),
    "flat": ({"P": np.ones(2), "q": np.ones(2)}, "P is not a matrix"),
    "crossing": (
        {"P": np.eye(2), "q": np.ones(2), "A": np.eye(2), "l": np.array([-np.inf, 1.0]), "u": np.array([np.inf, 0.5])},
        "row 2 of A is to be at least 1, and at most 0.5: no point meets that",
    ),
    "crossing_bounds": (
        {"P": np.eye(2), "q": np.ones(2), "lb": np.array([1.0, 2.0]), "ub": np.zeros(2)},
        "variable 1 is to be at least 1, and at most 0: no point meets that (2 are so)",
    ),
    "objects": (
        {"P": np.eye(2), "q": np.array([None, 1.0], dtype=object)},
        "q is an array of Python objects, which kdsl does not unpickle",
    ),
}


def test_a_program_without_variables_is_read() -> None:
    assert assemble({"P": np.zeros((0, 0)), "q": np.zeros(0)}, "empty.npz").size == 0


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_with_their_reason(case: str, tmp_path: Path) -> None:
    members, why = BAD[case]
    with pytest.raises(KdslError) as caught:
        read_qp(saved(tmp_path / f"{case}.npz", members))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.why) == ("K610", why)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    whole = Path(saved(tmp_path / "whole.npz", dict(CLASSIC))).read_bytes()
    scipy.io.savemat(tmp_path / "whole.mat", CLASSIC)
    mat = (tmp_path / "whole.mat").read_bytes()
    holed = whole[:200] + bytes(100) + whole[300:]
    for content in (whole[: len(whole) // 2], mat[: len(mat) // 2], b"", b"hello", holed):
        (tmp_path / "damaged").write_bytes(content)
        with pytest.raises(KdslError) as caught:
            read_qp(str(tmp_path / "damaged"))
        assert caught.value.diagnostics[0].code == "K610"


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (os.mkdir, (str(tmp_path / "sprung"),))

    trap = np.empty((), dtype=object)
    trap[()] = Trap()
    program = read_qp(saved(tmp_path / "trap.npz", {**CLASSIC, "lb": trap}))
    assert program.size == 3
    assert not (tmp_path / "sprung").exists()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_prints_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = saved(tmp_path / "classic.npz", dict(CLASSIC)), tmp_path / "x.npz"
    code, out, err = run(capsys, "qp", path, "--json", "-o", str(output))
    entry = json.loads(out)
    assert (code, err, entry["schema"], entry["status"], entry["n"], entry["rows"]) == (0, "", 1, "optimal", 3, 4)
    assert entry["value"] == pytest.approx(entry["dual"], abs=1e-6)
    np.testing.assert_allclose(np.load(output)["x"], [0.30769231, -0.69230769, 1.38461538], atol=1e-7)
    code, out, err = run(capsys, "qp", path)
    assert (code, err) == (0, "")
    assert f"optimal, by {entry['backend']}" in out
    assert run(capsys, "qp", path, "--tol", "0")[0] == 2
    assert run(capsys, "qp", str(tmp_path / "none.mat"))[0] == 4


def test_the_command_explains_what_it_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path / "saddle.npz", INDEFINITE)
    code, out, err = run(capsys, "qp", path)
    assert (code, out) == (1, "")
    assert err.startswith("error[K611]: P is not positive semidefinite")
    assert run(capsys, "qp", path, "--psd", "accept")[0] == 3
    assert run(capsys, "qp", path, "--psd", "accept", "--backend", "simplex")[0] == 2
    assert run(capsys, "qp", path, "--psd", "accept", "--backend", "engine")[0] == 1
    infeasible = {
        "P": np.eye(1),
        "q": np.ones(1),
        "A": np.ones((2, 1)),
        "l": np.array([1.0, -3.0]),
        "u": np.array([2, 0]),
    }
    code, out, _ = run(capsys, "qp", saved(tmp_path / "no.npz", infeasible))
    assert code == 1
    assert "witness" in out


def test_exact_text_for_files_that_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "notes.mat").write_text("hello")
    with pytest.raises(KdslError) as caught:
        read_qp(str(tmp_path / "notes.mat"))
    compare("K610", caught.value.diagnostics)


def test_the_list_of_backends(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "backends", "--json")
    listed = {entry["name"]: entry for entry in json.loads(out)["backends"]}
    assert code == 0
    assert listed["direct"]["installed"] is True
    assert listed["osqp"]["version"]
    assert all(entry["takes"] and entry["licence"] and 0 < entry["accuracy"] < 1 for entry in listed.values())
    code, out, _ = run(capsys, "backends", "--all")
    assert code == 0
    assert all(name in out for name in listed)


@pytest.fixture(scope="module")
def peers(shared: Path) -> Path:
    return shared / "peers"


@pytest.mark.parametrize("name", QUICK.split())
def test_maros_meszaros(name: str, peers: Path) -> None:
    """Within 1e-5 of the published optimum, and certified; the whole set is tests/campaigns/general_qp.py."""
    with open(peers / "maros_meszaros" / "OPT.csv", newline="") as file:
        optimum = next(float(row["OPT_BPMPD"]) for row in csv.DictReader(file) if row["name"] == name)
    found = solve_qp(read_qp(str(peers / "maros_meszaros" / f"{name}.mat")))
    assert found.status == "optimal"
    assert abs(found.certificate.value - optimum) <= 1e-5 * max(1.0, abs(optimum))


def test_values_is_refused_by_the_audit_and_right_when_accepted(
    peers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(peers / "maros_meszaros" / "VALUES.mat")
    code, _, err = run(capsys, "qp", path)
    assert code == 1
    assert "lambda_min = -1.27e-05" in err
    code, out, _ = run(capsys, "qp", path, "--psd", "accept", "--json")
    entry = json.loads(out)
    assert (code, entry["status"]) == (3, "optimal_inaccurate")
    assert entry["value"] == pytest.approx(-1.3966211, rel=1e-6)


def test_programs_of_control(peers: Path) -> None:
    with open(peers / "qp" / "free_for_all_mpc_OBJ.csv", newline="") as file:
        optima = {row["file"].rpartition("/")[2]: float(row["obj(clarabel 1e-9)"]) for row in csv.DictReader(file)}
    for name, optimum in optima.items():
        found = solve_qp(read_qp(str(peers / "qp" / name)))
        assert found.status == "optimal", name
        assert found.certificate.value == pytest.approx(optimum, rel=1e-5), name
