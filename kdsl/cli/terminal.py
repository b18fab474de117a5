"""Writes results to standard output and messages to standard error, as each of them can show it."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

UNREAD = re.compile("[\udc80-\udcff]+")
CLOSED = "standard output is closed"


class Console:
    """What the two streams can show, whether JSON is asked for, and whether some of the result is printed already."""

    def __init__(self, ascii: bool, colour_out: bool, colour_err: bool, json: bool = False) -> None:
        self.ascii = ascii  # standard output shows nothing beyond ASCII
        self.colour_out, self.colour_err = colour_out, colour_err
        self.json = json
        self.printed = False

    def out(self, text: str) -> None:
        """Part of the result, for a reader: beyond ASCII only where the terminal shows it."""
        self.printed = True
        if sys.stdout is None:
            raise OSError(CLOSED)
        sys.stdout.write(text.encode("ascii" if self.ascii else "utf-8", "backslashreplace").decode())

    def out_file(self, text: str, path: str | None = None) -> None:
        """A result that is a file's content (JSON, LaTeX, HTML, a spec): UTF-8, whatever the terminal is.

        It goes to the file at `path` where one is given: the whole of it, or nothing.
        """
        if path is None:
            self.printed = True
            _write_bytes(with_paths(text).encode("utf-8", "backslashreplace"))
            return
        from kdsl.whole_file import write_whole

        write_whole(path, text)

    def out_place(self, path: str) -> None:
        """Where something was written, in the bytes that the system knows it by: what reads the line opens it."""
        self.printed = True
        _write_bytes(os.fsencode(path) + b"\n")

    def err(self, text: str) -> None:
        """A message; where nobody listens, the exit code must do."""
        if sys.stderr is None:
            return
        encoding = "ascii" if self.ascii else sys.stderr.encoding or "ascii"
        try:
            sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stderr.flush()
        except OSError:
            return


def open_console(json: bool) -> Console:
    """The console of this process."""
    return Console(
        ascii=not shows_unicode(sys.stdout, os.environ),
        colour_out=shows_colour(sys.stdout, os.environ),
        colour_err=shows_colour(sys.stderr, os.environ),
        json=json,
    )


def shows_unicode(stream: TextIO | None, environment: os._Environ[str] | dict[str, str]) -> bool:
    """Whether Unicode written to the stream will be read as such.

    Python writes UTF-8 under the C locale too (PEP 538, PEP 540); a terminal that was told to use C shows
    that as rubbish, so a locale that says C is believed, unless Python itself was told to use UTF-8.
    """
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
    if not encoding.startswith("utf"):
        return False
    if environment.get("PYTHONIOENCODING") or environment.get("PYTHONUTF8") == "1":
        return True
    coerced = environment.get("LC_CTYPE") in (None, "", "C.UTF-8", "C.utf8", "UTF-8")
    locale = environment.get("LC_ALL") or (environment.get("LANG") if coerced else None)
    return locale not in ("C", "POSIX")


def shows_colour(stream: TextIO | None, environment: os._Environ[str] | dict[str, str]) -> bool:
    """Whether to colour the stream: a terminal, unless NO_COLOR is set or the terminal is dumb."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def finish_stdout() -> None:
    """Send out what is still to be written, or nowhere where that fails."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        discard_stdout()


def discard_stdout() -> None:
    """Send what is still to be written to standard output nowhere, so that nothing complains at exit."""
    if sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, sys.stdout.fileno())
        except (OSError, ValueError):
            return
        finally:
            os.close(nowhere)


def with_paths(text: str) -> str:
    """The text with the bytes of paths that the locale could not read (PEP 383) as UTF-8, or as U+FFFD."""
    return UNREAD.sub(lambda found: found[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace"), text)


def _write_bytes(content: bytes) -> None:
    if sys.stdout is None:
        raise OSError(CLOSED)
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
