"""A normal form with the entropies of its dual: what logistic and multinomial losses leave there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kdsl.algebra.numeric import evaluate
from kdsl.solving.lowering import Lowered
from kdsl.solving.normal_form import Entropies, NormalForm
from kdsl.solving.posed import Posed


def with_entropies(posed: Posed, lowered: Lowered) -> NormalForm:
    """The normal form, each entropy at the end of the box that it belongs to; constants are the certificate's affair.

    A binary loss of weight w has one at both ends of [0, w]; a simplex has one at the upper end of each share, and
    equal shares are inside.
    """
    if not posed.energies.dual.entropies:
        return lowered.problem
    h = lowered.problem.separable
    low, high = h.lower, h.upper
    at_low, at_high = np.zeros(h.size, dtype=bool), np.zeros(h.size, dtype=bool)
    inside = np.clip(np.zeros(h.size), low, high)
    for term in posed.energies.dual.entropies:
        family = lowered.families[term.label]
        places = family.positions[family.positions >= 0]
        at_high[places] = True
        if term.kind == "binary":
            at_low[places] = True
            inside[places] = 0.5 * (low[places] + high[places])
            continue
        lengths = {name: posed.values.size(z) for name, z in zip(term.indices, term.sets, strict=True)}
        weight = np.asarray(evaluate(term.weight, posed.values, lengths))
        share = np.broadcast_to(weight[..., None] / family.shape[-1], family.shape)
        inside[places] = high[places] - share[family.positions >= 0]
    return replace(lowered.problem, entropies=Entropies(at_low, at_high, inside))
