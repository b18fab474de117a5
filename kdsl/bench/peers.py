"""The peers, one small class each: how each is asked, and how its answer is read in the judge's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from kdsl import allowance
from kdsl.bench.contender import Answer, Contender, Timed, settle, timed, timed_in_a_turn
from kdsl.bench.judge import price_path
from kdsl.bench.own import Kdsl
from kdsl.bench.problems import BOUND, GENERAL, Kind, Problem, Task
from kdsl.numerics.arrays import Floats

CACHE_MB = 2000
LARGEST_EXPLICIT = 2000  # multipliers up to which solvers of explicit quadratic programs are asked
GENERAL_QP = ("CLARABEL", "OSQP", "HIGHS", "PIQP")  # what CVXPY hands a quadratic program to
NO_LIMIT = 10_000_000
SINGLE = 1e-5  # a tolerance below this is not asked of single precision: it would iterate for ever


class Sklearn(NamedTuple):
    """An SVM of scikit-learn's interface: its own, or that of scikit-learn-intelex in double or single precision."""

    name: str
    package: str
    module: str
    kinds: tuple[Kind, ...]
    single: bool = False

    def accepts(self, task: Task, tol: float) -> bool:
        return task.kind in self.kinds and not (self.single and tol < SINGLE)

    def run(self, problem: Problem, tol: float) -> Answer:
        if problem.task.kind == "path":
            return self._path(problem, tol)
        machine, X = self._machine(problem, tol), self._points(problem.X)
        fitted, spent = timed(lambda: machine.fit(X, problem.y))
        n = len(problem.y)
        if problem.task.kind == "predict":
            new = self._points(problem.more["new"])
            settle()
            values, spent = timed_in_a_turn(lambda: fitted.decision_function(new))
            arrays = {"values": values, "beta": _expansion(fitted, n), "b": float(np.ravel(fitted.intercept_)[0])}
            return Answer(*spent, arrays, _support(fitted))
        beta = _expansion(fitted, n)
        if problem.task.kind == "nu-svc":  # LIBSVM divides the multipliers of nu-SVC by the margin
            beta = beta * (problem.task.value("nu") * n / np.abs(beta).sum())
        return Answer(*spent, {"beta": beta}, _support(fitted))

    def _path(self, problem: Problem, tol: float) -> Answer:
        X, betas, whole = self._points(problem.X), [], Timed(0.0, 0.0)
        for price in price_path(problem):
            machine = self._machine(problem._replace(task=problem.task._replace(values=(("C", float(price)),))), tol)
            fitted, spent = timed(lambda machine=machine: machine.fit(X, problem.y))  # type: ignore[misc]
            whole = Timed(whole.seconds + spent.seconds, whole.processor + spent.processor)
            betas.append(_expansion(fitted, len(problem.y)))
        return Answer(*whole, {"beta": np.array(betas)}, {})

    def _points(self, X: Floats) -> Any:
        return X.astype(np.float32) if self.single else X

    def _machine(self, problem: Problem, tol: float) -> Any:
        from importlib import import_module

        svm, values = import_module(self.module), dict(problem.task.values)
        common = {"kernel": "rbf", "gamma": problem.gamma, "tol": tol, "cache_size": CACHE_MB}
        if problem.task.kind == "svr":
            return svm.SVR(C=values["C"], epsilon=values["eps"], **common)
        if problem.task.kind == "nu-svc":
            return svm.NuSVC(nu=values["nu"], **common)
        if problem.task.kind == "one-class":
            return svm.OneClassSVM(nu=values["nu"], **common)
        return svm.SVC(C=values["C"], **common)


def _expansion(machine: Any, n: int) -> Floats:
    beta = np.zeros(n)
    beta[machine.support_] = np.ravel(machine.dual_coef_)
    return beta


def _support(machine: Any) -> dict[str, float | int | str]:
    return {"support": len(machine.support_)}


class KernelRidge(NamedTuple):
    """scikit-learn's kernel ridge regression: a Cholesky factorisation in double precision."""

    name: str = "scikit-learn"
    package: str = "scikit-learn"

    def accepts(self, task: Task, tol: float) -> bool:
        return task.kind == "ridge"

    def run(self, problem: Problem, tol: float) -> Answer:
        from sklearn.kernel_ridge import KernelRidge as Machine

        machine = Machine(alpha=problem.task.value("lambda"), kernel="rbf", gamma=problem.gamma)
        fitted, spent = timed(lambda: machine.fit(problem.X, problem.y))
        return Answer(*spent, {"beta": fitted.dual_coef_}, {})


class LinearSVC(NamedTuple):
    """scikit-learn's LIBLINEAR, which penalises the bias."""

    name: str = "scikit-learn"
    package: str = "scikit-learn"

    def accepts(self, task: Task, tol: float) -> bool:
        return task.kind == "linear"

    def run(self, problem: Problem, tol: float) -> Answer:
        from sklearn.svm import LinearSVC as Machine

        C = problem.task.value("C")
        machine = Machine(C=C, loss="hinge", dual=True, tol=tol, max_iter=NO_LIMIT, random_state=0)
        fitted, spent = timed(lambda: machine.fit(problem.X, problem.y))
        return Answer(*spent, {"w": fitted.coef_[0], "b": fitted.intercept_[0]}, {})


class SnapML(NamedTuple):
    """snapml's linear support vector machine, on all processors; it penalises the bias too."""

    name: str = "snapml"
    package: str = "snapml"

    def accepts(self, task: Task, tol: float) -> bool:
        return task.kind == "linear"

    def run(self, problem: Problem, tol: float) -> Answer:
        from snapml import SupportVectorMachine as Machine

        weight, workers = 1.0 / problem.task.value("C"), allowance.processors()
        machine = Machine(
            max_iter=10_000, regularizer=weight, tol=tol, n_jobs=workers, fit_intercept=True, random_state=0
        )
        _, spent = timed(lambda: machine.fit(problem.X, problem.y))
        w, b = np.ravel(machine.coef_), float(np.ravel(machine.intercept_)[0])
        return Answer(*spent, {"w": w, "b": b}, {})


class Libsvm(NamedTuple):
    """LIBSVM by its own Python package, on a sparse matrix: the conversion that it has compiled code for."""

    name: str = "libsvm-official"
    package: str = "libsvm-official"

    def accepts(self, task: Task, tol: float) -> bool:
        return task.kind in ("c-svc", "svr", "nu-svc", "one-class", "path")

    def run(self, problem: Problem, tol: float) -> Answer:
        if problem.task.kind != "path":
            beta, spent = self._fit(problem, tol, problem.task.values)
            return Answer(*spent, {"beta": beta}, {"support": int(np.count_nonzero(beta))})
        betas, whole = [], Timed(0.0, 0.0)
        for price in price_path(problem):
            beta, spent = self._fit(problem, tol, (("C", float(price)),))
            whole = Timed(whole.seconds + spent.seconds, whole.processor + spent.processor)
            betas.append(beta)
        return Answer(*whole, {"beta": np.array(betas)}, {})

    @staticmethod
    def _fit(problem: Problem, tol: float, values: tuple[tuple[str, float], ...]) -> tuple[Floats, Timed]:
        import scipy.sparse as sp
        from libsvm.svmutil import svm_train

        kind, y = problem.task.kind, problem.y
        machine = {"svr": 3, "nu-svc": 1, "one-class": 2}.get(kind, 0)
        letters = {"C": "c", "eps": "p", "nu": "n"}
        told = " ".join(f"-{letters[name]} {value!r}" for name, value in values)
        options = f"-q -s {machine} -t 2 -g {problem.gamma!r} -e {tol!r} -m {CACHE_MB} {told}"
        model, spent = timed(lambda: svm_train(y, sp.csr_matrix(problem.X), options))
        beta = np.zeros(len(y))
        places = np.array(model.get_sv_indices()) - 1
        beta[places] = np.ravel(model.get_sv_coef())
        if kind in ("c-svc", "nu-svc", "path"):
            beta *= model.get_labels()[0]
        if kind == "nu-svc":
            beta *= problem.task.value("nu") * len(y) / np.abs(beta).sum()
        return beta, spent


class Explicit(NamedTuple):
    """A general quadratic programming solver on the dense dual of the C-SVC, or on a program of its own.

    The Gram matrix is built within the time: such a solver has no other way to it.
    """

    name: str
    package: str
    settings: Callable[[float], dict[str, Any]]

    def accepts(self, task: Task, tol: float) -> bool:
        return task.kind == "qp" or (task.kind == "c-svc" and task.n <= LARGEST_EXPLICIT // 2)

    def run(self, problem: Problem, tol: float) -> Answer:
        if problem.task.kind == "qp":
            return self._program(problem, tol)
        solution, spent = timed(lambda: self._dual(problem, tol))
        return Answer(*spent, {"beta": problem.y * solution.x}, {})

    def _dual(self, problem: Problem, tol: float) -> Any:
        y, n = problem.y, len(problem.y)
        Q = gram(problem, problem.X) * np.outer(y, y)
        bounds = {"lb": np.zeros(n), "ub": np.full(n, problem.task.value("C"))}
        return self._solve((Q, -np.ones(n), None, None, y[None, :], np.zeros(1)), bounds, tol)

    def _solve(self, program: tuple[Any, ...], bounds: Mapping[str, Floats], tol: float) -> Any:
        import qpsolvers

        name = self.name.lower()
        told = qpsolvers.Problem(*program, **bounds)
        return qpsolvers.solve_problem(told, solver=name, **self.settings(tol))

    def _program(self, problem: Problem, tol: float) -> Answer:
        import scipy.sparse as sp

        program = problem.more["program"]
        equal = program.l == program.u
        up, low = ~equal & np.isfinite(program.u), ~equal & np.isfinite(program.l)
        G = sp.vstack([program.A[up], -program.A[low]], format="csc") if (up | low).any() else None
        h = np.r_[program.u[up], -program.l[low]] if G is not None else None
        A = sp.csc_matrix(program.A[equal]) if equal.any() else None
        bounds = {"lb": program.lower, "ub": program.upper}
        G = None if G is None else sp.csc_matrix(G)
        asked = (sp.csc_matrix(program.P), program.q, G, h, A, program.u[equal] if A is not None else None)
        solution, spent = timed(lambda: self._solve(asked, bounds, tol))
        y = np.zeros(len(program.l))
        if A is not None:
            y[equal] = solution.y
        if G is not None:
            y[up] += solution.z[: int(up.sum())]
            y[low] -= solution.z[int(up.sum()) :]
        z = np.zeros(program.size) if solution.z_box is None or not len(solution.z_box) else solution.z_box
        return Answer(*spent, {"x": solution.x, "y": y, "z": z}, {})


class Cvxpy(NamedTuple):
    """CVXPY with one of its quadratic programming solvers, on the dual; compiling is within the time."""

    solver: str
    package: str = "cvxpy"

    @property
    def name(self) -> str:
        return f"cvxpy with {self.solver}"

    def accepts(self, task: Task, tol: float) -> bool:
        small = task.kind == "c-svc" and task.n <= LARGEST_EXPLICIT // 2 and self.solver == GENERAL_QP[0]
        return small or (task.kind in GENERAL and task.n <= LARGEST_EXPLICIT)

    def run(self, problem: Problem, tol: float) -> Answer:
        (alpha, extra), spent = timed(lambda: self._solve(problem, tol))
        if problem.task.kind == "c-svc":
            return Answer(*spent, {"beta": problem.y * alpha}, {})
        return Answer(*spent, {"alpha": alpha, "extra": extra}, {})

    def _solve(self, problem: Problem, tol: float) -> tuple[Floats, Floats]:
        import cvxpy as cp

        kind, y, more = problem.task.kind, problem.y, problem.more
        n = len(y)
        alpha = cp.Variable(n, bounds=[0, problem.task.value("C")])
        extra = cp.Variable({"averages": 2, "pairs": len(more.get("lo", ()))}.get(kind, 1), nonneg=True)
        points, beta, gain = problem.X, cp.multiply(alpha, y), cp.sum(alpha)
        if kind == "averages":
            beta, gain = beta - more["g"] * (extra[0] - extra[1]), gain - BOUND * cp.sum(extra)
        if kind == "pairs":
            points, beta = np.vstack([points, more["lo"], more["hi"]]), cp.hstack([beta, -extra, extra])
        group = more.get("group", np.zeros(n, int))
        rows = [y[group == g] @ alpha[group == g] == 0 for g in np.unique(group)]
        energy = cp.quad_form(beta, cp.psd_wrap(gram(problem, points)))
        cp.Problem(cp.Maximize(gain - energy / 2), rows).solve(solver=self.solver, **CVXPY_SETTINGS[self.solver](tol))
        if alpha.value is None:
            raise ArithmeticError(f"{self.solver} returned no point")
        used = extra.value if extra.value is not None and kind in ("averages", "pairs") else np.zeros(0)
        return np.clip(alpha.value, 0.0, problem.task.value("C")), np.maximum(used, 0.0)


def gram(problem: Problem, points: Floats) -> Floats:
    """The Gram matrix of the Gaussian kernel, as anybody writes it with NumPy."""
    own = (points * points).sum(axis=1)
    return np.asarray(np.exp(-problem.gamma * np.maximum(own[:, None] + own - 2.0 * points @ points.T, 0.0)))


CVXPY_SETTINGS: Mapping[str, Callable[[float], dict[str, Any]]] = {
    "PIQP": lambda tol: {"eps_abs": tol, "eps_rel": tol},
    "CLARABEL": lambda tol: {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol},
    "OSQP": lambda tol: {"eps_abs": tol, "eps_rel": tol, "max_iter": NO_LIMIT},
    "HIGHS": lambda tol: {"optimality_tolerance": max(tol, 1e-10)},
}
SVMS: tuple[Kind, ...] = ("c-svc", "svr", "nu-svc", "path", "predict")


def contenders() -> tuple[Contender, ...]:
    """kdsl, then all peers, those that are expected to be fast first: within a budget slower ones are cut short."""
    return (
        Kdsl(),
        Kdsl("kdsl, float32", single=True),
        Sklearn("scikit-learn-intelex, float32", "scikit-learn-intelex", "sklearnex.svm", SVMS, single=True),
        Sklearn("scikit-learn-intelex", "scikit-learn-intelex", "sklearnex.svm", SVMS),
        Sklearn("scikit-learn", "scikit-learn", "sklearn.svm", (*SVMS, "one-class")),
        SnapML(),
        KernelRidge(),
        LinearSVC(),
        Libsvm(),
        Explicit("PIQP", "piqp", lambda tol: {"eps_abs": tol, "eps_rel": tol}),
        Explicit("Clarabel", "clarabel", lambda tol: {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol}),
        Explicit("OSQP", "osqp", lambda tol: {"eps_abs": tol, "eps_rel": tol, "max_iter": NO_LIMIT}),
        *(Cvxpy(solver) for solver in GENERAL_QP),
    )


def version(contender: Contender) -> str | None:
    """The installed version; None: not installed. CVXPY's solvers must be there as well as CVXPY."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    wanted = [contender.package]
    if isinstance(contender, Cvxpy):
        wanted.append({"PIQP": "piqp", "CLARABEL": "clarabel", "OSQP": "osqp", "HIGHS": "highspy"}[contender.solver])
    try:
        versions = [installed(package) for package in wanted]
    except PackageNotFoundError:
        return None
    return versions[0]
