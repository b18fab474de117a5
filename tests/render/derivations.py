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

WRITTEN = {
    "two_spaces": TWO_SPACES,
    "unsquared_norm": UNSQUARED_NORM,
    "labelled_sphere": LABELLED_SPHERE,
    "positive_squares": POSITIVE_SQUARES,
}
NAMES = (*SPECS, *WRITTEN)


@cache
def derivation(name: str) -> Derivation:
    text = SPECS[name].read_text(encoding="utf-8") if name in SPECS else WRITTEN[name]
    return pipeline.derive(pipeline.parse_spec(text, name))
