"""Normal forms whose rows are all equations: inequalities get a slack each, a coordinate that costs nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from kdsl.solving.normal_form import Entropies, NormalForm, Rows, Separable


def with_equations(problem: NormalForm) -> NormalForm:
    """The same with an equation in the place of each inequality, and for each a coordinate more, from 0 on."""
    less = np.flatnonzero(~problem.rows.equality)
    count, entropies, h = len(less), problem.entropies, problem.separable
    if count == 0:
        return problem
    nothing, none = np.zeros(count), np.zeros(count, dtype=bool)
    rows, size = problem.rows, problem.size
    slack = sp.csr_array((np.ones(count), (less, np.arange(count))), (len(rows.target), count))
    pieces = ((h.left, nothing), (h.right, nothing + np.inf), *((a, nothing) for a in (h.curvature, h.slope, h.value)))
    separable = Separable(
        np.concatenate([h.offsets, h.offsets[-1] + 1 + np.arange(count)]).astype(np.int64),
        *(np.concatenate(pair) for pair in pieces),
    )
    blocks = []
    for block in problem.blocks:
        atoms = sp.csc_array(block.atoms, copy=True)
        atoms.resize((atoms.shape[0], size + count))
        blocks.append(replace(block, atoms=atoms))
    if entropies is not None:
        ends = (np.concatenate([entropies.at_low, none]), np.concatenate([entropies.at_high, none]))
        entropies = Entropies(*ends, np.concatenate([entropies.inside, nothing]))
    return replace(
        problem,
        blocks=tuple(blocks),
        separable=separable,
        rows=Rows(sp.csr_array(sp.hstack([rows.matrix, slack])), rows.target, np.ones(len(rows.target), dtype=bool)),
        entropies=entropies,
    )
