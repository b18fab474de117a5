"""The syntax tree of a .kspec file: what was written, and where, before anything is known to be meaningful."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """Half-open range of character offsets in the source text.

    Where a node stood is not part of what it says, so every span equals every other:
    two trees are `==` exactly when they say the same thing.
    """

    start: int
    end: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, Span)

    def __hash__(self) -> int:
        return 0


NOWHERE = Span(0, 0)


# ---------------------------------------------------------------- expressions


class Number(NamedTuple):
    """A literal, kept as written (`0.5`, `1/2`, `1e-3`, `inf`); exact value by `fractions.Fraction(text)`."""

    text: str
    span: Span = NOWHERE


class Name(NamedTuple):
    """A bare identifier; Greek letters are already in their ASCII spelling (`ξ'` is `xi'`)."""

    id: str
    span: Span = NOWHERE


class Item(NamedTuple):
    """`base[subscripts]`: `x[i]`, `alpha[i, k]`, `w[y[i]]`."""

    base: Name
    subscripts: tuple[Expr, ...]
    span: Span = NOWHERE


class Call(NamedTuple):
    """`function(arguments; parameters)`: `phi(x[i])`, `hinge(r)`, `pinball(r; 0.1)`, `f(x[i])`."""

    function: Name
    arguments: tuple[Expr, ...]
    parameters: tuple[Expr, ...] = ()
    span: Span = NOWHERE


class Neg(NamedTuple):
    """`-operand`."""

    operand: Expr
    span: Span = NOWHERE


class Add(NamedTuple):
    """A flat sum; `operators[n]` is "+" or "-" and stands between `terms[n]` and `terms[n + 1]`."""

    terms: tuple[Expr, ...]
    operators: tuple[str, ...]
    span: Span = NOWHERE


class Mul(NamedTuple):
    """A flat product, left to right; operators are "*", "/" or "" where two factors merely stand side by side."""

    factors: tuple[Expr, ...]
    operators: tuple[str, ...]
    span: Span = NOWHERE


class Pow(NamedTuple):
    """`base ^ exponent` with a non-negative integer exponent."""

    base: Expr
    exponent: int
    span: Span = NOWHERE


class Inner(NamedTuple):
    """`<left, right>`."""

    left: Expr
    right: Expr
    span: Span = NOWHERE


class Norm(NamedTuple):
    """`||argument||`, not squared; the square is a Pow around it."""

    argument: Expr
    span: Span = NOWHERE


class Sum(NamedTuple):
    """`sum[indices where conditions] body`."""

    indices: tuple[Name, ...]
    where: tuple[Comparison, ...]
    body: Expr
    span: Span = NOWHERE


class Argmax(NamedTuple):
    """`argmax[letter] body`, in predict clauses only."""

    letter: Name
    body: Expr
    span: Span = NOWHERE


Expr = Number | Name | Item | Call | Neg | Add | Mul | Pow | Inner | Norm | Sum | Argmax


class Comparison(NamedTuple):
    """`left relation right`; relation is one of "<=", ">=", "=", "<", ">", "!=".

    The strict ones and "!=" only mean something in `where`.
    """

    left: Expr
    relation: str
    right: Expr
    span: Span = NOWHERE


# --------------------------------------------------------------- declarations


class Range(NamedTuple):
    """`1..upper` where upper is a Name (a size) or a Number."""

    lower: Number
    upper: Name | Number
    span: Span = NOWHERE


class IndexDecl(NamedTuple):
    """`i in 1..l`, `g in groups`, `(i, j) in 1..l x 1..l where ...`; one set per name."""

    names: tuple[Name, ...]
    sets: tuple[Range | Name, ...]
    where: tuple[Comparison, ...]
    span: Span = NOWHERE


class Domain(NamedTuple):
    """What a datum, a parameter or a scalar variable may be.

    kind "real" (with an optional bound: `real >= 0` has relation ">=" and that bound), "interval"
    (`in (0, 1]`: lower, upper, and which ends are open), "finite" (`{-1, 1}`), "input" (a point),
    "set" (labels from a named index set: `y[i] : classes`), "hilbert" (`H(k)`: name is the kernel).
    """

    kind: str
    relation: str = ""
    bound: Expr | None = None
    lower: Expr | None = None
    upper: Expr | None = None
    lower_open: bool = False
    upper_open: bool = False
    values: tuple[Expr, ...] = ()
    name: Name | None = None
    span: Span = NOWHERE


class SymbolDecl(NamedTuple):
    """One entry of a `data`, `param` or `var` line: `name[subscripts] : domain = default`."""

    name: Name
    subscripts: tuple[Name, ...]
    domain: Domain
    default: Expr | None
    span: Span = NOWHERE


class KernelCall(NamedTuple):
    """`rbf(gamma = 0.5)`, `linear`, or the name of another declared kernel."""

    name: Name
    arguments: tuple[tuple[Name, Expr], ...]
    span: Span = NOWHERE


class KernelNumber(NamedTuple):
    """A non-negative factor in a kernel expression: a literal or a parameter's name is a KernelCall."""

    value: Number
    span: Span = NOWHERE


class KernelSum(NamedTuple):
    terms: tuple[KernelExpr, ...]
    span: Span = NOWHERE


class KernelProduct(NamedTuple):
    factors: tuple[KernelExpr, ...]
    span: Span = NOWHERE


class KernelOn(NamedTuple):
    """`kernel on age, income`: the kernel sees only these columns; binds tighter than `*`."""

    kernel: KernelExpr
    columns: tuple[Name, ...]
    span: Span = NOWHERE


KernelExpr = KernelCall | KernelNumber | KernelSum | KernelProduct | KernelOn


class KernelDecl(NamedTuple):
    name: Name
    kernel: KernelExpr
    span: Span = NOWHERE


class LetDecl(NamedTuple):
    """`let f(t) = ...`; no formals for a plain abbreviation."""

    name: Name
    formals: tuple[Name, ...]
    body: Expr
    span: Span = NOWHERE


class LossDecl(NamedTuple):
    """`loss pinball(r; tau) = ...`."""

    name: Name
    formals: tuple[Name, ...]
    parameters: tuple[Name, ...]
    body: Expr
    span: Span = NOWHERE


# ----------------------------------------------------------------- statements


class IndexLine(NamedTuple):
    entries: tuple[IndexDecl, ...]
    span: Span = NOWHERE


class DataLine(NamedTuple):
    entries: tuple[SymbolDecl, ...]
    span: Span = NOWHERE


class ParamLine(NamedTuple):
    entries: tuple[SymbolDecl, ...]
    span: Span = NOWHERE


class VarLine(NamedTuple):
    entries: tuple[SymbolDecl, ...]
    span: Span = NOWHERE


class KernelLine(NamedTuple):
    entries: tuple[KernelDecl, ...]
    span: Span = NOWHERE


class Objective(NamedTuple):
    """`minimize body`; sense is "minimize" or "maximize"."""

    sense: str
    body: Expr
    span: Span = NOWHERE


class ConstraintDecl(NamedTuple):
    """`label[indices] where conditions: comparison`."""

    label: Name
    indices: tuple[Name, ...]
    where: tuple[Comparison, ...]
    comparison: Comparison
    span: Span = NOWHERE


class SubjectTo(NamedTuple):
    constraints: tuple[ConstraintDecl, ...]
    span: Span = NOWHERE


class Predict(NamedTuple):
    """`predict kind(formals) = body`, e.g. `predict label(t) = sign(...)`."""

    kind: Name
    formals: tuple[Name, ...]
    body: Expr
    span: Span = NOWHERE


Declaration = IndexLine | DataLine | ParamLine | VarLine | KernelLine | LetDecl | LossDecl
Statement = Declaration | Objective | SubjectTo | Predict


class Spec(NamedTuple):
    """A whole file; `name` is None where no `model` line is given (the file's stem is the name then)."""

    name: Name | None
    title: str
    statements: tuple[Statement, ...]
    span: Span = NOWHERE
