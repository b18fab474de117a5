"""Checks that the processor runs the instruction set that the environment names, before any work."""

from __future__ import annotations

import os


def check_instructions() -> None:
    """An OSError where KDSL_ISA names one that it does not run."""
    if os.environ.get("KDSL_ISA"):
        from kdsl import _core

        try:
            _core.isa()
        except RuntimeError as error:
            raise OSError(str(error)) from None
