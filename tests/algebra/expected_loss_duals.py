"""The duals of the shipped loss specs, as data in the form of expected_duals.py.

A loss has no label, so its multiplier is named by what it weighs: `alpha` is that of m = y f(x) in a margin loss
(alpha = -L'(m), from `m = y * f`), `beta` that of r = y - f(x) in a residual loss (beta = L'(r), from `y - f = r`),
and `p[i, k]` is the probability of class k in the multinomial loss. What stands beside the linear and quadratic terms
is minus the conjugate of the loss: a box, a kink, a diagonal, or an entropy.
"""

from __future__ import annotations

from collections.abc import Mapping

from expected_duals import DualForm, ExpectedDual

GRAM = "sum[i] sum[j] alpha[i] * alpha[j] * y[i] * y[j] * k(x[i], x[j])"
MARGIN = f"1/(2 * lambda) * {GRAM}"
MARGIN_ROW = "sum[i] y[i] * alpha[i] = 0"
RESIDUAL = "sum[i] y[i] * beta[i] - 1/(2 * lambda) * sum[i] sum[j] beta[i] * beta[j] * k(x[i], x[j])"
RESIDUAL_ROW = "sum[i] beta[i] = 0"
LINES = "sum[i] y[i] * beta[i] - 1/4 * sum[i] beta[i]^2"
OFF = "k != y[i]"
OFF_TOO = "h != y[j]"
PAIR = "q(x[i], x[j])"

EXPECTED_LOSS_DUALS: Mapping[str, ExpectedDual] = {
    "loss_hinge": ExpectedDual(
        "ES (12.13)", DualForm(f"sum[i] alpha[i] - 1/2 * {GRAM}", (MARGIN_ROW,), {"alpha": ("0", "C")})
    ),
    "loss_squared_hinge": ExpectedDual(
        "HB Proposition 5.5 at C = 2/lambda, times lambda",
        DualForm(f"sum[i] alpha[i] - 1/4 * sum[i] alpha[i]^2 - {MARGIN}", (MARGIN_ROW,), {"alpha": ("0", "inf")}),
    ),
    "loss_huberized_squared_hinge": ExpectedDual(
        "the squared hinge, boxed by the slope 4 of its tail",
        DualForm(f"sum[i] alpha[i] - 1/4 * sum[i] alpha[i]^2 - {MARGIN}", (MARGIN_ROW,), {"alpha": ("0", "4")}),
    ),
    "loss_perceptron": ExpectedDual(
        "the hinge without its linear term: 0 at alpha = 0 is optimal, as f = 0 is",
        DualForm(f"-{MARGIN}", (MARGIN_ROW,), {"alpha": ("0", "1")}),
    ),
    "loss_logistic": ExpectedDual(
        "the entropy form",
        DualForm(
            f"-sum[i] (alpha[i] * log(alpha[i]) + (1 - alpha[i]) * log(1 - alpha[i])) - {MARGIN}",
            (MARGIN_ROW,),
            {"alpha": ("0", "1")},
        ),
    ),
    "loss_squared": ExpectedDual(
        "KM Remark 7.44 at eps = 0",
        DualForm(f"{RESIDUAL} - 1/4 * sum[i] beta[i]^2", (RESIDUAL_ROW,), {"beta": ("-inf", "inf")}),
    ),
    "loss_absolute": ExpectedDual(
        "KM Code Fragment 7.10 at eps = 0", DualForm(RESIDUAL, (RESIDUAL_ROW,), {"beta": ("-1", "1")})
    ),
    "loss_eps_insensitive": ExpectedDual(
        "KM Code Fragment 7.10", DualForm(RESIDUAL, (RESIDUAL_ROW,), {"beta": ("-1", "1")}, kinks={"beta": "eps"})
    ),
    "loss_eps_insensitive_squared": ExpectedDual(
        "KM Code Fragment 7.9",
        DualForm(
            f"{RESIDUAL} - 1/4 * sum[i] beta[i]^2", (RESIDUAL_ROW,), {"beta": ("-inf", "inf")}, kinks={"beta": "eps"}
        ),
    ),
    "loss_huber": ExpectedDual(
        "least squares, boxed by the slope c of the tails",
        DualForm(f"{RESIDUAL} - 1/2 * sum[i] beta[i]^2", (RESIDUAL_ROW,), {"beta": ("-c", "c")}),
    ),
    "loss_pinball": ExpectedDual(
        "the box between the two slopes", DualForm(RESIDUAL, (RESIDUAL_ROW,), {"beta": ("tau - 1", "tau")})
    ),
    "loss_asymmetric": ExpectedDual(
        "a diagonal on one side of 0, nothing on the other",
        DualForm(f"{RESIDUAL} - 1/4 * sum[i] square(pos(beta[i]))", (RESIDUAL_ROW,), {"beta": ("-tau", "inf")}),
    ),
    "loss_multinomial": ExpectedDual(
        "the entropy form; lambda w[k] weighs each example by 1 - p at its own class and by -p elsewhere",
        DualForm(
            "-sum[i, k] p[i, k] * log(p[i, k])"
            f" - 1/(2 * lambda) * sum[i] sum[j where y[j] = y[i]] (1 - p[i, y[i]]) * (1 - p[j, y[j]]) * {PAIR}"
            f" + 1/(2 * lambda) * sum[i] sum[j, h where {OFF_TOO}, h = y[i]] (1 - p[i, y[i]]) * p[j, h] * {PAIR}"
            f" + 1/(2 * lambda) * sum[i, k where {OFF}] sum[j where k = y[j]] p[i, k] * (1 - p[j, y[j]]) * {PAIR}"
            f" - 1/(2 * lambda) * sum[i, k where {OFF}] sum[j, h where {OFF_TOO}, h = k] p[i, k] * p[j, h] * {PAIR}",
            ("sum[k] p[i, k] = 1",),
            {"p": ("0", "inf")},
        ),
    ),
    "lasso": ExpectedDual(
        "no kernel: a row of both signs for each feature, of which this is one",
        DualForm(
            LINES,
            (
                RESIDUAL_ROW,
                "sum[i] beta[i] * x[i, j] <= lambda",
                "-1 * sum[i] beta[i] * x[i, j] <= lambda",
            ),
            {"beta": ("-inf", "inf")},
        ),
    ),
    "elastic_net": ExpectedDual(
        "the conjugate of the penalty: quadratic beyond the dead zone of the L1 part",
        DualForm(
            f"{LINES} - 1/(2 * lambda * (1 - tau)) * sum[j] square(pos(abs(sum[i] beta[i] * x[i, j]) - lambda * tau))",
            (RESIDUAL_ROW,),
            {"beta": ("-inf", "inf")},
        ),
        holds_when="tau < 1",
    ),
}
