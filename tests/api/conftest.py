"""Lets the tests of the builder use the random models of the algebra's tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "algebra"))
