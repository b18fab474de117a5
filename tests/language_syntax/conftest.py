"""Makes the strategies beside the tests importable, and hands out the texts that every test runs over."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def shipped(root: Path) -> dict[str, str]:
    """The shipped specs, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted((root / "specs").glob("*.kspec"))}


@pytest.fixture(scope="session")
def printed(shared: Path) -> dict[str, str]:
    """The examples printed in the design, by the name of their model."""
    design = (shared / "design.md").read_text(encoding="utf-8")
    found = re.findall(r"^```\n(model (\w+).*?)^```$", design, re.DOTALL | re.MULTILINE)
    return {name: text for text, name in found}
