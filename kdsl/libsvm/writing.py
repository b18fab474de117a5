"""Writes a LibsvmModel as the text of a LIBSVM model file; every number reads back as the same float64."""

from __future__ import annotations

from kdsl.binding.kernels import Gaussian, Linear, Polynomial, Sigmoid
from kdsl.libsvm.model import LibsvmModel
from kdsl.numerics.arrays import Floats, Ints


def model_text(model: LibsvmModel) -> str:
    """The file that svm-predict and kdsl read."""
    lines = [f"svm_type {model.svm_type}", *_kernel_lines(model)]
    lines += [f"nr_class {model.nr_class}", f"total_sv {model.support.shape[0]}", f"rho {_reals(model.rho)}"]
    if model.is_classifier:
        lines += [f"label {_integers(model.label)}", f"nr_sv {_integers(model.nr_sv)}"]
    vectors = []
    for row, coefficients in enumerate(model.sv_coef):
        begin, end = model.support.indptr[row : row + 2]
        cells = zip(model.support.indices[begin:end], model.support.data[begin:end], strict=True)
        entries = [f"{column + 1}:{_real(value)}" for column, value in cells if value]
        vectors.append(" ".join([_reals(coefficients), *entries]))
    # svm_load_model wants a space after the last entry of a support vector
    return "".join(f"{line}\n" for line in [*lines, "SV"]) + "".join(f"{vector} \n" for vector in vectors)


def _kernel_lines(model: LibsvmModel) -> list[str]:
    match model.kernel:
        case Linear():
            return ["kernel_type linear"]
        case Gaussian(gamma=gamma):
            return ["kernel_type rbf", f"gamma {_real(gamma)}"]
        case Sigmoid(gamma=gamma, coef0=coef0):
            return ["kernel_type sigmoid", f"gamma {_real(gamma)}", f"coef0 {_real(coef0)}"]
        case Polynomial(degree=degree, gamma=gamma, coef0=coef0):
            named = [f"degree {degree}", f"gamma {_real(gamma)}", f"coef0 {_real(coef0)}"]
            return ["kernel_type polynomial", *named]
    raise TypeError(f"LIBSVM has no kernel {model.kernel.description}")


def _real(value: float) -> str:
    return f"{float(value):.17g}"


def _reals(values: Floats) -> str:
    return " ".join(_real(value) for value in values)


def _integers(values: Ints) -> str:
    return " ".join(str(int(value)) for value in values)
