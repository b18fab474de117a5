"""The audit of a Gram matrix: its smallest eigenvalue, or what is certain about it, and what to do when it is negative.

A kernel has only positive semidefinite Gram matrices. For a matrix K with a negative eigenvalue the dual
is not concave and strong duality is not to be had. Four policies:

refuse  an error with the measured eigenvalue.
accept  K stays; whatever is solved is a stationary point at best, and no certificate says "optimal".
shift   K' = K + s I, s = -lambda_min. It is the Gram matrix of kappa'(x, z) = kappa(x, z) + s [x and z are
        the same example]. A new point t is no example, so kappa'(t, x_i) = kappa(t, x_i), and
        f(t) = sum_i c_i kappa(t, x_i) keeps its coefficients; kappa'(t, t) = kappa(t, t) + s.
clip    K' = U max(Lambda, 0) U' = P K with P the projector on the eigenvectors of positive eigenvalues.
        Column i of K' is P k(x_i), k(x) = (kappa(x, x_1), ..., kappa(x, x_n)); the same rule for a new point,
        k'(t) = P k(t), gives f(t) = c' P k(t): the original kernel with the coefficients P c. The self-kernel
        kappa'(t, t) = max(kappa(t, t), k'(t)' K'^+ k'(t)) keeps every extended matrix positive semidefinite
        for one new point, and is K'_ii at an example.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdsl.binding.expansions import block_rows
from kdsl.binding.faults import fault, listing, warning
from kdsl.binding.gram import DenseGram, ShiftedGram
from kdsl.binding.kernels import DEFAULT_MEMORY, Kernel
from kdsl.binding.symmetry import check_symmetry
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.numerics.arrays import Floats, Ints, Matrix
from kdsl.numerics.grams import GramOracle

POLICIES = ("refuse", "clip", "shift", "accept")
SUBMATRICES = 3
LANCZOS_STEPS = 24
LANCZOS_ENTRIES = 1_000_000_000  # kernel values that the Lanczos run may ask for
EPS = float(np.finfo(np.float64).eps)
SINGLE = float(np.finfo(np.float32).eps) / EPS  # how much coarser the rounding of single precision is


@dataclass(frozen=True)
class PsdReport:
    """What is known about lambda_min(K): at_least <= lambda_min <= at_most, up to `rounding`.

    exact: all eigenvalues were computed, and at_least = at_most. by_formula: the kernel is positive
    semidefinite by construction, so only rounding can make lambda_min negative.
    """

    size: int
    exact: bool
    at_least: float
    at_most: float
    rounding: float
    by_formula: bool

    @property
    def verdict(self) -> str:
        """ "psd", "indefinite" or "undecided"."""
        if self.at_most < -self.rounding:
            return "indefinite"
        return "psd" if self.by_formula or self.at_least >= -self.rounding else "undecided"

    def describe(self) -> str:
        """One sentence that claims no more than is certain."""
        if self.exact:
            return f"lambda_min = {self.at_most:.3g} from all {self.size:,} eigenvalues (rounding {self.rounding:.1g})"
        if self.verdict == "indefinite":
            return (
                f"lambda_min <= {self.at_most:.3g}, a Rayleigh quotient found on {self.size:,} points: certainly "
                f"negative; certainly >= {self.at_least:.3g}"
            )
        if self.by_formula:
            return (
                f"positive semidefinite by its formula; the smallest Rayleigh quotient found is {self.at_most:.3g} "
                f"(rounding {self.rounding:.1g})"
            )
        return (
            f"no negative direction was found (smallest Rayleigh quotient {self.at_most:.3g}); certain is only "
            f"lambda_min >= {self.at_least:.3g}"
        )


def audit_psd(
    oracle: GramOracle,
    limit: int = 2000,
    by_formula: bool = False,
    memory: int = DEFAULT_MEMORY,
    seed: int = 0,
) -> PsdReport:
    """Solves: lambda_min of a Gram matrix. Exact (LAPACK) up to `limit` points, bounds above.

    Above: an upper bound by Cauchy's interlacing (principal submatrices on random points) and by Rayleigh
    quotients (Lanczos); a lower bound by Gershgorin's discs and by the trace and the Frobenius norm.
    """
    n = oracle.size
    if n <= limit:
        values = np.linalg.eigvalsh(values_among(oracle, np.arange(n)))
        rounding = 4 * n * EPS * float(np.abs(values).max(initial=0.0))
        smallest = float(values[0]) if n else 0.0
        return PsdReport(n, True, smallest, smallest, rounding, by_formula)
    random = np.random.default_rng(seed)
    upper = min(submatrix_minimum(oracle, limit, random) for _ in range(SUBMATRICES))
    largest = float(oracle.diagonal().sum())
    if by_formula:
        return PsdReport(n, False, -4 * n * EPS * largest, upper, 4 * n * EPS * largest, True)
    steps = min(LANCZOS_STEPS, LANCZOS_ENTRIES // n**2)
    upper = min(upper, lanczos_minimum(oracle, steps, random)) if steps > 1 else upper
    lower, largest = lower_bound(oracle, memory)
    return PsdReport(n, False, lower, upper, 4 * n * EPS * largest, False)


def submatrix_minimum(oracle: GramOracle, size: int, random: np.random.Generator) -> float:
    """lambda_min(K) <= lambda_min(K_SS) for every subset S (Cauchy)."""
    chosen = np.sort(random.choice(oracle.size, size, replace=False))
    return float(np.linalg.eigvalsh(values_among(oracle, chosen))[0])


def values_among(oracle: GramOracle, chosen: Ints) -> Floats:
    """K_SS, which must be symmetric; where rounding makes it not quite so, its mean with its transpose."""
    block = oracle.rows(chosen)[:, chosen]
    check_symmetry(block, chosen)
    return np.asarray((block + block.T) / 2)


def lanczos_minimum(oracle: GramOracle, steps: int, random: np.random.Generator) -> float:
    """The smallest Ritz value of a short Lanczos run, recomputed as a Rayleigh quotient v'Kv / v'v."""
    basis = np.zeros((steps, oracle.size))
    images = np.zeros_like(basis)
    vector = random.standard_normal(oracle.size)
    used = 0
    for step in range(steps):
        vector -= basis[:step].T @ (basis[:step] @ vector)
        vector -= basis[:step].T @ (basis[:step] @ vector)
        length = float(np.linalg.norm(vector))
        if length <= 1e-12 * np.sqrt(oracle.size):
            break
        basis[step] = vector / length
        images[step] = oracle.matvec(basis[step])
        vector = images[step].copy()
        used = step + 1
    projected = basis[:used] @ images[:used].T
    weights = np.linalg.eigh((projected + projected.T) / 2)[1][:, 0]
    direction = weights @ basis[:used]
    return float(direction @ (weights @ images[:used]) / (direction @ direction))


def lower_bound(oracle: GramOracle, memory: int) -> tuple[float, float]:
    """(a number that lambda_min is not below, a number that |lambda| is not above), in one pass over K.

    Gershgorin: lambda >= min_i (K_ii - sum_{j != i} |K_ij|), |lambda| <= max_i sum_j |K_ij|.
    Moments: with mean m = tr K / n and variance v = ||K||_F^2 / n - m^2, lambda_min >= m - sqrt((n - 1) v).
    """
    n = oracle.size
    diagonal = oracle.diagonal()
    sums = np.empty(n)
    squares = 0.0
    step = block_rows(n, memory)
    for start in range(0, n, step):
        rows = oracle.rows(np.arange(start, min(n, start + step)))
        sums[start : start + step] = np.abs(rows).sum(axis=1)
        squares += float((rows * rows).sum())
    discs = float((diagonal - (sums - np.abs(diagonal))).min())
    mean = float(diagonal.mean())
    moments = mean - float(np.sqrt((n - 1) * max(0.0, squares / n - mean**2)))
    return max(discs, moments), float(sums.max())


@dataclass(frozen=True, eq=False)
class Repair:
    """The Gram oracle to solve with, and how prediction follows from it."""

    policy: str
    report: PsdReport
    gram: GramOracle
    shift: float = 0.0
    vectors: Floats | None = None  # eigenvectors with positive eigenvalues, as columns
    eigenvalues: Floats | None = None  # those eigenvalues
    warnings: tuple[Diagnostic, ...] = ()

    def coefficients(self, solved: Floats) -> Floats:
        """For sum_i c_i kappa(t, x_i) with the original kernel at a new point t."""
        if self.vectors is None:
            return solved
        return self.vectors @ (self.vectors.T @ solved)

    def self_kernel(self, kernel: Kernel, points: Matrix, training: Matrix) -> Floats:
        """kappa'(t, t) at new points."""
        own = kernel.diagonal(points) + self.shift
        if self.vectors is None or self.eigenvalues is None:
            return own
        components = kernel.block(points, training) @ self.vectors
        return np.asarray(np.maximum(own, (components**2 / self.eigenvalues).sum(axis=1)))


def check_policy(policy: str) -> None:
    """A policy is one of the four, whether or not there is anything to repair."""
    if policy not in POLICIES:
        raise fault(
            "K573",
            f"there is no policy `{policy}` for the audit",
            help=f"choose {listing(POLICIES).replace(' and ', ' or ')}",
        )


def repair(oracle: GramOracle, report: PsdReport, policy: str = "refuse") -> Repair:
    """What `--psd` asks for. A matrix that is positive semidefinite, up to rounding, is left alone by every policy."""
    check_policy(policy)
    if report.verdict == "psd":
        return Repair(policy, report, oracle)
    if report.verdict == "undecided":
        return Repair(policy, report, oracle, warnings=(undecided(report),))
    if policy == "refuse":
        raise refused(report)
    if policy == "accept":
        return Repair(policy, report, oracle, warnings=(accepted(report),))
    if policy == "shift":
        shift = -report.at_least
        return Repair(policy, report, ShiftedGram(oracle, shift), shift, warnings=(repaired(report, policy),))
    if not report.exact:
        raise fault(
            "K571",
            f"clipping needs every eigenvalue, and the matrix has {report.size:,} rows",
            "they were computed exactly up to the limit of the audit only",
            "choose `--psd shift` or `--psd accept`",
        )
    matrix = oracle.rows(np.arange(oracle.size))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    kept = values > report.rounding
    positive, basis = values[kept], vectors[:, kept]
    clipped = (basis * positive) @ basis.T
    gram = DenseGram((clipped + clipped.T) / 2)
    return Repair(policy, report, gram, 0.0, basis, positive, (repaired(report, policy),))


def refused(report: PsdReport) -> KdslError:
    """What single precision may have rounded away is said to be that; it is no less a negative eigenvalue."""
    rounded = report.at_most >= -SINGLE * report.rounding
    return fault(
        "K570",
        f"the Gram matrix is not positive semidefinite: {report.describe()}",
        "with a negative eigenvalue the dual is not concave, and its optimum is not that of the primal",
        f"{'compute its values in float64, for float32 rounds by as much' if rounded else 'use a kernel'}, "
        "or say what to do: `--psd clip`, `--psd shift` or `--psd accept`",
    )


def accepted(report: PsdReport) -> Diagnostic:
    return warning(
        "K572",
        f"an indefinite Gram matrix is used as it is: {report.describe()}",
        "a stationary point is the best that can be had; it is not called optimal",
    )


def repaired(report: PsdReport, policy: str) -> Diagnostic:
    how = {
        "clip": "its negative eigenvalues are set to 0",
        "shift": f"{-report.at_least:.3g} is added to its diagonal",
    }[policy]
    return warning(
        "K574",
        f"the Gram matrix is not positive semidefinite and was repaired: {how}",
        report.describe(),
        "prediction follows the repair; `kdsl explain K574` has the formulas",
    )


def undecided(report: PsdReport) -> Diagnostic:
    return warning(
        "K575",
        f"nobody knows whether the Gram matrix of {report.size:,} points is positive semidefinite",
        report.describe(),
        "raise the limit of the exact audit, or use a kernel with a formula",
    )
