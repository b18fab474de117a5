"""The type and degree of an expression: sums, products, powers, inner products, norms, sums over an index.

Every rule is a generator that yields the sub-expressions it needs and is sent their types; `type_of` runs
them on an explicit stack, so that no recursion depends on the input.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from fractions import Fraction
from typing import Any

from kdsl.language import calls, names
from kdsl.language.constants import INFINITE, constant
from kdsl.language.diagnostics import Label
from kdsl.language.scopes import Environment, Scope
from kdsl.language.syntax import (
    Add,
    Argmax,
    Call,
    Comparison,
    Expr,
    Inner,
    Item,
    Mul,
    Name,
    Neg,
    Norm,
    Number,
    Pow,
    Sum,
)
from kdsl.language.values import Choice, Member, Point, Real, Row, Type, Unknown, Vector, describe

Visit = Generator[tuple[Expr, Scope], Type, Type]
UNKNOWN = Unknown()
MOST_TERMS = 100_000
TOO_MANY = 1_000_000


def type_of(env: Environment, expression: Expr, scope: Scope) -> Type:
    """The type of `expression`; mistakes are reported to `env`."""
    result = _run(env, _visit(env, expression, scope))
    return UNKNOWN if result is None else result


def condition_of(env: Environment, condition: Comparison, scope: Scope) -> None:
    """Checks one comparison of a `where`."""
    _run(env, _condition(env, condition, scope))


def _run(env: Environment, first: Generator[tuple[Expr, Scope], Type, Type | None]) -> Type | None:
    """Runs a rule and the rules of the expressions that it asks for, innermost first."""
    stack: list[Generator[tuple[Expr, Scope], Type, Type | None]] = [first]
    sent: Type | None = None
    while True:
        try:
            wanted, inner = stack[-1].send(sent)  # type: ignore[arg-type]
        except StopIteration as finished:
            stack.pop()
            sent = finished.value
            if not stack:
                return sent
        else:
            stack.append(_visit(env, wanted, inner))
            sent = None


def number_of(env: Environment, expression: Expr, scope: Scope) -> Real | None:
    """The type of an expression that must be a number; None where a mistake was reported."""
    return calls.as_number(env, type_of(env, expression, scope), expression)


def _visit(env: Environment, expression: Expr, scope: Scope) -> Visit:
    return _RULES[type(expression)](env, expression, scope)


def _number(env: Environment, expression: Number, scope: Scope) -> Visit:
    yield from ()
    if expression.text in INFINITE:
        env.error(
            "K340",
            "infinity stands in a formula",
            expression.span,
            "not a number to calculate with",
            why="only the ends of a domain may be infinite",
            help="leave the term out, or use a parameter for a large number",
        )
        return UNKNOWN
    return Real()


def _neg(env: Environment, expression: Neg, scope: Scope) -> Visit:
    value = yield expression.operand, scope
    if isinstance(value, Vector):
        return value
    return calls.as_number(env, value, expression.operand) or UNKNOWN


def _add(env: Environment, expression: Add, scope: Scope) -> Visit:
    values: list[Type] = []
    for term in expression.terms:
        values.append((yield term, scope))
    if any(isinstance(value, Unknown) for value in values):
        return UNKNOWN
    if any(isinstance(value, Vector) for value in values):
        return _add_vectors(env, expression, values)
    reals = [calls.as_number(env, value, term) for value, term in zip(values, expression.terms, strict=True)]
    known = [real for real in reals if real is not None]
    if len(known) < len(reals):
        return UNKNOWN
    terms = sum(real.terms for real in known)
    value = Real(max(real.degree for real in known), next((real.atom for real in known if real.atom), ""), terms)
    return _bounded(env, expression, value)


def _add_vectors(env: Environment, expression: Add, values: list[Type]) -> Type:
    vector: Vector | None = None
    at: Expr = expression
    for value, term in zip(values, expression.terms, strict=True):
        if isinstance(value, Point):
            calls.point_for_vector(env, term)
            return UNKNOWN
        if not isinstance(value, Vector):
            other = next(t for v, t in zip(values, expression.terms, strict=True) if isinstance(v, Vector))
            env.error(
                "K324",
                f"a number and a vector are added: `{env.text(expression)}`",
                term.span,
                describe(value),
                also=(Label(other.span, "a vector"),),
                why="a vector can only be added to a vector of the same space",
                help="add numbers outside: <w, phi(x)> + b",
            )
            return UNKNOWN
        if vector is None:
            vector, at = value, term
        else:
            merged = _same_space(env, vector, value, at, term)
            if merged is None:
                return UNKNOWN
            vector = merged
    return UNKNOWN if vector is None else _bounded(env, expression, vector)


def _same_space(env: Environment, left: Vector, right: Vector, at: Expr, other: Expr) -> Vector | None:
    if left.space and right.space and left.space != right.space:
        env.error(
            "K302",
            f"`{env.text(at)}` and `{env.text(other)}` live in different spaces",
            other.span,
            f"in H({right.space})",
            also=(Label(at.span, f"in H({left.space})"),),
            why="vectors of two kernels have no sum and no inner product with each other",
            help="declare both over the same kernel, or pair each with its own: <w, phi(x)> + <v, phi(x)>",
        )
        return None
    return Vector(left.space or right.space, max(left.degree, right.degree), left.terms + right.terms)


def _mul(env: Environment, expression: Mul, scope: Scope) -> Visit:
    degree, terms = 0, 1
    atom: tuple[str, Expr] | None = None
    vector: tuple[Vector, Expr] | None = None
    unknown = False
    carrier: Expr | None = None
    for position, factor in enumerate(expression.factors):
        divides = position > 0 and expression.operators[position - 1] == "/"
        value = yield factor, scope
        if isinstance(value, Vector) and not divides:
            if vector is not None:
                _product_of_vectors(env, expression, vector[1], factor)
                return UNKNOWN
            vector, degree, terms = (value, factor), degree + value.degree, min(terms * value.terms, TOO_MANY)
            continue
        real = calls.as_number(env, value, factor)
        if real is None:
            unknown = True
            continue
        if divides and not _divisible(env, expression, factor, real):
            unknown = True
            continue
        if real.degree and (atom is not None or (real.atom and carrier is not None)):
            function, other = (real.atom, carrier) if atom is None else (atom[0], atom[1])
            _product_with_atom(env, expression, function, other if other is not None else factor)
            return UNKNOWN
        atom = (real.atom, factor) if real.atom else atom
        carrier = factor if real.degree else carrier
        degree += real.degree
        terms = min(terms * real.terms, TOO_MANY)
    if unknown:
        return UNKNOWN
    if vector is not None:
        return _bounded(env, expression, Vector(vector[0].space, degree, terms))
    return _bounded(env, expression, Real(degree, atom[0] if atom else "", terms))


def _divisible(env: Environment, expression: Expr, divisor: Expr, value: Real) -> bool:
    if value.degree:
        env.error(
            "K309",
            f"division by an unknown: `{env.text(expression)}`",
            divisor.span,
            "holds an unknown",
            why="the objective and the constraints must be polynomials of degree 2 at most in the unknowns",
            help="multiply the line by it if its sign is known, or introduce a variable for the quotient",
        )
        return False
    if constant(divisor) == Fraction(0):
        env.error("K325", f"division by zero: `{env.text(expression)}`", divisor.span, "zero")
        return False
    return True


def _product_of_vectors(env: Environment, expression: Expr, left: Expr, right: Expr) -> None:
    first, second = env.text(left), env.text(right)
    same = first == second
    env.error(
        "K307",
        f"`{first}` and `{second}` are vectors: `*` does not multiply them",
        expression.span,
        "a product of two vectors",
        why="in a Hilbert space the product of two vectors is the inner product, and it is a number",
        help=f"write ||{first}||^2" if same else f"write <{first}, {second}>",
    )


def _product_with_atom(env: Environment, expression: Expr, function: str, other: Expr) -> None:
    env.error(
        "K308",
        f"`{function}` of an unknown is multiplied by another unknown: `{env.text(expression)}`",
        other.span,
        "holds an unknown",
        why="such a product is neither convex nor quadratic",
        help="a loss or a norm may be multiplied by numbers, data and parameters only",
    )


def _bounded(env: Environment, expression: Expr, value: Real | Vector) -> Type:
    """`value`, if its degree and the number of its terms are within the limits."""
    if value.degree > (1 if isinstance(value, Vector) else 2):
        env.error(
            "K306",
            f"`{env.text(expression)}` has degree {value.degree} in the unknowns",
            expression.span,
            f"degree {value.degree}",
            why="kdsl derives duals of problems that are quadratic in the unknowns: degree 2 at most",
            help="lower it to 2: a square, or a product of two affine expressions",
        )
        return UNKNOWN
    if value.terms > MOST_TERMS:
        env.error(
            "K408",
            f"written out, `{env.text(expression)}` gives over {MOST_TERMS:,} products",
            expression.span,
            "multiplied out",
            why="every product of sums is written out, so that it can be differentiated and compared",
            help="replace the large factor by a parameter, and give its value when the problem is solved",
        )
        return UNKNOWN
    return value


def _power(terms: int, exponent: int) -> int:
    """terms^exponent, or TOO_MANY if that is less."""
    return TOO_MANY if terms > 1 and exponent * (terms.bit_length() - 1) > TOO_MANY.bit_length() else terms**exponent


def _pow(env: Environment, expression: Pow, scope: Scope) -> Visit:
    if isinstance(expression.base, Norm):
        argument = yield expression.base.argument, scope
        vector = _normed(env, expression.base, argument)
        if vector is None:
            return UNKNOWN
        degree = vector.degree * expression.exponent
        atom = "||.||" if degree and expression.exponent % 2 == 1 else ""
        return _bounded(env, expression, Real(degree, atom, _power(vector.terms, expression.exponent)))
    value = yield expression.base, scope
    if isinstance(value, Vector):
        written = env.text(expression.base)
        env.error(
            "K307",
            f"`{env.text(expression)}`: a vector has no power",
            expression.span,
            f"`{written}` is {describe(value)}",
            why="in a Hilbert space the product of two vectors is the inner product, and it is a number",
            help=f"write ||{written}||^2",
        )
        return UNKNOWN
    real = calls.as_number(env, value, expression.base)
    if real is None:
        return UNKNOWN
    degree = real.degree * expression.exponent
    terms = _power(real.terms, expression.exponent)
    return _bounded(env, expression, Real(degree, real.atom if degree else "", terms))


def _inner(env: Environment, expression: Inner, scope: Scope) -> Visit:
    left = yield expression.left, scope
    right = yield expression.right, scope
    sides: list[Vector] = []
    for value, side in ((left, expression.left), (right, expression.right)):
        if isinstance(value, Unknown):
            continue
        if isinstance(value, Point | Row):
            calls.point_for_vector(env, side)
        elif isinstance(value, Vector):
            sides.append(value)
        else:
            env.error(
                "K301",
                f"`{env.text(side)}` is {describe(value)}, but an inner product takes two vectors",
                side.span,
                "not a vector",
                why="<u, v> is defined for vectors of one Hilbert space only",
                help="write the product of a number with `*`, outside the angle brackets",
            )
    if len(sides) < 2:
        return UNKNOWN
    merged = _same_space(env, sides[0], sides[1], expression.left, expression.right)
    if merged is None or not _settled(env, merged, expression):
        return UNKNOWN
    return _bounded(env, expression, Real(sides[0].degree + sides[1].degree, "", sides[0].terms * sides[1].terms))


def _norm(env: Environment, expression: Norm, scope: Scope) -> Visit:
    argument = yield expression.argument, scope
    vector = _normed(env, expression, argument)
    return UNKNOWN if vector is None else Real(vector.degree, "||.||" if vector.degree else "")


def _normed(env: Environment, expression: Norm, argument: Type) -> Vector | None:
    """The vector under the bars, its space settled."""
    written = env.text(expression.argument)
    if isinstance(argument, Vector):
        return argument if _settled(env, argument, expression) else None
    if isinstance(argument, Point | Row):
        calls.point_for_vector(env, expression.argument)
    elif not isinstance(argument, Unknown):
        env.error(
            "K304",
            f"`{written}` is {describe(argument)}, and ||...|| is the norm of a vector",
            expression.argument.span,
            "not a vector",
            help=f"write {written}^2 for its square, or abs({written})",
        )
    return None


def _settled(env: Environment, vector: Vector, expression: Expr) -> bool:
    """Whether the space is known: named by one side, or the only kernel there is."""
    kernels = env.kernels()
    if vector.space or len(kernels) == 1:
        env.used.add(vector.space or kernels[0])
        return True
    if kernels:
        env.error(
            "K303",
            f"`{env.text(expression)}` does not say in which space it is taken",
            expression.span,
            "phi of which kernel?",
            why=f"there are {len(kernels)} kernels ({', '.join(kernels)}), and phi(...) takes its space "
            "from a declared vector beside it",
            help=f"for points alone write the kernel itself: {kernels[0]}(x[i], x[j])",
        )
    else:
        env.error(
            "K303",
            f"`{env.text(expression)}` uses phi, but the model declares no kernel",
            expression.span,
            "phi of which kernel?",
            why="phi is the feature map of a kernel",
            help="add a line such as `kernel k = rbf(gamma = 0.5)`",
            subject=("no kernel",),
        )
    return False


def _sum(env: Environment, expression: Sum, scope: Scope) -> Visit:
    inner = names.bind_indices(env, expression.indices, scope)
    for condition in expression.where:
        yield from _condition(env, condition, inner)
    value = yield expression.body, inner
    if isinstance(value, Vector):
        return value
    return calls.as_number(env, value, expression.body) or UNKNOWN


def _argmax(env: Environment, expression: Argmax, scope: Scope) -> Visit:
    if not scope.solved:
        calls.only_in_predict(env, "argmax", expression.span, scope)
        return UNKNOWN
    inner = names.bind_indices(env, (expression.letter,), scope)
    value = yield expression.body, inner
    calls.as_number(env, value, expression.body)
    return Choice(env.index_set(expression.letter.id)) if env.is_index(expression.letter) else UNKNOWN


def _condition(env: Environment, condition: Comparison, scope: Scope) -> Generator[tuple[Expr, Scope], Type, None]:
    """Checks one comparison of a `where`: two numbers that hold no unknown, or two labels of one set."""
    left = yield condition.left, scope
    right = yield condition.right, scope
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return
    if isinstance(left, Member) or isinstance(right, Member):
        _compare_members(env, condition, left, right)
        return
    for value, side in ((left, condition.left), (right, condition.right)):
        real = calls.as_number(env, value, side)
        if real is not None and real.degree:
            env.error(
                "K326",
                f"`{env.text(side)}` holds an unknown and cannot stand in `where`",
                side.span,
                "not known before the problem is solved",
                why="`where` chooses which examples take part, before anything is solved",
                help="use data, labels and indices only",
            )


def _compare_members(env: Environment, condition: Comparison, left: Type, right: Type) -> None:
    numeric = (Real, Member)
    for value, side, other in ((left, condition.left, right), (right, condition.right, left)):
        if isinstance(value, Real) and isinstance(other, Member) and other.set.labelled:
            calls.number_for_label(env, side, other.set.size)
            return
        if not isinstance(value, numeric):
            calls.as_number(env, value, side)
            return
    if isinstance(left, Member) and isinstance(right, Member):
        if left.set != right.set and names.NO_SET not in (left.set, right.set):
            env.error(
                "K207",
                f"`{env.text(condition.left)}` and `{env.text(condition.right)}` run over different sets",
                condition.right.span,
                describe(right),
                also=(Label(condition.left.span, describe(left)),),
                help="compare indices and labels of one set",
            )
        elif left.set.labelled and condition.relation not in ("=", "!="):
            env.error(
                "K327",
                f"labels of `{left.set.size}` have no order, so `{condition.relation}` says nothing",
                condition.span,
                "only = and != compare labels",
                help="use = or !=",
            )


_RULES: dict[type, Callable[[Environment, Any, Scope], Visit]] = {
    Number: _number,
    Neg: _neg,
    Add: _add,
    Mul: _mul,
    Pow: _pow,
    Inner: _inner,
    Norm: _norm,
    Sum: _sum,
    Argmax: _argmax,
    Name: names.name_rule,
    Item: names.item_rule,
    Call: calls.call_rule,
}
