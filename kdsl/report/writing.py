"""Puts a report into its file, whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kdsl.report.account import Account


def write_report(account: Account, path: str | os.PathLike[str]) -> None:
    """One HTML file that needs nothing else."""
    from kdsl.report.page import report_page
    from kdsl.whole_file import replacing

    content = report_page(account).encode("utf-8", "replace")
    with replacing(os.fspath(path)) as file:
        file.write(content)
