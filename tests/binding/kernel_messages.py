"""One failing situation for every message about parameters, kernels and their audit: K550 to K577."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from binding_models import BINARY, X, model, parameter
from message_tools import EYE, call, cases, kernel, table

from kdsl.binding.composed import Normalized, Sum
from kdsl.binding.gram import DenseGram, KernelGram
from kdsl.binding.kernel_values import check_values
from kdsl.binding.kernels import Linear, Polynomial, Sigmoid
from kdsl.binding.parameters import bind_parameters
from kdsl.binding.points import Points
from kdsl.binding.precomputed import Precomputed, test_points, training_points
from kdsl.binding.psd import audit_psd, repair
from kdsl.binding.python_kernel import PythonKernel
from kdsl.binding.records import record_kernel, restore_kernel
from kdsl.language.model import Interval
from kdsl.language.syntax import KernelOn, KernelProduct, Name, Number

test_points.__test__ = False

C_AND_NU = model(
    [X],
    parameters=(
        parameter("C", Interval(Fraction(0), None, True), 1),
        parameter("nu", Interval(Fraction(0), Fraction(1), True), Fraction(1, 2)),
        parameter("eps", Interval(Fraction(0), None)),
    ),
)


# --------------------------------------------------- parameters and kernels


def k550():
    bind_parameters(C_AND_NU, {"nu": 1.5, "eps": 0.1})


def k550_word():
    bind_parameters(C_AND_NU, {"nu": "low", "eps": 0.1})


def k551():
    bind_parameters(C_AND_NU, {"D": 1.5, "eps": 0.1})


def k552():
    bind_parameters(C_AND_NU, {})


def k560():
    kernel(call("gausian"))


def k560_round():
    kernel(call("q"), declared={"q": KernelProduct((call("r"), call("linear"))), "r": call("q")})


def k561():
    kernel(call("rbf", gama=Number("1")))


def k561_two():
    kernel(call("rbf", gamma=Number("1"), sigma=Number("2")))


def k561_name():
    kernel(call("rbf", gamma=Name("scal")))


def k561_normalized():
    kernel(call("normalized"))


def k562():
    kernel(call("rbf", gamma=Name("g")), parameters={"g": -2.0})


def k562_degree():
    kernel(call("poly", degree=Number("2.5")))


def k562_factor():
    kernel(KernelProduct((call("t"), call("linear"))), parameters={"t": -1.0})


def k562_width():
    kernel(call("rbf", sigma=Number("1e-200")))


def k563():
    kernel(call("mine"), functions={"mine": lambda a, b: a @ b.T}, allow_python=False)


def k564():
    PythonKernel(lambda a, b: np.where((a @ b.T) == 0, np.nan, 1.0), "mine").block(EYE, EYE)


def k564_shape():
    PythonKernel(lambda a, b: np.ones(3), "mine").block(EYE, EYE)


def k564_asymmetric():
    audit_psd(KernelGram(PythonKernel(lambda a, b: (a > b.T) * 0.5 + (a == b.T), "mine"), np.arange(3.0)[:, None]))


def k564_complex():
    PythonKernel(lambda a, b: (a @ b.T) * (1 + 5j), "mine").block(EYE, EYE)


def k565():
    kernel(KernelOn(call("linear"), (Name("incom"),)))


def k566():
    training_points(np.array([[1.0, 0.5], [0.4, 1.0]]), "`gram.csv`")


def k566_square():
    training_points(np.ones((2, 3)), "`gram.csv`")


def k566_new():
    test_points(np.ones((4, 2)), 3, None, "`cross.csv`")


def k566_diagonal():
    Precomputed().diagonal(test_points(np.ones((4, 3)), 3, None, "`cross.csv`"))


def k566_pair():
    new = test_points(np.ones((4, 3)), 3, None, "`cross.csv`")
    Precomputed().block(new, new)


def k567():
    Normalized(Sigmoid(1.0, -2.0)).block(EYE, EYE)


def k568():
    kernel(call("rbf", gamma=Name("scale")), np.ones((4, 3)))


def k568_median():
    kernel(call("rbf", gamma=Name("median")), np.ones((4, 3)))


def k569():
    record = record_kernel(Sum((Linear(), PythonKernel(lambda a, b: a @ b.T, "mine"))))
    restore_kernel(record).block(EYE, EYE)


# ---------------------------------------------------------------- the audit


INDEFINITE = DenseGram(np.array([[1.0, 2.0], [2.0, 1.0]]))


def k570():
    repair(INDEFINITE, audit_psd(INDEFINITE))


def k570_single():
    matrix = DenseGram(np.array([[1.0, 1 + 2**-20], [1 + 2**-20, 1.0]]))
    repair(matrix, audit_psd(matrix))


def k571():
    matrix = DenseGram(np.kron(np.eye(8), INDEFINITE.matrix))
    repair(matrix, audit_psd(matrix, limit=4), "clip")


def k572():
    return repair(INDEFINITE, audit_psd(INDEFINITE), "accept").warnings


def k573():
    repair(INDEFINITE, audit_psd(INDEFINITE), "flip")


def k574():
    return repair(INDEFINITE, audit_psd(INDEFINITE), "clip").warnings


def k574_shift():
    return repair(INDEFINITE, audit_psd(INDEFINITE), "shift").warnings


def k575():
    points = np.random.default_rng(0).normal(size=(12, 3))
    matrix = DenseGram(Linear().block(points, points) + 0.5 * np.eye(12))
    return repair(matrix, audit_psd(matrix, limit=4)).warnings


def k576():
    check_values(Polynomial(degree=400), Points(np.array([[1.0, 2], [3, 4]]), ("a", "b"), "train.csv"), "k")


def k577():
    spec = BINARY._replace(kernels=(BINARY.kernels[0]._replace(expression=call("linear")),))
    return table("time,y\n1700000000,0\n1700000600,1\n1700000300,0\n", spec)


CASES = cases(globals())
