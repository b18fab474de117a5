"""Make a model file of kdsl of a model file of LIBSVM, certified where its training data are given."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from kdsl.cli.binding_options import messages, parameter, tolerance, whole
from kdsl.cli.terminal import Console

if TYPE_CHECKING:
    from kdsl.libsvm.certifying import Certified
    from kdsl.libsvm.model import LibsvmModel

SHORT_OF_OPTIMAL = 3


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("model", help="a file that LIBSVM's svm-train wrote")
    parser.add_argument("-o", dest="output", metavar="FILE", required=True, help="where to write the model")
    parser.add_argument(
        "--data", metavar="FILE", help="the training data in svmlight text: what is imported is certified"
    )
    parser.add_argument(
        "-D",
        dest="params",
        action="append",
        type=parameter,
        default=[],
        metavar="NAME=VALUE",
        help="a parameter that is known, such as C=1; else the multipliers say it",
    )
    parser.add_argument(
        "-e", type=tolerance, default=1e-3, metavar="TOL", help="m - M that svm-train stopped at (0.001)"
    )
    parser.add_argument(
        "--features", type=whole, default=0, metavar="N", help="how many there were, if no support vector has the last"
    )


def run(arguments: Namespace, console: Console) -> int:
    from kdsl.libsvm.reading import read_model

    model = read_model(arguments.model)
    for note in model.notes:
        console.err(f"note: {arguments.model}: {note}\n")
    if arguments.data is None:
        return _as_it_is(model, arguments, console)
    return _certified(model, arguments, console)


def _as_it_is(model: LibsvmModel, arguments: Namespace, console: Console) -> int:
    """A file without a certificate, shown."""
    from kdsl.cli.verbs import show

    _write(model, arguments)
    return show.run(Namespace(model=arguments.output, spec=False, json=False), console)


def _write(model: LibsvmModel, arguments: Namespace) -> None:
    from kdsl.libsvm.importing import imported_file
    from kdsl.whole_file import replacing

    content = imported_file(model, arguments.features)
    with replacing(arguments.output) as file:
        file.write(content)


def _certified(model: LibsvmModel, arguments: Namespace, console: Console) -> int:
    """One machine becomes a file that `verify` checks; machines that vote are certified here, one by one."""
    from kdsl.libsvm.certifying import certify_model
    from kdsl.libsvm.examples import read_examples
    from kdsl.libsvm.machine_report import certificates_text, warnings_of
    from kdsl.models.report import solution_text

    found = certify_model(model, *read_examples(arguments.data), dict(arguments.params), arguments.e)
    if len(found) == 1:
        found[0].solution.save(arguments.output)
        console.out(solution_text(found[0].solution))
        console.err(_moved(found[0]))
    else:
        _write(model, arguments)
        console.out(certificates_text(found))
        console.err(f"note: each pair was certified; {arguments.output} is their vote, which no certificate is about\n")
    messages(warnings_of(one.solution for one in found), console)
    return 0 if all(one.solution.status == "optimal" for one in found) else SHORT_OF_OPTIMAL


def _moved(found: Certified) -> str:
    """The scalar of the file is LIBSVM's; the certificate takes the one that is best for the multipliers."""
    name = "rho" if "rho" in found.solution.scalars else "b"
    return f"note: {name} is {found.scalar:.9g}, the best for these multipliers; LIBSVM's is {found.filed:.9g}\n"
