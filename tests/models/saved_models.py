"""Small solved models and their files, and how to change a file so that its checksums still fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kdsl.models.container import pack
from kdsl.models.model_file import read_container
from kdsl.models.solution import Solution
from kdsl.solving.api import solve

Arrays = dict[str, np.ndarray[Any, Any]]
Change = Callable[[dict[str, Any], Arrays], None]


def two_classes(n: int = 30, seed: int = 0) -> dict[str, Any]:
    """Overlapping classes with words for labels."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 2))
    y = np.where(x[:, 0] + 0.5 * random.normal(size=n) > 0, "yes", "no")
    return {"x": x, "y": y}


def small_solution(**more: Any) -> Solution:
    return solve("svm_1norm", two_classes(), {"C": 1.5}, {"k": "rbf(gamma = 0.7)"}, tol=1e-9, **more)


def rewrite(path: Path, change: Change) -> None:
    """Change what a model file says and make its checksums fit again."""
    container = read_container(str(path))
    arrays = {name: np.array(array) for name, array in container.arrays.items()}
    header = {name: value for name, value in container.header.items() if name != "arrays"}
    change(header, arrays)
    path.write_bytes(pack(header, arrays))
