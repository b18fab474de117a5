"""Solve a spec on data, and certify the answer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from kdsl import pipeline
from kdsl.cli.binding_options import (
    add_data_options,
    add_resource_options,
    binding_of,
    kernels_of,
    messages,
    parameter,
    tables_of,
    tolerance,
    whole,
)
from kdsl.cli.sources import Source, SpecError, read_model, report
from kdsl.cli.terminal import Console
from kdsl.cli.values import bound_options, seconds, seed, threads
from kdsl.language.diagnostics import Diagnostic, KdslError

if TYPE_CHECKING:
    from kdsl.cli.binding_options import Arguments
    from kdsl.language.model import Model
    from kdsl.models.solution import Solution
    from kdsl.plot import Record
    from kdsl.report.account import Account
    from kdsl.solving.api import Prepared
    from kdsl.solving.backends.interface import Options
    from kdsl.solving.bounds import Bound
    from kdsl.solving.infeasibility import NoSolution

EXIT = {"optimal": 0, "infeasible": 1, "unbounded": 1, "infeasible_or_unbounded": 1}
OTHERWISE = 3


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("spec", help="a path, the name of a shipped spec, or - for standard input")
    add_data_options(parser, required=False)
    add_solver_options(parser)
    parser.add_argument("-o", dest="output", metavar="MODEL", help="save the model")
    parser.add_argument("--report", metavar="HTML", help="write everything, with pictures, to one HTML page")
    parser.add_argument(
        "--bounds",
        type=bound_options,
        metavar="delta=0.05[,gamma=G]",
        help="evaluate the theorems about a problem of this form, each with probability 1 - delta",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_resource_options(parser)


def add_solver_options(parser: Arguments) -> None:
    """What a solve may be told besides its data."""
    parser.add_argument("-D", dest="params", action="append", type=parameter, metavar="NAME=VALUE", help="a parameter")
    parser.add_argument("--kernel", action="append", metavar="'K = EXPR'", help="such as 'k = rbf(gamma = 0.1)'")
    parser.add_argument("--backend", metavar="NAME", help="a backend that `kdsl backends` lists")
    parser.add_argument("--tol", type=tolerance, default=1e-6, help="relative gap and infeasibility allowed (1e-6)")
    parser.add_argument("--kkt-tol", type=tolerance, metavar="TOL", help="stop on LIBSVM's m - M instead of the gap")
    parser.add_argument("--max-iterations", type=whole, metavar="N", help="of the solver; none unless given")
    parser.add_argument(
        "--time-limit", type=seconds, metavar="SECONDS", default=float("inf"), help="of the solver; none unless given"
    )
    parser.add_argument(
        "--threads", type=threads, metavar="N", help="of the solver; else all, or one for a small problem"
    )
    parser.add_argument("--seed", type=seed, default=0, help="of what is drawn at random (0)")
    parser.add_argument(
        "--psd",
        choices=("refuse", "clip", "shift", "accept"),
        default="refuse",
        help="what to do with a Gram matrix that has a negative eigenvalue (refuse)",
    )
    parser.add_argument("--allow-python", action="store_true", help="let 'k = file.py:function' run that file")


def run(arguments: Namespace, console: Console) -> int:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what overflows is in the certificate
        return _solve(arguments, console)


def _solve(arguments: Namespace, console: Console) -> int:
    source, model, found = read_model(arguments.spec)
    check_kernels(arguments.kernel or [])
    return _answer(prepare_problem(model, arguments), found, source, arguments, console)


def check_kernels(given: list[str]) -> None:
    """Refuse words of the command line that are no kernels, each with its place in them."""
    from kdsl.cli.binding_options import FUNCTION
    from kdsl.language.parser import parse_kernel

    for word in given:
        name, mark, text = word.partition("=")
        whole = word if mark and name.strip().isidentifier() else f"k = {word}"
        if FUNCTION.fullmatch(text.strip()):
            continue
        try:
            parse_kernel(whole)
        except KdslError as error:
            raise SpecError(error.diagnostics, Source(whole, "", "--kernel")) from None


def prepare_problem(model: Model, arguments: Namespace) -> Prepared:
    from kdsl.binding.faults import fault, listing
    from kdsl.binding.kernels import DEFAULT_MEMORY

    if model.data and not arguments.data:
        needed = f"`{model.name}` needs {listing([datum.name for datum in model.data])}"
        raise fault("K521", "nothing is bound: no data are given", needed, "say `--data FILE`")
    return pipeline.prepare(
        model,
        tables_of(arguments.data or [], model, arguments.index_base),
        dict(arguments.params or []),
        kernels_of(arguments.kernel or [], model, arguments.allow_python),
        memory=arguments.memory or DEFAULT_MEMORY,
        seed=arguments.seed,
        psd=arguments.psd,
        allow_python=arguments.allow_python,
        **binding_of(arguments, model),
    )


def options_of(arguments: Namespace) -> Options:
    """What the solver is asked for."""
    from kdsl.solving.asked_options import asked_options

    return asked_options(
        arguments.tol,
        arguments.kkt_tol,
        arguments.max_iterations,
        arguments.time_limit,
        arguments.threads,
        arguments.memory,
        arguments.seed,
    )


def _answer(
    prepared: Prepared, found: tuple[Diagnostic, ...], source: Source, arguments: Namespace, console: Console
) -> int:
    """Solve, and say what came of it; `found` are the warnings of the checker."""
    from kdsl.cli.progress import Watch
    from kdsl.solving.infeasibility import NoSolution

    with Watch(console, arguments.quiet) as watch:
        record = None
        if arguments.report is not None:
            from kdsl.plot import Record

            record = Record(watch)
        refused: NoSolution | None = None
        try:
            solution = pipeline.solve(prepared, options_of(arguments), arguments.backend, record or watch, watch.step)
        except NoSolution as none:
            refused = none
    if refused is not None:
        return _without_solution(prepared, refused, found, arguments, console)
    return _show(solution, record, found, source, arguments, console)


def _without_solution(
    prepared: Prepared, none: NoSolution, found: tuple[Diagnostic, ...], arguments: Namespace, console: Console
) -> int:
    """An infeasible or unbounded problem is a result, with its witness."""
    from kdsl.models.report import no_solution_entry

    if arguments.json:
        import json

        entry = no_solution_entry(prepared.posed, none, {**prepared.seconds, "total": sum(prepared.seconds.values())})
        console.out_file(json.dumps(entry, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        console.out(f"status  {none.status}\n")
    messages((*prepared.posed.bound.warnings, *none.diagnostics), console)
    if arguments.report is not None:
        from kdsl.report.account import account_of_none

        _report(account_of_none(prepared.posed, none), found, arguments)
    return EXIT.get(none.status, OTHERWISE)


def _show(
    solution: Solution,
    record: Record | None,
    found: tuple[Diagnostic, ...],
    source: Source,
    arguments: Namespace,
    console: Console,
) -> int:
    """The answer, then the model file, then the page: a disk that is full does not lose the answer."""
    from kdsl.models.report import solution_entry, solution_text, warning_entry
    from kdsl.solving.bounds import bounds_text

    if arguments.json:
        import json

        entry = solution_entry(solution)
        entry["warnings"] = [*(warning_entry(d) for d in found), *entry["warnings"]]
        if arguments.bounds is not None:
            entry["bounds"] = [bound.entry() for bound in _bounds(solution, arguments)]
        console.out_file(json.dumps(entry, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        console.out(solution_text(solution))
        if arguments.bounds is not None:
            console.out(bounds_text(_bounds(solution, arguments)))
        report(found, source, console)
        messages(solution.warnings, console)
    if arguments.output is not None:
        solution.save(arguments.output)
    if arguments.report is not None:
        from dataclasses import replace

        from kdsl.report.account import account_of

        bounds = None if arguments.bounds is None else _bounds(solution, arguments)
        _report(replace(account_of(solution), bounds=bounds, record=record), found, arguments)
    return EXIT.get(solution.status, OTHERWISE)


def _report(account: Account, found: tuple[Diagnostic, ...], arguments: Namespace) -> None:
    """Write the page, with the warnings of the checker before those of the data and the solver."""
    from dataclasses import replace

    from kdsl.report.writing import write_report

    write_report(replace(account, warnings=(*found, *account.warnings)), arguments.report)


def _bounds(solution: Solution, arguments: Namespace) -> tuple[Bound, ...]:
    from kdsl.solving.bounds import evaluate_bounds

    return evaluate_bounds(solution, **arguments.bounds)
