"""Loads the Python function that a user names as a kernel, so that what goes wrong in it is said to be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kdsl.language.diagnostics import KdslError


def load_function(path: str, name: str, allowed: bool) -> Callable[..., Any]:
    """A function of a Python file, which is run for it."""
    import runpy

    from kdsl.binding.faults import fault, nearest
    from kdsl.binding.opening import missing_file

    if not allowed:
        raise fault(
            "K563",
            f"the kernel calls the Python function `{name}`",
            "it would be run with your rights, and spec files are passed around",
            "say `--allow-python` if you trust it",
        )
    try:
        found = runpy.run_path(path)
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError:
        raise
    except Exception as error:
        raise raised(path, error, f"`{path}` cannot be run") from error
    function = found.get(name)
    if not callable(function):
        functions = [word for word, value in found.items() if callable(value) and not word.startswith("_")]
        raise fault("K560", f"`{path}` defines no function `{name}`", help=nearest(name, functions))
    called: Callable[..., Any] = function

    def guarded(*points: Any) -> Any:
        try:
            return called(*points)
        except Exception as error:
            raise raised(path, error, f"the Python function `{name}` failed") from error

    return guarded


def raised(path: str, error: Exception, what: str) -> KdslError:
    """The error of a user's file, with the line of that file that it went through last."""
    from traceback import extract_tb

    from kdsl.binding.faults import fault

    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    place = f"`{path}`, line {line}" if line else f"`{path}`"
    reason = str(error.msg if isinstance(error, SyntaxError) else error)
    return fault(
        "K564",
        f"{what}: {type(error).__name__}{f': {reason}' if reason else ''}",
        f"it was raised in {place}",
        "correct the file",
    )
