"""Finds the plainest contradiction among hard constraints, in words: opposite demands on equal points, or a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.binding.distances import to_dense
from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.lowering import Lowered
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.spaces import Space

_SAME = 1e-12  # entries of a column that differ by less, as a share of the largest, are equal


class Contradiction(NamedTuple):
    """Multipliers that add up to no demand at all and ask for more than nothing: `members` in a telling order."""

    kind: str  # "nothing", "opposite" or "cycle"
    members: tuple[int, ...]
    direction: Floats


def plain_contradiction(lowered: Lowered, spaces: Mapping[str, Space], recession: NormalForm) -> Contradiction | None:
    """A contradiction of one, two or some members, None where there is none so plain; nothing is solved."""
    gain = sp.csr_array(recession.rows.matrix).toarray()[-1]
    columns = _columns(lowered, spaces, recession)
    keys: dict[tuple[bytes, bytes], tuple[int, float]] = {}
    edges: dict[int, list[tuple[int, int]]] = {}
    for k in np.flatnonzero((gain > 0) & np.isposinf(recession.separable.upper)):
        start, end = columns.indptr[k], columns.indptr[k + 1]
        places, entries = columns.indices[start:end], columns.data[start:end]
        if len(entries) == 0:
            return _contradiction("nothing", [int(k)], np.ones(1), gain)
        size = float(np.abs(entries).max())
        shape = np.round(entries / size / _SAME) * _SAME + 0.0
        opposite = keys.get((places.tobytes(), (0.0 - shape).tobytes()))
        if opposite is not None:
            return _contradiction("opposite", [opposite[0], int(k)], np.array([1.0, opposite[1] / size]), gain)
        keys.setdefault((places.tobytes(), shape.tobytes()), (int(k), size))
        if len(entries) == 2 and entries[0] == -entries[1]:
            up, down = (places[0], places[1]) if entries[0] > 0 else (places[1], places[0])
            edges.setdefault(int(down), []).append((int(up), int(k)))
    members = _cycle(edges)
    if members is None:
        return None
    sizes = np.array([np.abs(columns.data[columns.indptr[k]]) for k in members])
    return _contradiction("cycle", members, 1.0 / sizes, gain)


def _contradiction(kind: str, members: list[int], weights: Floats, gain: Floats) -> Contradiction:
    direction = np.zeros(len(gain))
    direction[members] = weights
    return Contradiction(kind, tuple(members), direction / float(gain @ direction))


def _columns(lowered: Lowered, spaces: Mapping[str, Space], recession: NormalForm) -> sp.csc_array:
    """What each multiplier demands: its atoms with equal points added up, and its entries in the rows."""
    parts = []
    for origin, block in zip(lowered.origins, recession.blocks, strict=True):
        group = _groups(spaces[origin.space]) if origin.space else np.arange(block.gram.size)
        count = int(group.max(initial=-1)) + 1
        merge = sp.csr_array((np.ones(len(group)), (group, np.arange(len(group)))), (count, len(group)))
        parts.append(sp.csr_array(merge @ block.atoms))
    parts.append(sp.csr_array(recession.rows.matrix)[:-1])
    columns = sp.csc_array(sp.vstack(parts, format="csc"))
    columns.eliminate_zeros()
    columns.sort_indices()
    return columns


def _groups(space: Space) -> Ints:
    """The same number for points that are equal."""
    if space.points is None or space.kernel is None:
        return np.arange(space.size)
    numbers: dict[bytes, int] = {}
    rows = (to_dense(space.points[[n]])[0] + 0.0 for n in range(space.size))
    return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.int64)


def _cycle(edges: Mapping[int, list[tuple[int, int]]]) -> list[int] | None:
    """The members along a cycle of a directed graph, by depth-first search without recursion."""
    done: set[int] = set()
    for root in edges:
        path: list[tuple[int, int]] = []  # (node, the member that led there)
        where = {root: 0}
        pending = [iter(edges[root])] if root not in done else []
        while pending:
            step = next(pending[-1], None)
            if step is None:
                pending.pop()
                left = path.pop()[0] if path else root
                where.pop(left, None)
                done.add(left)
                continue
            node, member = step
            if node in where:
                return [m for _, m in path[where[node] :]] + [member]
            if node not in done:
                path.append((node, member))
                where[node] = len(path)
                pending.append(iter(edges.get(node, [])))
    return None
