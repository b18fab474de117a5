"""The options that say where data come from and how they are bound, and the values that they take."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kdsl.cli.python_function import load_function
from kdsl.cli.terminal import Console

if TYPE_CHECKING:
    from argparse import _ArgumentGroup
    from typing import TypeAlias

    from kdsl.language.diagnostics import Diagnostic
    from kdsl.language.model import Model

    Arguments: TypeAlias = ArgumentParser | _ArgumentGroup

FUNCTION = re.compile(r"(?P<path>.+\.py):(?P<name>[A-Za-z_]\w*)")
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def add_data_options(parser: Arguments, required: bool = True) -> None:
    parser.add_argument(
        "--data",
        action="append",
        required=required,
        metavar="[INDEX:]FILE",
        help="the table of the first index set, or of the index named (j:pairs.csv)",
    )
    add_base_option(parser)
    parser.add_argument("--target", metavar="COLUMN", help="the column of labels or responses")
    parser.add_argument(
        "--features", action="append", metavar="[INPUT=]A,B", help="the columns of the inputs, or of one input"
    )
    parser.add_argument("--bind", action="append", type=pair, metavar="DATUM=COLUMN", help="such as s=weight")
    parser.add_argument("--positive", metavar="LABEL", help="the label that becomes +1")
    parser.add_argument("--onehot", action="store_true", help="expand text columns to columns of 0 and 1")
    parser.add_argument("--drop-missing", action="store_true", help="leave out rows with missing values")
    parser.add_argument("--scale", choices=("standard", "minmax", "none"), default="none", help="none unless given")


def add_base_option(parser: Arguments) -> None:
    parser.add_argument(
        "--index-base", type=int, choices=(0, 1), help="where svmlight text begins to count (1, or 0 where a 0 occurs)"
    )


def add_resource_options(parser: ArgumentParser) -> None:
    parser.add_argument("--memory", type=size, metavar="BYTES", help="what may be used, such as 512M or 2G")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def add_function_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--kernel", action="append", metavar="'K = FILE.py:FUNCTION'", help="the Python function of a kernel, once more"
    )
    parser.add_argument("--allow-python", action="store_true", help="let it run that file")


def functions_of(arguments: Namespace) -> dict[str, Any]:
    """The Python functions that a model file names but does not hold."""
    functions: dict[str, Any] = {}
    for word in arguments.kernel or []:
        name, _, text = word.partition("=")
        python = FUNCTION.fullmatch(text.strip())
        if python is not None:
            functions[name.strip()] = load_function(python["path"], python["name"], arguments.allow_python)
    return functions


def messages(diagnostics: Sequence[Diagnostic], console: Console) -> None:
    """Print messages that have no place in a spec."""
    from kdsl.language.report import render_text

    if diagnostics:
        plain = [d._replace(labels=()) for d in diagnostics]
        console.err(render_text(plain, "", "", console.colour_err, console.ascii))


def binding_of(arguments: Namespace, model: Model) -> dict[str, Any]:
    """The options as `bind` takes them."""
    binding: dict[str, Any] = {"scale": arguments.scale}
    if arguments.target is not None:
        binding["target"] = arguments.target
    if arguments.positive is not None:
        binding["positive"] = arguments.positive
    if arguments.bind:
        binding["bindings"] = dict(arguments.bind)
    if arguments.onehot:
        binding["onehot"] = True
    if arguments.drop_missing:
        binding["drop_missing"] = True
    inputs = {datum.name for datum in model.data if datum.kind == "input"}
    chosen: dict[str, list[str]] = {}
    for given in arguments.features or []:
        name, mark, rest = given.partition("=")
        key, columns = (name, rest) if mark and name in inputs else ("", given)
        chosen.setdefault(key, []).extend(word.strip() for word in columns.split(",") if word.strip())
    if chosen:
        binding["features"] = chosen
    return binding


def tables_of(given: list[str], model: Model, base: int | None = None) -> dict[str, Any]:
    """Tables by index (`j:pairs.csv`) or by the datum that they are (`delta:costs.csv`); the rest is of the first set.

    A prefix that is no name of the model belongs to the path, unless there is a file without it only.
    """
    from kdsl.binding.faults import fault, nearest
    from kdsl.binding.reading import read_table
    from kdsl.binding.sources import own_tables

    indices = {name for index in model.indices for name in (*index.names, *(z.size for z in index.sets))}
    indices |= own_tables(model)
    tables: dict[str, str] = {}
    for word in given:
        name, mark, path = word.partition(":")
        key, path = (name, path) if mark and name in indices else ("", word)
        if name.isidentifier() and name not in indices and not os.path.exists(word) and mark_of_file(word, name):
            message = f"`{word}` is bound to `{name}`, which is no index of the model `{model.name}`"
            raise fault("K523", message, help=nearest(name, sorted(indices)))
        if key in tables:
            what = f"`{key}`" if key else "the first index set"
            raise fault("K523", f"{what} is given two tables: `{tables[key]}` and `{path}`", help="give one of the two")
        tables[key] = path
    if base is None:
        return dict(tables)
    return {key: read_table(path, base=base) for key, path in tables.items()}


def mark_of_file(word: str, name: str) -> bool:
    """Whether what follows `name:` is a file."""
    return os.path.exists(word.removeprefix(f"{name}:"))


def kernels_of(given: list[str], model: Model, allow_python: bool) -> dict[str, Any]:
    """Kernels by name, as text or, for `k = file.py:function`, as the function."""
    kernels: dict[str, Any] = {}
    for word in given:
        name, mark, text = word.partition("=")
        if len(model.kernels) == 1 and not (mark and name.strip().isidentifier()):
            name, text = model.kernels[0].name, word  # 'rbf(gamma = 1)' alone leaves no doubt
        name, text = name.strip(), text.strip()
        python = FUNCTION.fullmatch(text)
        kernels[name] = text if python is None else load_function(python["path"], python["name"], allow_python)
    return kernels


def pair(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark or not name.strip() or not value.strip():
        raise ArgumentTypeError(f"`{text}` is not of the form name=value")
    return name.strip(), value.strip()


def parameter(text: str) -> tuple[str, float]:
    """`C=10`, `gamma=1/13`, `C=inf`."""
    from fractions import Fraction

    name, value = pair(text)
    try:
        return name, float(value) if "/" not in value else float(Fraction(value))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ArgumentTypeError(f"`{value}` is not a number") from None


def tolerance(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"`{text}` is not a positive number")
    return value


def size(text: str) -> int:
    """A number of bytes: 1000000, 512M, 2G, 1.5GB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.strip().lower())
    if found is None or not float(found[1]) > 0:
        raise ArgumentTypeError(f"`{text}` is not a number of bytes such as 512M or 2G")
    return int(float(found[1]) * UNITS[found[2]])


def whole(text: str) -> int:
    """A whole number above 0."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentTypeError(f"`{text}` is not a positive whole number")
    return int(text)
