"""Files altered at random, their checksums made to fit again: refused or contradicted with a code, never a bug."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saved_models import small_solution, two_classes

from kdsl.language.diagnostics import KdslError
from kdsl.models.container import pack
from kdsl.models.model_file import contents, load_model
from kdsl.models.verification import verify_model

PUT = [None, 0, -1, 1e300, "x", [], {}, [1, 2], "inf", True, 10**12]
FREE = {
    *(
        "message",
        "reason",
        "backend",
        "iterations",
        "versions",
        "sources",
        "intervals",
        "seed",
        "asked",
        "psd",
        "grams",
    ),
    "words",
}


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*place, key))


def altered(header: dict[str, Any], arrays: dict[str, Any], chance: random.Random) -> tuple[Any, ...]:
    """Change one member of the header or one array; where."""
    if chance.random() < 0.7:
        place = chance.choice(list(places(header)))
        target: Any = header
        for key in place[:-1]:
            target = target[key]
        if chance.random() < 0.15:
            del target[place[-1]]
        else:
            target[place[-1]] = copy.deepcopy(chance.choice(PUT))
        return place
    name = chance.choice(sorted(arrays))
    flat = arrays[name].ravel()
    kind = chance.random()
    if kind < 0.3:
        del arrays[name]
    elif kind < 0.6 or not flat.size:
        arrays[name] = flat[:-1]
    else:
        flat[chance.randrange(flat.size)] += 77
        arrays[name] = flat.reshape(arrays[name].shape)
    return (name,)


@pytest.mark.parametrize("seed", range(4))
def test_altered_files_are_refused_or_contradicted(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    header, arrays = contents(small_solution())
    data = two_classes()
    path = tmp_path / "model.kdsl"
    for _ in range(60):
        changed = copy.deepcopy(header)
        parts = {name: np.array(array) for name, array in arrays.items()}
        place = altered(changed, parts, chance)
        path.write_bytes(pack(changed, parts))
        try:
            load_model(path).predict(data["x"])
        except KdslError as error:
            assert error.diagnostics[0].code[:2] in ("K1", "K2", "K3", "K4", "K5", "K6"), place
        try:
            found = verify_model(str(path), data)
        except KdslError:
            continue
        unchanged = changed == header and all(
            np.array_equal(parts[name], arrays[name]) for name in arrays if name in parts
        )
        if not any(word in FREE for word in place) and not unchanged:
            assert not found.holds or equivalent(place), place


def equivalent(place: tuple[Any, ...]) -> bool:
    """A worst residual may stand at any of equals, m - M is 0 up to rounding, and options may say what is so anyway."""
    return place[0] == "binding" or place[:2] in (("certificate", "residuals"), ("certificate", "kkt_gap"))
