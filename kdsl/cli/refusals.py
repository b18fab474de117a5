"""What a command says where it cannot go on: messages, an object where JSON is asked for, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kdsl.cli.binding_options import messages
from kdsl.cli.sources import SpecError, report
from kdsl.cli.terminal import Console
from kdsl.cli.usage import UsageError
from kdsl.language.diagnostics import Diagnostic, KdslError

SCHEMA = 1
MODEL, USAGE, ENVIRONMENT = 1, 2, 4
EXIT_CODES = {  # of what is neither the model nor the data
    **dict.fromkeys(("K501", "K502", "K603", "K607", "K658", "K660"), ENVIRONMENT),  # a file or a package not there
    **dict.fromkeys(("K547", "K573", "K602", "K659", "K662", "K667", "K668"), USAGE),  # a word that means nothing
    **dict.fromkeys(("K673", "K680", "K681", "K682"), USAGE),
}


def refuse(error: KdslError, console: Console, codes: Mapping[str, int] | None = None) -> int:
    """Say what is wrong; the exit code, which `codes` has where a verb has its own."""
    print_object(error.diagnostics, console)
    if isinstance(error, SpecError):
        report(error.diagnostics, error.source, console)
    else:
        messages(error.diagnostics, console)
    return exit_code(error.diagnostics, codes)


def exit_code(found: Sequence[Diagnostic], codes: Mapping[str, int] | None = None) -> int:
    """0 without an error; 1 for the model and the data, 2 for what was typed, 4 for what is not there."""
    first = next((diagnostic.code for diagnostic in found if diagnostic.severity == "error"), None)
    return 0 if first is None else {**EXIT_CODES, **(codes or {})}.get(first, MODEL)


def print_object(found: Sequence[Diagnostic], console: Console) -> None:
    """Where JSON is asked for and there is no result yet, an object that says what is wrong in its place."""
    if console.json and not console.printed:
        import json

        listed = [{"code": d.code, "message": d.message, "why": d.why, "help": d.help} for d in found]
        entry = {"schema": SCHEMA, "status": "error", "diagnostics": listed}
        console.out_file(json.dumps(entry, indent=2, ensure_ascii=False) + "\n")


def from_outside(error: BaseException) -> Diagnostic:
    """What came from outside kdsl, a command line without meaning, or a bug in it."""
    if isinstance(error, KeyboardInterrupt):
        return Diagnostic("", "interrupted")
    if isinstance(error, UsageError):
        return Diagnostic("", error.message, help=error.help)
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return Diagnostic("", f"{error.filename}: {reason}" if error.filename is not None else reason)
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "").partition(".")[0]
        return Diagnostic("", f"this needs the Python package {package}, which is not installed: pip install {package}")
    if isinstance(error, MemoryError):
        return Diagnostic("", "not enough memory")
    return Diagnostic("", f"this is a bug of ours ({type(error).__name__}: {error})")
