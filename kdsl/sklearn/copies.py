"""A spec in which an example of weight s counts as s copies of it, made from a spec without weights.

Copies of an example repeat its constraints, which says nothing new, and its terms in sums; of a convex problem some
solution gives all copies the same slacks. So every sum over the examples weighs its terms, and the number of examples
is the sum of their weights (docs/decisions/0031-weights-are-copies.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kdsl.binding.sources import first_size
from kdsl.language.formatter import format_source
from kdsl.language.lexer import scan
from kdsl.language.model import Model
from kdsl.language.parser import parse_spec_text
from kdsl.language.printer import print_spec
from kdsl.language.syntax import (
    Comparison,
    ConstraintDecl,
    DataLine,
    Domain,
    Item,
    LetDecl,
    Mul,
    Name,
    Number,
    Objective,
    Predict,
    Spec,
    Sum,
    SymbolDecl,
)
from kdsl.pipeline import parse_spec

_POSITIVE = Domain("interval", lower=Number("0"), upper=Number("inf"), lower_open=True, upper_open=True)


class Copied(NamedTuple):
    """The model with weights, its datum of weights, and that of their sum; "" where the model has no use for it.

    `compares` says whether a filter compares examples: it may tell copies of one apart, which weights do not.
    """

    model: Model
    weight: str
    total: str
    compares: bool = False


def with_copies(model: Model, input: str) -> Copied:
    """The model whose sums weigh their examples; `input` is the datum that has one point for each of them."""
    size = first_size(model)
    indices = {n for index in model.indices for n, one in zip(index.names, index.sets, strict=True) if one.size == size}
    taken = {token.text for token in scan(model.source)[0]}
    rewriting = _Rewriting(indices, size, _free("weight", taken), _free("total_weight", taken))
    spec = rewriting.spec(parse_spec_text(model.source), input)
    if rewriting.compares or not rewriting.used:
        return Copied(model, "", "", rewriting.compares)
    weight, total = (name if name in rewriting.used else "" for name in (rewriting.weight, rewriting.total))
    return Copied(parse_spec(format_source(print_spec(spec)), model.name), weight, total)


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number after it where the spec has one like it."""
    return next(one for one in (name, *(f"{name}{n}" for n in range(2, len(taken) + 3))) if one not in taken)


class _Rewriting:
    """Weighs the sums over `indices`, and notes which of its two names it has used."""

    def __init__(self, indices: set[str], size: str, weight: str, total: str) -> None:
        self.indices, self.size, self.weight, self.total = indices, size, weight, total
        self.used: set[str] = set()
        self.compares = False

    def spec(self, spec: Spec, input: str) -> Spec:
        statements = [self.tree(line, False) for line in spec.statements]
        return spec._replace(statements=tuple(self.declared(line, input) for line in statements))

    def declared(self, line: Any, input: str) -> Any:
        """The line that declares the input declares the weights too."""
        entry = next((e for e in line.entries if e.name.id == input), None) if isinstance(line, DataLine) else None
        if entry is None:
            return line
        over = next(name for name in entry.subscripts if name.id in self.indices)
        subscripts = {self.weight: (over,), self.total: ()}
        new = (SymbolDecl(Name(n), on, _POSITIVE, None) for n, on in subscripts.items() if n in self.used)
        return line._replace(entries=(*line.entries, *new))

    def tree(self, node: Any, formula: bool) -> Any:
        """A part of the syntax tree, rewritten where it is part of a `formula`: sizes of sets stay as they are."""
        if not isinstance(node, tuple):
            return node
        if isinstance(node, Comparison) and {s.id for s in node[:2] if isinstance(s, Name)} & self.indices:
            self.compares = True
        if formula and isinstance(node, Name) and node.id == self.size:
            self.used.add(self.total)
            return Name(self.total)
        if isinstance(node, ConstraintDecl):
            return node._replace(comparison=self.tree(node.comparison, True))
        inside = formula or isinstance(node, LetDecl | Objective | Predict)
        parts = [self.tree(part, inside) for part in node]
        again = type(node)._make(parts) if hasattr(node, "_make") else tuple(parts)
        return self.weighed(again) if isinstance(again, Sum) else again

    def weighed(self, one: Sum) -> Sum:
        over = [name for name in one.indices if name.id in self.indices]
        if not over:
            return one
        self.used.add(self.weight)
        factors = [Item(Name(self.weight), (name,)) for name in over]
        return one._replace(body=Mul((*factors, one.body), ("*",) * len(factors)))
