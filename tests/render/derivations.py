"""The derivations of the shipped specs and of models that the shipped ones do not cover, made once each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kdsl import pipeline
from kdsl.algebra.derivation import Derivation

ROOT = Path(__file__).resolve().parents[2]
SPECS = {path.stem: path for path in sorted((ROOT / "specs").glob("*.kspec"))}

TWO_SPACES = """
model two_spaces "privileged information"
index  i in 1..l
data   x[i] : input, z[i] : input, y[i] : {-1, 1}
param  C : in (0, inf) = 1, g : in (0, inf) = 1
kernel k = rbf(gamma = 0.5), q = linear
var    w : H(k), v : H(q), b : real, d : real
minimize 1/2 ||w||^2 + g/2 * ||v||^2 + C * sum[i] (<v, phi(z[i])> + d)
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - <v, phi(z[i])> - d
  slack[i]:  <v, phi(z[i])> + d >= 0
predict label(t) = sign(<w, phi(t)> + b)
"""

UNSQUARED_NORM = """
model unsquared_norm
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
param  lambda : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real
minimize sum[i] hinge(y[i] * (<w, phi(x[i])> + b)) + lambda * ||w||
predict label(t) = sign(<w, phi(t)> + b)
"""

LABELLED_SPHERE = """
model labelled_sphere "a sphere that keeps outliers out"
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
param  C : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    c : H(k), R : real, xi[i] : real >= 0
minimize R + C * sum[i] xi[i]
subject to
  side[i]: y[i] * (||phi(x[i]) - c||^2 - R) <= xi[i]
predict novelty(t) = ||phi(t) - c||^2 - R
"""

POSITIVE_SQUARES = """
model positive_squares "squared slacks that keep their sign, pairs of losses"
index  i in 1..l, j in 1..m
data   x[i] : input, y[i] : {-1, 1}, u[j] : input, v[j] : real, s_1[j] : real >= 0
param  C_1 : in (0, inf) = 1, tau : in (0, 1) = 0.3
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 + C_1/2 * sum[i] xi[i]^2 + sum[j] s_1[j] * pinball(v[j] - <w, phi(u[j])> - b; tau)
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i]
predict label(t) = sign(<w, phi(t)> + b)
"""

AWKWARD_NAMES = """
model awkward_names "100% of _odd_ #chars & <tags> $x$ {b} ~ ^ \\ ü α 中"
index  i in 1..5, j in 1..n_pairs, g in some_groups
data   x[i] : input, y[i] : {-1, 1}, my_group[i] : some_groups, u_1[j] : input, u_2[j] : input
data   cost[g] : real >= 0
param  C_plus : in (0, inf) = 1, lambda2 : in (0, inf) = 1, very_long_name : in (0, inf) = 2, kappa : in (0, inf)
kernel k = rbf(gamma = 0.5)
var    w_main : H(k), b_group[g] : real, xi[i] : real >= 0, xi'[i] : real >= 0, zeta''[j] : real >= 0
let    score(t, h) = <w_main, phi(t)> + b_group[h]
minimize lambda2/2 * ||w_main||^2 + C_plus * sum[i where y[i] = 1] cost[my_group[i]] * xi[i]
  + very_long_name * sum[i] xi'[i]^2 + sum[j] kappa * zeta''[j]
subject to
  margin_of_example[i] where y[i] = 1: y[i] * score(x[i], my_group[i]) >= 1 - xi[i] - xi'[i]
  other[i] where y[i] != 1: y[i] * score(x[i], my_group[i]) >= 1 - xi'[i]
  pairs[j]: <w_main, phi(u_1[j]) - phi(u_2[j])> >= 1 - zeta''[j]
  total: sum[g] b_group[g] = 0
  upper[g]: b_group[g] <= 3
predict label(t, g) = sign(score(t, g))
"""

UNKNOWNS_ONLY = """
var x : real
minimize x^2 - 2 * x
"""

WRITTEN = {
    "awkward_names": AWKWARD_NAMES,
    "two_spaces": TWO_SPACES,
    "unsquared_norm": UNSQUARED_NORM,
    "labelled_sphere": LABELLED_SPHERE,
    "positive_squares": POSITIVE_SQUARES,
    "unknowns_only": UNKNOWNS_ONLY,
}
NAMES = (*SPECS, *WRITTEN)


@cache
def derivation(name: str) -> Derivation:
    text = SPECS[name].read_text(encoding="utf-8") if name in SPECS else WRITTEN[name]
    return pipeline.derive(pipeline.parse_spec(text, name))
