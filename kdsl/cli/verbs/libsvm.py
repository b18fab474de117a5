"""Train as svm-train does, with a certificate (`kdsl libsvm -t 2 -c 1 DATA MODEL`), or predict as svm-predict does.

The model files are LIBSVM's: `kdsl import-libsvm` and `kdsl export-libsvm` lead from them to kdsl's and back.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from kdsl.cli.binding_options import messages, parameter, tolerance
from kdsl.cli.terminal import Console
from kdsl.language.diagnostics import Diagnostic, KdslError

if TYPE_CHECKING:
    from kdsl.libsvm.options import TrainOptions
    from kdsl.libsvm.training import Trained
    from kdsl.numerics.arrays import Floats

ACTIONS = ("train", "predict")
WEIGHT = re.compile(r"-w([+-]?[0-9]+)")
SHORT_OF_OPTIMAL = 3
REFUSED = {
    "validate": (
        "-v",
        "cross-validation is not training: it leaves no model that could be certified",
        "use scikit-learn's GridSearchCV over kdsl.sklearn.KernelClassifier, or solve the folds",
    ),
    "probability": (
        "-b 1",
        "the probabilities are fitted to a cross-validation, and no primal problem has them",
        "use scikit-learn's CalibratedClassifierCV over kdsl.sklearn.KernelClassifier",
    ),
    "precomputed": (
        "-t 4",
        "a model file of LIBSVM with a precomputed kernel holds no points",
        "`kdsl solve SPEC --kernel 'k = precomputed'` takes the matrix as a table",
    ),
}


def rewrite(arguments: list[str]) -> list[str]:
    """svm-train's command line as argparse reads it: training needs no word for it, and `-w1 5` is `--weight=1=5`."""
    if not arguments or arguments[0] == "predict" or arguments in (["-h"], ["--help"]):
        return arguments
    given = arguments if arguments[0] == "train" else ["train", *arguments]
    words: list[str] = []
    for word in given:
        if words and WEIGHT.fullmatch(words[-1]):
            words[-1] = f"--weight={words[-1][2:]}={word}"
        else:
            words.append(word)
    return words


def configure(parser: ArgumentParser) -> None:
    parser.usage = "kdsl libsvm [train] [svm-train's flags] DATA [MODEL]\n       kdsl libsvm predict MODEL DATA"
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", prog="kdsl libsvm")
    _configure_training(
        actions.add_parser(
            "train",
            help="solve what svm-train's flags ask for, print the certificate, and write a model file of LIBSVM",
            usage="kdsl libsvm [train] [FLAG ...] DATA [MODEL]",
            add_help=False,
        )
    )
    predict = actions.add_parser("predict", help="print what the model says of each example, one on each line")
    predict.add_argument("model", help="a file that LIBSVM's svm-train wrote")
    predict.add_argument("data", help="examples in svmlight text: label index:value ...; the labels are not used")
    predict.add_argument("--decision", action="store_true", help="print the decision values too, one for each pair")
    predict.add_argument("-o", dest="output", metavar="FILE", help="write to FILE instead of standard output")


def _configure_training(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", help="examples in svmlight text: label index:value ...")
    add("output", metavar="MODEL", nargs="?", help="where to write the model (the name of DATA, and .model)")
    add("-s", type=int, choices=range(5), default=0, help="0 C-SVC, 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR (0)")
    add("-t", type=int, choices=range(5), default=2, help="0 linear, 1 polynomial, 2 rbf, 3 sigmoid (2)")
    add("-d", type=_degree, metavar="DEGREE", help="of the polynomial (3)")
    add("-g", type=_nonnegative, metavar="GAMMA", help="of the kernel (1 / number of features)")
    add("-r", type=_number, metavar="COEF0", help="of the kernel (0)")
    add("-c", type=_number, metavar="COST", help="C of C-SVC, epsilon-SVR and nu-SVR (1)")
    add("-n", type=_number, metavar="NU", help="nu of nu-SVC, one-class and nu-SVR (0.5)")
    add("-p", type=_number, metavar="EPSILON", help="half the width of the tube of epsilon-SVR (0.1)")
    add("-m", type=tolerance, metavar="MB", help="memory to use (256)")
    add("-e", type=tolerance, metavar="TOL", help="stop at m - M <= TOL (a relative gap of 1e-6 instead)")
    add("-h", type=int, choices=(0, 1), help="shrinking: read and not used, for the answer does not depend on it")
    add("-b", type=int, choices=(0, 1), default=0, help="0, for no probabilities are fitted")
    add(
        "--weight",
        action="append",
        type=_weight,
        default=[],
        metavar="LABEL=WEIGHT",
        help="C of this class is weight * C; -w1 5 says it as svm-train has it",
    )
    add("-v", metavar="N", help="refused, with a reason")
    add("-q", dest="quiet", action="store_true", help="print nothing but errors")
    add("--help", action="help", help="show this and end")


def default_output(arguments: Namespace) -> str | None:
    """Of training: in the current folder, called as the data are; predictions are printed."""
    import os

    return f"{os.path.basename(arguments.data)}.model" if arguments.action == "train" else None


def run(arguments: Namespace, console: Console) -> int:
    return _train(arguments, console) if arguments.action == "train" else _predict(arguments, console)


# ------------------------------------------------------------------- training


def _train(arguments: Namespace, console: Console) -> int:
    from kdsl.cli.progress import Watch
    from kdsl.libsvm.examples import read_examples
    from kdsl.libsvm.training import train
    from kdsl.libsvm.writing import model_text
    from kdsl.whole_file import write_whole

    _refuse(arguments)
    options = _options(arguments)
    points, target = read_examples(arguments.data)[:2]
    _note(arguments, options, target, console)
    with Watch(console, arguments.quiet) as watch:
        trained = train(points, target, options, watch, watch.step)
    write_whole(arguments.output, model_text(trained.model))
    if not arguments.quiet:
        _show(trained, console)
    return 0 if all(machine.solution.status == "optimal" for machine in trained.machines) else SHORT_OF_OPTIMAL


def _show(trained: Trained, console: Console) -> None:
    from kdsl.libsvm.machine_report import training_text, warnings_of

    console.out(training_text(trained))
    messages(warnings_of(machine.solution for machine in trained.machines), console)


def _refuse(arguments: Namespace) -> None:
    asked = {"validate": arguments.v is not None, "probability": arguments.b == 1, "precomputed": arguments.t == 4}
    found = [
        Diagnostic("K673", f"`{flag}` of svm-train is not taken", (), why, help)
        for name, (flag, why, help) in REFUSED.items()
        if asked[name]
    ]
    if found:
        raise KdslError(found)


def _options(arguments: Namespace) -> TrainOptions:
    from kdsl.libsvm.options import TrainOptions

    flags = {"degree": "d", "gamma": "g", "coef0": "r", "cost": "c", "nu": "n", "tube": "p", "kkt_tol": "e"}
    given = {name: getattr(arguments, flag) for name, flag in flags.items() if getattr(arguments, flag) is not None}
    if arguments.m is not None:
        given["memory"] = max(1, int(arguments.m * (1 << 20)))
    return TrainOptions(arguments.s, arguments.t, weights=dict(arguments.weight), **given)


def _note(arguments: Namespace, options: TrainOptions, target: Floats, console: Console) -> None:
    """What svm-train passes over in silence, or warns of."""
    given = frozenset(f"-{flag}" for flag in "dgrcnp" if getattr(arguments, flag) is not None)
    given |= {"-w"} if options.weights else set()
    for flag in options.unused(given):
        console.err(f"note: {flag} is not used with -s {options.svm_type} -t {options.kernel}\n")
    if options.svm_type == 0:
        for label in options.weights:
            if label not in target:
                console.err(f"note: no example has the label {label} of -w{label}\n")


def _number(text: str) -> float:
    from math import isfinite

    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise ArgumentTypeError(f"`{text}` is not a number")
    return value


def _nonnegative(text: str) -> float:
    value = _number(text)
    if value < 0:
        raise ArgumentTypeError(f"{text} is below 0")
    return value


def _degree(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"`{text}` is not a whole number")
    return int(text)


def _weight(text: str) -> tuple[int, float]:
    """`1=5`, `-1=0.5`."""
    name, value = parameter(text)
    if WEIGHT.fullmatch(f"-w{name}") is None or not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"`{text}` is not label=weight with a weight >= 0")
    return int(name), value


# ----------------------------------------------------------------- prediction


def _predict(arguments: Namespace, console: Console) -> int:
    console.out_file(_predictions(arguments, console), arguments.output)
    return 0


def _predictions(arguments: Namespace, console: Console) -> str:
    from kdsl.libsvm.examples import read_examples
    from kdsl.libsvm.reading import read_model

    model = read_model(arguments.model)
    for note in model.notes:
        console.err(f"note: {arguments.model}: {note}\n")
    decision = model.decision(read_examples(arguments.data, labelled=False)[0])
    lines = [f"{value:.17g}" for value in model.answer(decision)]
    if arguments.decision:
        tails = [" ".join(f"{value:.17g}" for value in row) for row in decision]
        lines = [f"{line} {tail}".rstrip() for line, tail in zip(lines, tails, strict=True)]
    return "".join(f"{line}\n" for line in lines)
