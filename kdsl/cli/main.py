"""The `kdsl` command: finds the verb, runs it, and turns whatever happens into an exit code.

0 ok; 1 the model or the data; 2 usage; 3 tolerance, limit or failed verification; 4 environment;
5 nothing could be tested; 70 a bug of ours; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from kdsl.cli.terminal import Console, discard_stdout, finish_stdout, open_console
from kdsl.cli.usage import UsageError, asks_for_json
from kdsl.language.diagnostics import KdslError

OK, USAGE, ENVIRONMENT, BUG, INTERRUPTED = 0, 2, 4, 70, 130

# Each verb is a module under kdsl.cli.verbs with `configure(parser)` and `run(arguments, console) -> exit code`,
# imported when it is called; a hyphen of the verb is an underscore there.
VERBS = {
    "init": "start a spec of your own from a template",
    "check": "report every mistake in a spec",
    "fmt": "lay a spec out in the standard way",
    "compile": "print a spec as one stage of the compiler sees it",
    "derive": "derive the Lagrangian, the dual and the KKT conditions, step by step",
    "solve": "solve a spec on data, and certify the answer",
    "predict": "predict new points with a saved model",
    "verify": "compute a saved model again from the data, and compare",
    "show": "show what a saved model holds",
    "report": "write a saved model and its data to one HTML page",
    "plot": "draw a solved problem, or a loss, for paper",
    "libsvm": "train or predict as LIBSVM does, with a certificate",
    "import-libsvm": "make a model file of kdsl of a model file of LIBSVM",
    "export-libsvm": "write a saved model as a model file of LIBSVM",
    "qp": "solve and certify a general quadratic program",
    "backends": "list the solvers, with versions and what each can take",
    "bench": "time kdsl against its peers, on problems that can be repeated",
    "specs": "list the specs that come with kdsl",
    "explain": "explain a diagnostic code such as K203",
}

WELCOME = """\
kdsl takes the primal problem of a kernel machine as the textbook prints it, derives the dual, and solves it with a
certificate. Three commands to try:

  kdsl derive svm_1norm
      the Lagrangian, dual and KKT conditions of a spec that comes with it

  kdsl solve svm_1norm --data {crescents} --positive upper --report crescents.html
      its solution on data that come with it, and a page with everything about it

  kdsl init my_svm
      a spec of your own, with comments that say what to change

`kdsl specs` lists the specs, `kdsl --help` the verbs, and `kdsl VERB --help` tells more about one of them.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        return _guarded(arguments, open_console(asks_for_json(arguments)))
    except KeyboardInterrupt:
        discard_stdout()
        return INTERRUPTED


def _guarded(arguments: list[str], console: Console) -> int:
    """Run the command; no exception but an interrupt gets past this point."""
    try:
        code = _with_object(arguments, console)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        discard_stdout()
        return OK
    except UsageError as error:
        console.err(str(error))
        return USAGE
    except (OSError, ModuleNotFoundError, MemoryError) as error:
        if (getattr(error, "name", None) or "").partition(".")[0] == "kdsl":
            return _our_fault(error, arguments, console)
        from kdsl.cli.refusals import from_outside

        finish_stdout()
        console.err(f"kdsl: {from_outside(error).message}\n")
        return ENVIRONMENT
    except Exception as error:
        return _our_fault(error, arguments, console)


def _with_object(arguments: list[str], console: Console) -> int:
    """Run the command; what ends it has its object before its message, where JSON is asked for."""
    try:
        return _dispatch(arguments, console)
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if console.json and not console.printed:
            from kdsl.cli.refusals import from_outside, print_object

            print_object([from_outside(error)], console)
            finish_stdout()
        raise


def _our_fault(error: Exception, arguments: list[str], console: Console) -> int:
    from kdsl.cli.apology import apologise

    apologise(error, arguments, console)
    return BUG


def _dispatch(arguments: list[str], console: Console) -> int:
    if not arguments:
        from shlex import quote

        from kdsl import resources

        console.out(WELCOME.format(crescents=quote(resources.example_path("crescents.csv"))))
        return OK
    verb, *rest = arguments
    if verb in VERBS:
        return _run(verb, rest, console)
    if verb in ("-h", "--help", "help"):
        if rest and rest[0] in VERBS:
            return _run(rest[0], ["--help"], console)
        console.out(_overview())
        return OK
    if verb in ("-V", "--version"):
        from kdsl import __version__

        console.out(f"kdsl {__version__}\n")
        return OK
    raise _unknown(verb)


def _run(verb: str, arguments: list[str], console: Console) -> int:
    from importlib import import_module

    from kdsl.cli.instructions import check_instructions
    from kdsl.cli.parser import CommandParser
    from kdsl.cli.places import check_places

    module = import_module(f"kdsl.cli.verbs.{verb.replace('-', '_')}")
    parser = CommandParser(prog=f"kdsl {verb}", description=module.__doc__)
    module.configure(parser)
    rewrite: Callable[[list[str]], list[str]] = getattr(module, "rewrite", list)  # libsvm has svm-train's flags
    try:
        parsed = parser.parse_args(rewrite(arguments))
    except SystemExit:  # it has printed its help
        return OK
    try:
        if hasattr(module, "default_output") and parsed.output is None:
            parsed.output = module.default_output(parsed)
        check_places(parsed)
        check_instructions()
        code: int = module.run(parsed, console)
        return code
    except KdslError as error:
        from kdsl.cli.refusals import refuse

        return refuse(error, console, getattr(module, "EXIT_CODES", None))


def _overview() -> str:
    verbs = "".join(f"  {verb:<15}{summary}\n" for verb, summary in VERBS.items())
    return (
        "usage: kdsl VERB [ARGUMENT ...]\n\n"
        f"{verbs}\n"
        "kdsl VERB --help tells more about one of them. A spec is a path, the name of a shipped spec,\n"
        "or - for standard input.\n\n"
        "exit codes: 0 ok, 1 the model or the data, 2 usage, 3 a tolerance, a limit or a failed verification,\n"
        "4 the environment (a missing file, a permission), 5 nothing could be tested, 70 a bug of ours,\n"
        "130 interrupted\n"
    )


def _unknown(verb: str) -> UsageError:
    from difflib import get_close_matches

    listed = "`kdsl --help` lists the verbs"
    if verb.startswith("-"):
        return UsageError("kdsl", f"unknown option {verb}", listed)
    near = get_close_matches(verb, VERBS, n=1)
    return UsageError("kdsl", f"unknown verb `{verb}`", f"did you mean `{near[0]}`?" if near else listed)
