"""Lets the tests of formulas use the exact evaluation of polynomials that the tests of the algebra have."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "algebra"))
