"""The functions of the blackboard: inner products, norms, feature maps, sums, and what losses are made of."""

from __future__ import annotations

from kdsl.api.expressions import Expression, Operand, built, call, conditions_of, operand_at, own, sources_of
from kdsl.api.places import Sources
from kdsl.language.syntax import Argmax, Inner, Name, Norm, Span, Sum


def phi(point: Expression) -> Expression:
    """The feature vector of a point."""
    return call("phi", (point,))


def inner(left: Expression, right: Expression) -> Expression:
    """<left, right> in the space of a kernel."""
    sources = sources_of((left, right), "inner")
    site = sources.here()
    first, second = (operand_at(side, site.argument(n), sources) for n, side in enumerate((left, right)))
    return built(Inner(first, second, site.span), (left, right), site)


def norm(vector: Expression) -> Expression:
    """||vector||, not squared: write norm(w)**2 for the square."""
    sources = sources_of((vector,), "norm")
    site = sources.here()
    return built(Norm(operand_at(vector, site.argument(0), sources), site.span), (vector,), site)


def maximum(first: Operand, second: Operand, *more: Operand) -> Expression:
    """The largest of several numbers."""
    return call("max", (first, second, *more))


def pos(number: Expression) -> Expression:
    """The positive part, max(0, number)."""
    return call("pos", (number,))


def square(number: Expression) -> Expression:
    return call("square", (number,))


def sign(number: Expression) -> Expression:
    """+1 or -1: what `predict label` gives."""
    return call("sign", (number,))


def exp(number: Expression) -> Expression:
    return call("exp", (number,))


def log(number: Expression) -> Expression:
    return call("log", (number,))


class Binder:
    """A sum or an argmax whose indices are chosen; called with its body, it is an expression."""

    def __init__(self, word: str, indices: tuple[Expression, ...], where: object) -> None:
        if not indices:
            raise TypeError(f"{word}(...) needs the index it runs over")
        self._sources = sources_of(indices, word)
        site = self._sources.here()
        self._indices, self._word = indices, word
        self._names = tuple(index_name(index, site.argument(n), self._sources) for n, index in enumerate(indices))
        self._where = conditions_of(where, self._sources)

    def __call__(self, body: Operand) -> Expression:
        site = self._sources.here()
        inside = operand_at(body, site.argument(0), self._sources)
        if self._word == "argmax":
            return built(Argmax(self._names[0], inside, site.span), (*self._indices, body), site)
        return built(Sum(self._names, self._where, inside, site.span), (*self._indices, body), site)


def sum_over(*indices: Expression, where: object = ()) -> Binder:
    """`sum_over(i)(xi[i])`; `where=` leaves members out: `sum_over(k, where=k != y[i])(...)`."""
    return Binder("sum_over", indices, where)


def argmax(index: Expression) -> Binder:
    """`argmax(k)(inner(w[k], phi(t)))`: the label whose score is largest."""
    return Binder("argmax", (index,), ())


def index_name(index: object, span: Span, sources: Sources) -> Name:
    """The name of an index of this problem, where it is used."""
    if not isinstance(index, Expression) or not isinstance(index.node, Name):
        raise TypeError(f"`{index!r}` is no index: declare one with index(...)")
    own(index, sources)
    return index.node._replace(span=span)
