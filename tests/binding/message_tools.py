"""What the situations of the K5xx messages are made with: tables, data and kernels in an empty folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from binding_models import BINARY, datum

from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.kernel_builder import build_kernel
from kdsl.language.syntax import KernelCall, Name

EYE = np.eye(3)
POINT = BINARY._replace(data=(*BINARY.data, datum("z", "input", sets=())))


def write(text, name="train.csv"):
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def table(text, spec=BINARY, name="train.csv", **options):
    return bind(spec, {"": write(text, name)}, **options).warnings


def data(spec, values, **options):
    return bind(spec, tables_from_data(spec, values), **options).warnings


def call(name, **arguments):
    return KernelCall(Name(name), tuple((Name(word), value) for word, value in arguments.items()))


def kernel(expression, points=EYE, parameters=None, **others):
    build_kernel(expression, parameters or {}, points, ("age", "income", "job"), **others)


def cases(names):
    """The situations among the names of a module, by code: functions that are run in an empty folder.

    The error that each raises, or the warnings that it returns, are the message; its text is on the code's page.
    """
    return {name: case for name, case in names.items() if name[0] == "k" and name[1:4].isdigit()}
