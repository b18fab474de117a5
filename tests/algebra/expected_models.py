"""The duals of models/*.kspec, which no shipped spec holds, worked out by hand in the form of expected_duals.

A merged pair `plus - minus` goes by `beta`; losses go by the letter of their multiplier.
"""

from __future__ import annotations

from collections.abc import Mapping

from expected_duals import BALANCE, GRAM, DualForm, Root

MARGINS = "sum[i] margin[i]"
BOX = {"margin": ("0", "C")}
RESIDUAL = "sum[i] beta[i] * y[i] - 1/2 * sum[i] sum[o] beta[i] * beta[o] * k(x[i], x[o])"
SAME_GROUP = "sum[i] sum[j where group[i] = group[j]]"

TUBE = "- 1/2 * sum[i] sum[j] (below[i] - above[i]) * (below[j] - above[j]) * k(x[i], x[j])"
PRICE = "(margin[i] + right[i] - C)"
PRICE_TOO = "(margin[j] + right[j] - C)"

EXPECTED_MODELS: Mapping[str, DualForm] = {
    "biased_penalty": DualForm(
        f"{MARGINS} - 1/2 * {GRAM} - 1/2 * sum[i] sum[j] margin[i] * margin[j] * y[i] * y[j]", (), BOX
    ),
    "two_kernels": DualForm(
        f"{MARGINS} - 1/2 * {GRAM} - 1/(2 * mu) * sum[i] sum[j] margin[i] * margin[j] * y[i] * y[j] * q(x[i], x[j])",
        (BALANCE,),
        BOX,
    ),
    "privileged": DualForm(
        f"{MARGINS} - 1/2 * {GRAM} - 1/(2 * gam) * sum[i] sum[j] {PRICE} * {PRICE_TOO} * q(z[i], z[j])",
        (BALANCE, "sum[i] (margin[i] + right[i] - C) = 0"),
        {"margin": ("0", "inf"), "right": ("0", "inf")},
    ),
    "multitask": DualForm(
        f"{MARGINS} - 1/2 * {GRAM} - 1/(2 * mu) * {SAME_GROUP} margin[i] * margin[j] * y[i] * y[j] * k(x[i], x[j])",
        (),
        BOX,
    ),
    "multitask_centred": DualForm(
        f"{MARGINS} - 1/2 * {GRAM} - 1/(2 * mu) * {SAME_GROUP} margin[i] * margin[j] * y[i] * y[j] * k(x[i], x[j])",
        (),
        BOX,
    ),
    "fairness": DualForm(
        f"{MARGINS} - 1/2 * sum[i] sum[j] (y[i] * margin[i] + 1/l * a[i] * beta)"
        " * (y[j] * margin[j] + 1/l * a[j] * beta) * k(x[i], x[j])",
        ("sum[i] y[i] * margin[i] + 1/l * beta * sum[i] a[i] = 0",),
        {"margin": ("0", "C"), "beta": ("-inf", "inf")},
        kinks={"beta": "t"},
        merged={"beta": "fair' - fair"},
    ),
    "prescribed_means": DualForm(
        "sum[i] eta[i] * y[i] - 1/(4 * C) * sum[i] eta[i]^2 - sum[i] average[group[i]] * mean[group[i]]"
        " - 1/2 * sum[i] sum[j] (eta[i] - average[group[i]]) * (eta[j] - average[group[j]]) * k(x[i], x[j])",
        ("sum[i] (eta[i] - average[group[i]]) = 0",),
        {"eta": ("-inf", "inf"), "average": ("-inf", "inf")},
    ),
    "pinball_monotone": DualForm(
        f"{RESIDUAL} - sum[i] sum[j] beta[i] * mono[j] * (k(x[i], hi[j]) - k(x[i], lo[j]))"
        " - 1/2 * sum[j] sum[h] mono[j] * mono[h]"
        " * (k(hi[j], hi[h]) - k(hi[j], lo[h]) - k(lo[j], hi[h]) + k(lo[j], lo[h]))",
        ("sum[i] beta[i] = 0",),
        {"beta": ("C * (tau - 1)", "C * tau"), "mono": ("0", "inf")},
    ),
    "intervals": DualForm(
        f"sum[i] (lo[i] * below[i] - hi[i] * above[i]) {TUBE}",
        ("sum[i] (below[i] - above[i]) = 0",),
        {"above": ("0", "C"), "below": ("0", "C")},
    ),
    "asymmetric_tube": DualForm(
        f"{RESIDUAL} - 1/2 * (del - eps) * sum[i] beta[i]",
        ("sum[i] beta[i] = 0",),
        {"beta": ("-C", "D")},
        kinks={"beta": "1/2 * (eps + del)"},
        merged={"beta": "below - above"},
    ),
    "own_huber_hinge": DualForm(
        "(1 + h) * sum[i] alpha[i] - h/(2 * C) * sum[i] alpha[i]^2"
        " - 1/2 * sum[i] sum[j] alpha[i] * alpha[j] * y[i] * y[j] * k(x[i], x[j])",
        ("sum[i] alpha[i] * y[i] = 0",),
        {"alpha": ("0", "2 * C")},
    ),
    "ridge_square_bias": DualForm(
        "sum[i] residual[i] * y[i] - 1/4 * sum[i] residual[i]^2"
        " - 1/(4 * lambda) * sum[i] sum[j] residual[i] * residual[j] * k(x[i], x[j])"
        " - 1/(4 * mu) * sum[i] sum[j] residual[i] * residual[j]",
        (),
        {"residual": ("-inf", "inf")},
    ),
    "one_class_labelled": DualForm(
        "sum[i] side[i] * y[i] * k(x[i], x[i]) - sum[i] sum[j] side[i] * side[j] * y[i] * y[j] * k(x[i], x[j])",
        ("sum[i] side[i] * y[i] = 1",),
        {"side": ("0", "C * s[i]")},
    ),
    "biased_groups": DualForm(
        f"{RESIDUAL} - 1/(2 * mu) * {SAME_GROUP} beta[i] * beta[j]",
        (),
        {"beta": ("-C", "C")},
        kinks={"beta": "1/10"},
    ),
    "shared_slack": DualForm(
        "sum[i] (margin[i] + twin[i])"
        f" - 1/2 * {GRAM} - sum[i] sum[j] margin[i] * twin[j] * y[i] * y[j] * k(x[i], z[j])"
        " - 1/2 * sum[i] sum[j] twin[i] * twin[j] * y[i] * y[j] * k(z[i], z[j])",
        ("sum[i] y[i] * (margin[i] + twin[i]) = 0", "margin[i] + twin[i] <= C"),
        {"margin": ("0", "inf"), "twin": ("0", "inf")},
    ),
    "scalar_equality": DualForm(
        f"{MARGINS} - 1/2 * {GRAM}",
        ("sum[i where group[i] = g] y[i] * margin[i] = centred",),
        {"margin": ("0", "C"), "centred": ("-inf", "inf")},
    ),
    "idle_constraint": DualForm(
        f"{MARGINS} - 1/2 * {GRAM} - 3 * idle - 1/4 * idle^2", (BALANCE,), {"margin": ("0", "C"), "idle": ("0", "inf")}
    ),
    "free_slack": DualForm(
        "sum[i] y[i] * over[i] - 1/2 * sum[i] sum[j] over[i] * over[j] * k(x[i], x[j])", (), {"over": ("C", "C")}
    ),
    "ordinal": DualForm(
        "sum[i, k] side[i, k] - 1/2 * sum[i, k] sum[j, h] side[i, k] * side[j, h] * s[i, k] * s[j, h] * q(x[i], x[j])",
        ("sum[i] s[i, k] * side[i, k] = 0",),
        {"side": ("0", "C")},
    ),
    "rank_ties": DualForm(
        "sum[i, j where y[i] > y[j]] margin[i, j]"
        " - 1/2 * sum[i, j where y[i] > y[j]] sum[g, h where y[g] > y[h]] margin[i, j] * margin[g, h]"
        " * (k(x[i], x[g]) - k(x[i], x[h]) - k(x[j], x[g]) + k(x[j], x[h]))"
        " - sum[i, j where y[i] > y[j]] sum[p] margin[i, j] * beta[p]"
        " * (k(x[i], one[p]) - k(x[i], two[p]) - k(x[j], one[p]) + k(x[j], two[p]))"
        " - 1/2 * sum[p] sum[o] beta[p] * beta[o]"
        " * (k(one[p], one[o]) - k(one[p], two[o]) - k(two[p], one[o]) + k(two[p], two[o]))",
        (),
        {"margin": ("0", "C"), "beta": ("-C", "C")},
        kinks={"beta": "eps"},
        merged={"beta": "tie' - tie"},
    ),
    "semiparametric": DualForm(RESIDUAL, ("sum[i] beta[i] * u[i, j] = 0",), {"beta": ("-C", "C")}),
    "laplacian": DualForm(
        "sum[i] alpha[i] - 1/4 * sum[i, j] 1/(mu * a[i, j]) * beta[i, j]^2"
        " - 1/2 * sum[i] sum[j] alpha[i] * alpha[j] * y[i] * y[j] * k(x[i], x[j])"
        " - sum[i] sum[g, h] alpha[i] * y[i] * beta[g, h] * (k(x[i], x[h]) - k(x[i], x[g]))"
        " - 1/2 * sum[i, j] sum[g, h] beta[i, j] * beta[g, h]"
        " * (k(x[i], x[g]) - k(x[i], x[h]) - k(x[j], x[g]) + k(x[j], x[h]))",
        ("sum[i] alpha[i] * y[i] = 0",),
        {"alpha": ("0", "C"), "beta": ("-inf", "inf")},
    ),
    "maximise_margin": DualForm("0", ("sum[i] margin[i] = 1",), BOX, root=Root("1", GRAM)),
}
