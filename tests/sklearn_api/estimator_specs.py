"""Specs that users of the estimators might write."""

from __future__ import annotations

from kdsl import parse_spec

WEIGHTED_SQUARED_HINGE = parse_spec(
    """
model my_machine "weighted squared hinge loss, with the kernel's width as a parameter"
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}, s[i] : real >= 0 = 1
param  C : in (0, inf) = 1, gamma : in (0, inf) = 0.5
kernel k = rbf(gamma = gamma)
var    w : H(k), b : real
let    f(t) = <w, phi(t)> + b
minimize 1/2 ||w||^2 + C * sum[i] s[i] * squared_hinge(y[i] * f(x[i]))
predict label(t) = sign(f(t))
"""
)

ALL_CLASSES = parse_spec(
    """
model all_classes "one machine for all classes"
index  i in 1..l, k in classes
data   x[i] : input, y[i] : classes
param  C : in (0, inf) = 1
kernel q = rbf(gamma = 0.5)
var    w[k] : H(q), xi[i] : real >= 0
minimize 1/2 sum[k] ||w[k]||^2 + C * sum[i] xi[i]
subject to
  margin[i, k] where k != y[i]: <w[y[i]] - w[k], phi(x[i])> >= 1 - xi[i]
predict class(t) = argmax[k] <w[k], phi(t)>
"""
)

PROBABILITIES = parse_spec(
    """
model probabilities "a logistic machine that says how sure it is"
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}, s[i] : real >= 0 = 1
param  lambda : in (0, inf) = 0.5
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real
let    f(t) = <w, phi(t)> + b
minimize 1/2 * lambda * ||w||^2 + sum[i] s[i] * logistic(y[i] * f(x[i]))
predict label(t) = sign(f(t))
predict probability(t) = 1/(1 + exp(-f(t)))
"""
)

CLASS_PROBABILITIES = parse_spec(
    """
model class_probabilities "multinomial logistic loss with a probability for each class"
index  i in 1..l, k in classes, m in classes
data   x[i] : input, y[i] : classes
param  lambda : in (0, inf) = 0.5
kernel q = rbf(gamma = 0.5)
var    w[k] : H(q)
let    f(k, t) = <w[k], phi(t)>
minimize 1/2 * lambda * sum[k] ||w[k]||^2 + sum[i] multinomial(f(k, x[i]); k, y[i])
predict class(t) = argmax[k] f(k, t)
predict probability(t, k) = exp(f(k, t)) / sum[m] exp(f(m, t))
"""
)

WEIGHTED_RIDGE = parse_spec(
    """
model weighted_ridge "ridge regression with weights and a bias"
index  i in 1..l
data   x[i] : input, y[i] : real, s[i] : real >= 0 = 1
param  lambda : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real
minimize lambda * ||w||^2 + sum[i] s[i] * squared(y[i] - <w, phi(x[i])> - b)
predict value(t) = <w, phi(t)> + b
"""
)

WEIGHTED_ONE_CLASS = parse_spec(
    """
model weighted_one_class "a threshold that heavy examples pull more"
index  i in 1..l
data   x[i] : input, s[i] : real >= 0 = 1
param  c : in (0, inf) = 0.2
kernel k = rbf(gamma = 0.5)
var    w : H(k), rho : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 - rho + c * sum[i] s[i] * xi[i]
subject to
  margin[i]: <w, phi(x[i])> >= rho - xi[i]
predict novelty(t) = rho - <w, phi(t)>
"""
)
