"""What happens when kdsl itself is at fault: the traceback is saved, and one line says so."""

from __future__ import annotations

import sys

from kdsl.cli.terminal import Console


def apologise(error: Exception, arguments: list[str], console: Console) -> None:
    """Save the traceback where the user can find it, and say where; show it if it cannot be saved."""
    import tempfile
    import traceback

    from kdsl import __version__

    trace = "".join(traceback.format_exception(error))
    content = f"kdsl {__version__}\nPython {sys.version}\narguments: {arguments!r}\n\n{trace}"
    summary = f"{type(error).__name__}: {error}".splitlines()[0]
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="kdsl-bug-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(content)
    except OSError:
        console.err(content)
        where = "the traceback above"
    else:
        where = file.name
    console.err(f"kdsl: this is a bug of ours, sorry ({summary}); please report it with your spec and {where}\n")
