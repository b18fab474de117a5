"""The unit in which LIBSVM writes the decision values of a machine, read off the problem that it solves.

LIBSVM's classifiers have the margin 1: where a problem has y f(x) >= r - xi with an unknown r, f is divided by r. A
slack of its one-class machine costs 1: where it costs p, the problem is LIBSVM's for f / p.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from kdsl.algebra.formulate import formulate
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.poly import Factors, Monomial, Poly
from kdsl.algebra.primal import Condition, Primal
from kdsl.algebra.terms import Factor, Inner, Sym, Vec
from kdsl.models.model_file import LoadedModel
from kdsl.models.solution import Solution


def unit_of(solved: Solution | LoadedModel, vector: Vec) -> float:
    """What the expansion of `vector` and its constant are multiplied by; 1 where the problem has neither form."""
    if isinstance(solved, LoadedModel) and solved.certificate is None:
        return float(solved.header.get("unit", 1.0))
    fitted = solved.fitted
    kind, predictor = fitted.clause.kind, fitted.predictor
    primal = formulate(fitted.model, {name: Fraction(value) for name, value in predictor.parameters.items()})
    about = [c for c in primal.conditions if c.kind == "stated" and _is_about(c, vector)]
    if kind not in ("label", "novelty") or len(about) != 1:
        return 1.0
    measure = _margin(about[0]) if kind == "label" else _price(primal, about[0])
    if any(measure.mentions(name) for name in predictor.scalars):  # a part of f itself
        return 1.0
    arrays = {name: np.asarray(value) for name, value in {**predictor.parameters, **solved.scalars}.items()}
    size = float(evaluate(measure, Values(predictor.sizes, arrays, {}, {}, _no_products, _no_squares)))
    return 1.0 / size if 0 < size < np.inf else 1.0


def _is_about(condition: Condition, vector: Vec) -> bool:
    """Whether it bounds the value of the expansion at an example."""
    products = [factor for factor in condition.body.factors() if isinstance(factor, Inner)]
    return any(vector in product and (product.left.feature or product.right.feature) for product in products)


def _margin(condition: Condition) -> Poly:
    """r of r - xi - y f(x) <= 0: the terms that are the same for every example."""
    return condition.body.split(lambda term: not term.binders and _is_constant(term.factors))[0]


def _price(primal: Primal, condition: Condition) -> Poly:
    """p of the sum of p xi in the objective, where it is the same for every example; else 0."""
    slacks = {factor for factor in condition.body.factors() if isinstance(factor, Sym) and factor.role == "var"}
    names = {slack.name for slack in slacks if slack.args}
    found = Poly()
    for term, coefficient in primal.objective.terms.items():
        others = tuple(each for each in term.factors if not (isinstance(each[0], Sym) and each[0].name in names))
        if len(others) < len(term.factors) and _is_constant(others):
            found += Poly({Monomial((), others): coefficient})
    return found


def _is_constant(factors: Factors) -> bool:
    return all(_is_number(factor) for factor, _ in factors)


def _is_number(factor: Factor) -> bool:
    """Whether the solution has it as one number."""
    return isinstance(factor, Sym) and not factor.args and factor.role in ("size", "param", "var")


def _no_products(first: Vec, second: Vec) -> Array:
    raise KeyError(f"<{first.name}, {second.name}>")


def _no_squares(vec: Vec) -> Array:
    raise KeyError(vec.name)
