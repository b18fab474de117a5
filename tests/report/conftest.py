"""The browser that reports are opened in, one for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Browser, program, running


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if program() is None:
        pytest.skip("no browser: chromium is not installed")
    with running(tmp_path_factory.mktemp("browser")) as opened:
        yield opened
