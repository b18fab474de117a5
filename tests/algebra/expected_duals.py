"""The duals of the shipped specs as the texts print them (corrected where they slip), as data to lay beside the book.

Reading an entry. Every dual is a maximisation, and the dual of the minimisation form of its spec
(`maximize gamma` counts as `minimize -gamma`). The Lagrangian adds `multiplier * (left - right)` for `left <= right`
and for `left = right`, and `multiplier * (right - left)` for `left >= right`. Multipliers go by the labels of their
constraints. Texts are in the syntax of kspec expressions; an index that no sum binds runs over its whole set:
the row `sum[k where k != y[i]] margin[i, k] <= C` stands once for every i. An index that the spec does not
declare runs over the set of the place it stands in: in `margin[j]` beside `margin[i]`, j runs where i does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NOTHING: Mapping[str, str] = MappingProxyType({})


class Root(NamedTuple):
    """The term `-coefficient * sqrt(radicand)` that folding the multiplier of a norm constraint leaves behind."""

    coefficient: str
    radicand: str


class DualForm(NamedTuple):
    """maximise `objective` - sum of `kinks` - `root` subject to `rows` and `bounds`.

    bounds: multiplier -> (lower, upper), "inf" and "-inf" where there is none.
    kinks:  multiplier m -> slope e of the term `-e * sum[i] abs(m[i])`.
    merged: new multiplier -> the combination of labelled ones that it stands for (`beta` is `below - above`).
    """

    objective: str
    rows: tuple[str, ...]
    bounds: Mapping[str, tuple[str, str]]
    kinks: Mapping[str, str] = NOTHING
    merged: Mapping[str, str] = NOTHING
    root: Root | None = None


class ExpectedDual(NamedTuple):
    """One row of the table of formulations.

    dual:       the form the book prints: folded, merged, kinked.
    exact:      the form before folding a norm multiplier (`unit`, non-negative, kept), before fixing Sum alpha = 1 in a
                sphere, or before merging the two multipliers of a pair; None where it is `dual` itself.
    equivalent: an objective with the same maximisers under the same rows and bounds, where the book prints that one.
    holds_when: what has to hold for the primal to be bounded, or for `dual` to equal `exact`; "" for nothing.
    """

    reference: str
    dual: DualForm
    exact: DualForm | None = None
    equivalent: str | None = None
    holds_when: str = ""


GRAM = "sum[i] sum[j] margin[i] * margin[j] * y[i] * y[j] * k(x[i], x[j])"  # alpha' G alpha
GRAM_P = "sum[i] sum[p] margin[i] * margin[p] * y[i] * y[p] * k(x[i], x[p])"  # the same where j is taken
BALANCE = "sum[i] y[i] * margin[i] = 0"
UNIT_GRAM = f"-1/(4 * unit) * {GRAM} - unit"

SPHERE = "sum[i] inside[i] * k(x[i], x[i]) - sum[i] sum[j] inside[i] * inside[j] * k(x[i], x[j])"
SPHERE_EXACT = (
    "sum[i] inside[i] * k(x[i], x[i]) - 1/(sum[i] inside[i]) * sum[i] sum[j] inside[i] * inside[j] * k(x[i], x[j])"
)
SPHERE_ROW = "sum[i] inside[i] = 1"
SPHERE_EXACT_ROW = "sum[i] inside[i] <= 1"

RESIDUAL_GRAM = "sum[i] sum[j] residual[i] * residual[j] * k(x[i], x[j])"
RESIDUAL_LINEAR = "sum[i] y[i] * residual[i] - 1/4 * sum[i] residual[i]^2"

BETA_LINEAR = "sum[i] y[i] * beta[i]"
BETA_GRAM = "1/2 * sum[i] sum[j] beta[i] * beta[j] * k(x[i], x[j])"
BETA_ROW = "sum[i] beta[i] = 0"
BETA = {"beta": "below - above"}
PAIR_LINEAR = "sum[i] y[i] * (below[i] - above[i])"
PAIR_EPS = "eps * sum[i] (below[i] + above[i])"
PAIR_GRAM = "1/2 * sum[i] sum[j] (below[i] - above[i]) * (below[j] - above[j]) * k(x[i], x[j])"
PAIR_ROW = "sum[i] (below[i] - above[i]) = 0"

RANKED = "q[i] = q[j], y[i] > y[j]"
RANKED_TOO = "q[g] = q[h], y[g] > y[h]"

WRONG = "k != y[i]"
WRONG_TOO = "h != y[j]"
CLASS_PAIR = "margin[i, k] * margin[j, h] * q(x[i], x[j])"

EXPECTED_DUALS: Mapping[str, ExpectedDual] = {
    "sphere_hard": ExpectedDual(
        reference="KM Code Fragment 7.1",
        dual=DualForm(SPHERE, (SPHERE_ROW,), {"inside": ("0", "inf")}),
        exact=DualForm(SPHERE_EXACT, (SPHERE_EXACT_ROW,), {"inside": ("0", "inf")}),
    ),
    "sphere_soft": ExpectedDual(
        reference="KM Code Fragment 7.2",
        dual=DualForm(SPHERE, (SPHERE_ROW,), {"inside": ("0", "C")}),
        exact=DualForm(SPHERE_EXACT, (SPHERE_EXACT_ROW,), {"inside": ("0", "C")}),
        holds_when="C * l >= 1",
    ),
    "sphere_nu": ExpectedDual(
        reference="KM Code Fragment 7.3",
        dual=DualForm(SPHERE, (SPHERE_ROW,), {"inside": ("0", "1/(nu * l)")}),
        exact=DualForm(SPHERE_EXACT, (SPHERE_EXACT_ROW,), {"inside": ("0", "1/(nu * l)")}),
        holds_when="nu <= 1",
    ),
    "one_class": ExpectedDual(
        reference="KM Remark 7.16",
        dual=DualForm(
            "-1/2 * sum[i] sum[j] margin[i] * margin[j] * k(x[i], x[j])",
            ("sum[i] margin[i] = 1",),
            {"margin": ("0", "1/(nu * l)")},
        ),
        holds_when="nu <= 1",
    ),
    "svm_hard_unit": ExpectedDual(
        reference="KM (7.11), Code Fragment 7.4",
        dual=DualForm("0", (BALANCE, "sum[i] margin[i] = 1"), {"margin": ("0", "inf")}, root=Root("1", GRAM)),
        exact=DualForm(UNIT_GRAM, (BALANCE, "sum[i] margin[i] = 1"), {"margin": ("0", "inf"), "unit": ("0", "inf")}),
        equivalent=f"-{GRAM}",
        holds_when="the classes can be separated (else unit = 0 and ||w||^2 = 1 is not tight)",
    ),
    "svm_hard": ExpectedDual(
        reference="KM Code Fragment 7.5; HB (5.2), (5.3)",
        dual=DualForm(f"sum[i] margin[i] - 1/2 * {GRAM}", (BALANCE,), {"margin": ("0", "inf")}),
    ),
    "svm_1norm": ExpectedDual(
        reference="ES (12.13); HB (5.6); SV (7.1)",
        dual=DualForm(f"sum[i] margin[i] - 1/2 * {GRAM}", (BALANCE,), {"margin": ("0", "C")}),
    ),
    "svm_1norm_unit": ExpectedDual(
        reference="KM Code Fragment 7.6",
        dual=DualForm("0", (BALANCE, "sum[i] margin[i] = 1"), {"margin": ("0", "C")}, root=Root("1", GRAM)),
        exact=DualForm(UNIT_GRAM, (BALANCE, "sum[i] margin[i] = 1"), {"margin": ("0", "C"), "unit": ("0", "inf")}),
        equivalent=f"-{GRAM}",
        holds_when="2 * C * min(l_plus, l_minus) >= 1, and the reduced hulls do not meet (else unit = 0)",
    ),
    "svm_nu": ExpectedDual(
        reference="KM Code Fragment 7.7",
        dual=DualForm("0", (BALANCE, "sum[i] margin[i] = 1"), {"margin": ("0", "1/(nu * l)")}, root=Root("1", GRAM)),
        exact=DualForm(
            UNIT_GRAM, (BALANCE, "sum[i] margin[i] = 1"), {"margin": ("0", "1/(nu * l)"), "unit": ("0", "inf")}
        ),
        equivalent=f"-{GRAM}",
        holds_when="nu * l <= 2 * min(l_plus, l_minus), and the reduced hulls do not meet (else unit = 0)",
    ),
    "svm_nu_sum": ExpectedDual(
        reference="HB, the nu dual after Proposition 5.6",
        dual=DualForm(f"-1/2 * {GRAM}", (BALANCE, "sum[i] margin[i] >= nu"), {"margin": ("0", "1/l")}),
        holds_when="nu * l <= 2 * min(l_plus, l_minus)",
    ),
    "svm_2norm": ExpectedDual(
        reference="HB Proposition 5.5",
        dual=DualForm(
            f"sum[i] margin[i] - 1/2 * {GRAM} - 1/(2 * C) * sum[i] margin[i]^2", (BALANCE,), {"margin": ("0", "inf")}
        ),
    ),
    "svm_2norm_unit": ExpectedDual(
        reference="KM, the two displays around (7.20)",
        dual=DualForm(
            "-1/(4 * C) * sum[i] margin[i]^2",
            (BALANCE, "sum[i] margin[i] = 1"),
            {"margin": ("0", "inf")},
            root=Root("1", GRAM),
        ),
        exact=DualForm(
            f"-1/(4 * C) * sum[i] margin[i]^2 - 1/(4 * unit) * {GRAM} - unit",
            (BALANCE, "sum[i] margin[i] = 1"),
            {"margin": ("0", "inf"), "unit": ("0", "inf")},
        ),
    ),
    "ridge": ExpectedDual(
        reference="HB, the dual after (5.7)",
        dual=DualForm(f"{RESIDUAL_LINEAR} - 1/(4 * lambda) * {RESIDUAL_GRAM}", (), {"residual": ("-inf", "inf")}),
    ),
    "ridge_bias": ExpectedDual(
        reference="KM Remark 7.44 at eps = 0, in the scale of HB (5.7)",
        dual=DualForm(
            f"{RESIDUAL_LINEAR} - 1/(4 * lambda) * {RESIDUAL_GRAM}",
            ("sum[i] residual[i] = 0",),
            {"residual": ("-inf", "inf")},
        ),
    ),
    "ridge_ball": ExpectedDual(
        reference="KM, L(beta, lambda) after (7.21)",
        dual=DualForm(RESIDUAL_LINEAR, (), {"residual": ("-inf", "inf")}, root=Root("B", RESIDUAL_GRAM)),
        exact=DualForm(
            f"{RESIDUAL_LINEAR} - 1/(4 * unit) * {RESIDUAL_GRAM} - unit * B^2",
            (),
            {"residual": ("-inf", "inf"), "unit": ("0", "inf")},
        ),
    ),
    "svr_quadratic_eps": ExpectedDual(
        reference="KM Remark 7.44, Code Fragment 7.9",
        dual=DualForm(
            f"{BETA_LINEAR} - {BETA_GRAM} - 1/(2 * C) * sum[i] beta[i]^2",
            (BETA_ROW,),
            {"beta": ("-inf", "inf")},
            kinks={"beta": "eps"},
            merged=BETA,
        ),
        exact=DualForm(
            f"{PAIR_LINEAR} - {PAIR_EPS} - {PAIR_GRAM} - 1/(2 * C) * sum[i] (above[i]^2 + below[i]^2)",
            (PAIR_ROW,),
            {"above": ("0", "inf"), "below": ("0", "inf")},
        ),
    ),
    "svr_linear_eps": ExpectedDual(
        reference="KM Code Fragment 7.10; SV (7.2)",
        dual=DualForm(
            f"{BETA_LINEAR} - {BETA_GRAM}", (BETA_ROW,), {"beta": ("-C", "C")}, kinks={"beta": "eps"}, merged=BETA
        ),
        exact=DualForm(
            f"{PAIR_LINEAR} - {PAIR_EPS} - {PAIR_GRAM}", (PAIR_ROW,), {"above": ("0", "C"), "below": ("0", "C")}
        ),
    ),
    "svr_nu": ExpectedDual(
        reference="KM Code Fragment 7.11 without its term in eps",
        dual=DualForm(
            f"{BETA_LINEAR} - {BETA_GRAM}",
            (BETA_ROW, "sum[i] abs(beta[i]) <= C * nu"),
            {"beta": ("-C/l", "C/l")},
            merged=BETA,
        ),
        exact=DualForm(
            f"{PAIR_LINEAR} - {PAIR_GRAM}",
            (PAIR_ROW, "sum[i] (above[i] + below[i]) <= C * nu"),
            {"above": ("0", "C/l"), "below": ("0", "C/l")},
        ),
    ),
    "svm_no_bias": ExpectedDual(
        reference="SV section 7.2, with the linear term that a fixed bias leaves",
        dual=DualForm(f"sum[i] (1 - y[i] * b0) * margin[i] - 1/2 * {GRAM}", (), {"margin": ("0", "C")}),
    ),
    "rank_pairs": ExpectedDual(
        reference="the 1-norm soft margin on differences",
        dual=DualForm(
            f"sum[i, j where {RANKED}] margin[i, j]"
            f" - 1/2 * sum[i, j where {RANKED}] sum[g, h where {RANKED_TOO}] margin[i, j] * margin[g, h]"
            " * (k(x[i], x[g]) - k(x[i], x[h]) - k(x[j], x[g]) + k(x[j], x[h]))",
            (),
            {"margin": ("0", "C")},
        ),
    ),
    "svm_weighted": ExpectedDual(
        reference="ES (12.13) with a box for each example",
        dual=DualForm(f"sum[i] margin[i] - 1/2 * {GRAM}", (BALANCE,), {"margin": ("0", "C * s[i]")}),
    ),
    "multiclass_delta": ExpectedDual(
        reference="IH (5.15), halved, with its slack non-negative",
        dual=DualForm(
            f"sum[i, k where {WRONG}] delta[y[i], k] * margin[i, k]"
            f" - 1/2 * sum[i, k where {WRONG}] sum[j, h where {WRONG_TOO}, y[j] = y[i]] {CLASS_PAIR}"
            f" + 1/2 * sum[i, k where {WRONG}] sum[j, h where {WRONG_TOO}, h = y[i]] {CLASS_PAIR}"
            f" + 1/2 * sum[i, k where {WRONG}] sum[j, h where {WRONG_TOO}, k = y[j]] {CLASS_PAIR}"
            f" - 1/2 * sum[i, k where {WRONG}] sum[j, h where {WRONG_TOO}, h = k] {CLASS_PAIR}",
            (f"sum[k where {WRONG}] margin[i, k] <= C",),
            {"margin": ("0", "inf")},
        ),
    ),
    "monotone_groups": ExpectedDual(
        reference="ES (12.13) with a box for each example, a row for each group, and monotone pairs",
        dual=DualForm(
            f"sum[i] margin[i] - 1/2 * {GRAM_P}"
            " - sum[i] sum[j] margin[i] * mono[j] * y[i] * (k(x[i], hi[j]) - k(x[i], lo[j]))"
            " - 1/2 * sum[j] sum[h] mono[j] * mono[h]"
            " * (k(hi[j], hi[h]) - k(hi[j], lo[h]) - k(lo[j], hi[h]) + k(lo[j], lo[h]))",
            ("sum[i where group[i] = g] y[i] * margin[i] = 0",),
            {"margin": ("0", "C * s[i]"), "mono": ("0", "inf")},
        ),
    ),
}
