"""Writing a problem in Python: `from kdsl.api import Problem, inner, norm, phi, sum_over, rbf`."""

from kdsl.api.errors import ProblemError
from kdsl.api.functions import argmax, exp, inner, log, maximum, norm, phi, pos, sign, square, sum_over
from kdsl.api.kernels import laplacian, linear, normalized, poly, precomputed, rbf, sigmoid
from kdsl.api.losses import (
    absolute,
    eps_insensitive,
    eps_insensitive_squared,
    hinge,
    huber,
    huberized_squared_hinge,
    logistic,
    multinomial,
    perceptron,
    pinball,
    squared,
    squared_hinge,
)
from kdsl.api.problem import Problem

__all__ = [
    "Problem",
    "ProblemError",
    "absolute",
    "argmax",
    "eps_insensitive",
    "eps_insensitive_squared",
    "exp",
    "hinge",
    "huber",
    "huberized_squared_hinge",
    "inner",
    "laplacian",
    "linear",
    "log",
    "logistic",
    "maximum",
    "multinomial",
    "norm",
    "normalized",
    "perceptron",
    "phi",
    "pinball",
    "poly",
    "pos",
    "precomputed",
    "rbf",
    "sigmoid",
    "sign",
    "square",
    "squared",
    "squared_hinge",
    "sum_over",
]
