"""The index, data, param, var, kernel, let and loss lines: collected into symbols, with their sets and domains."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kdsl.language.constants import constant, is_infinite
from kdsl.language.diagnostics import Label
from kdsl.language.elsewhere import DOMAINS
from kdsl.language.kernel_catalog import FAMILIES_BY_NAME
from kdsl.language.model import Datum, Index, IndexSet, Interval, Kernel, Parameter, Variable
from kdsl.language.names import NO_SET, undeclared_index, whole_tuples
from kdsl.language.ranges import contains
from kdsl.language.scopes import FUNCTIONS, KIND_WORDS, Environment, Symbol
from kdsl.language.suggestions import GREEK, LOOK_ALIKES, nearest
from kdsl.language.syntax import (
    Comparison,
    DataLine,
    Domain,
    Expr,
    IndexDecl,
    IndexLine,
    KernelLine,
    LetDecl,
    LossDecl,
    Name,
    ParamLine,
    Range,
    Spec,
    SymbolDecl,
    VarLine,
)
from kdsl.language.values import Member, Point, Real, Type, Unknown, Vector

FREE = Interval(None, None)


class Declarations(NamedTuple):
    """What the declaration lines say, in their order."""

    indices: tuple[Index, ...]
    data: tuple[Datum, ...]
    parameters: tuple[Parameter, ...]
    kernels: tuple[Kernel, ...]
    variables: tuple[Variable, ...]
    lets: tuple[LetDecl, ...]
    losses: tuple[LossDecl, ...]


def collect(env: Environment, spec: Spec) -> Declarations:
    """Fills `env.symbols` and `env.indices`; mistakes are reported to `env`."""
    indices = [_index(env, entry) for line in spec.statements if isinstance(line, IndexLine) for entry in line.entries]
    kernels = [
        Kernel(entry.name.id, entry.kernel, entry.span)
        for line in spec.statements
        if isinstance(line, KernelLine)
        for entry in line.entries
        if _declare(env, entry.name, Symbol(entry.name.id, "kernel", entry.name.span))
    ]
    data: list[Datum] = []
    parameters: list[Parameter] = []
    variables: list[Variable] = []
    lets: list[LetDecl] = []
    losses: list[LossDecl] = []
    for line in spec.statements:
        if isinstance(line, DataLine):
            data += [_datum(env, entry) for entry in line.entries]
        elif isinstance(line, ParamLine):
            parameters += [_parameter(env, entry) for entry in line.entries]
        elif isinstance(line, VarLine):
            variables += [_variable(env, entry) for entry in line.entries]
        elif isinstance(line, LetDecl):
            symbol = Symbol(line.name.id, "abbreviation", line.name.span, declaration=line)
            if _declare(env, line.name, symbol):
                lets.append(line)
        elif isinstance(line, LossDecl) and _declare(
            env, line.name, Symbol(line.name.id, "loss", line.name.span, declaration=line)
        ):
            losses.append(line)
    _look_alikes(env)
    return Declarations(
        tuple(indices), tuple(data), tuple(parameters), tuple(kernels), tuple(variables), tuple(lets), tuple(losses)
    )


def _declare(env: Environment, name: Name, symbol: Symbol) -> bool:
    """Enters a name, unless it is taken."""
    earlier = env.symbols.get(name.id)
    if name.id in FUNCTIONS:
        env.error(
            "K214",
            f"`{name.id}` is a built-in function and cannot be declared",
            name.span,
            "reserved",
            help="choose another name",
        )
    elif symbol.kind == "kernel" and name.id in FAMILIES_BY_NAME:
        env.error(
            "K214",
            f"`{name.id}` is a built-in kernel and cannot be declared",
            name.span,
            "reserved",
            help=f"choose another name: kernel k = {name.id}",
        )
    elif earlier is not None:
        env.error(
            "K205",
            f"`{name.id}` is declared twice",
            name.span,
            f"as {KIND_WORDS[symbol.kind]}",
            also=(Label(earlier.span, f"first as {KIND_WORDS[earlier.kind]}"),),
            why="one name stands for one thing in a model",
            help="rename one of the two",
        )
        env.disputed.add(name.id)
        return False
    env.symbols[name.id] = symbol
    return True


# ------------------------------------------------------------------ indices


def _index(env: Environment, entry: IndexDecl) -> Index:
    sets = tuple(_set(env, where) for where in entry.sets)
    if len(entry.names) != len(sets):
        env.error(
            "K220",
            f"{_count(len(entry.names), 'index', 'indices')}, but {_count(len(sets), 'set', 'sets')}",
            entry.span,
            help="one set for each index, joined by x: (i, j) in 1..l x 1..l",
        )
        sets = (NO_SET,) * len(entry.names)
    index = Index(tuple(name.id for name in entry.names), sets, entry.where, entry.span)
    for name in entry.names:
        if _declare(env, name, Symbol(name.id, "index", name.span)):
            env.indices[name.id] = index
    return index


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _set(env: Environment, where: Range | Name) -> IndexSet:
    if isinstance(where, Name):
        earlier = env.symbols.get(where.id)
        if earlier is None:
            env.symbols[where.id] = Symbol(where.id, "set", where.span)
        elif earlier.kind == "size":
            env.error(
                "K221",
                f"`{where.id}` is a size and a set of labels at once",
                where.span,
                "a set here",
                also=(Label(earlier.span, "a size there"),),
                help=f"write 1..{where.id}, or give the set a name of its own",
            )
        return IndexSet(where.id, True)
    upper = where.upper
    if constant(where.lower) != 1:
        env.error(
            "K317",
            f"the range `{env.slice(where.span)}` does not begin at 1",
            where.lower.span,
            "write 1",
            why="indices count examples, and the first one is 1",
            help=f"write 1..{env.slice(upper.span)}",
        )
    if isinstance(upper, Name):
        earlier = env.symbols.get(upper.id)
        if earlier is None:
            env.symbols[upper.id] = Symbol(upper.id, "size", upper.span)
        elif earlier.kind == "set":
            env.error(
                "K221",
                f"`{upper.id}` is a set of labels and a size at once",
                upper.span,
                "a size here",
                also=(Label(earlier.span, "a set there"),),
                help="give the size a name of its own",
            )
        return IndexSet(upper.id, False)
    value = constant(upper)
    if value is None or value < 1 or value.denominator != 1:
        env.error(
            "K317",
            f"the range `{env.slice(where.span)}` is empty",
            where.span,
            "no such positions",
            help="end it with a size (1..l) or a positive whole number",
        )
    return IndexSet(upper.text, False)


def _subscripts(env: Environment, entry: SymbolDecl) -> tuple[IndexSet, ...]:
    sets = []
    for name in entry.subscripts:
        if name.id in env.indices:
            env.used.add(name.id)
            sets.append(env.index_set(name.id))
        else:
            undeclared_index(env, name)
            sets.append(NO_SET)
    return tuple(sets)


def tuple_filter(env: Environment, indices: tuple[str, ...]) -> tuple[Comparison, ...]:
    """The `where` of every index tuple all of whose members are among `indices`."""
    found: list[Index] = []
    for name in indices:
        index = env.indices.get(name)
        if index is not None and index.where and set(index.names) <= set(indices) and index not in found:
            found.append(index)
    return tuple(condition for index in found for condition in index.where)


# ------------------------------------------------- data, parameters, unknowns


def _datum(env: Environment, entry: SymbolDecl) -> Datum:
    sets, domain = _subscripts(env, entry), entry.domain
    interval, labels = FREE, None
    values: tuple[Fraction, ...] = ()
    value: Type = Unknown()
    if domain.kind == "input":
        value = Point()
    elif domain.kind == "set" and domain.name is not None:
        labels = _labels(env, domain.name)
        value = Member(labels) if labels is not None else Unknown()
    elif domain.kind == "finite":
        values, value = _finite(env, domain), Real()
    elif domain.kind in ("real", "interval"):
        interval, value = _interval(env, domain), Real()
    else:
        _wrong_domain(env, entry, "data", "`input`, `real`, `in (0, 1)`, `{-1, 1}` or a set of labels")
    default = _default(env, entry, interval, values)
    kept = interval if not values else None
    _enter(env, entry, Symbol(entry.name.id, "datum", entry.name.span, sets, (), value, kept, values=values))
    return Datum(
        entry.name.id,
        sets,
        "real" if domain.kind == "interval" else domain.kind,
        interval,
        values,
        labels,
        default,
        entry.span,
    )


def _parameter(env: Environment, entry: SymbolDecl) -> Parameter:
    sets, interval = _subscripts(env, entry), FREE
    value: Type = Real()
    if entry.domain.kind in ("real", "interval"):
        interval = _interval(env, entry.domain)
    elif _named(env, entry.domain):
        value = Unknown()
        _wrong_domain(env, entry, "a parameter", "`real`, `real >= 0` or an interval such as `in (0, inf)`")
    else:
        value = Unknown()
    default = _default(env, entry, interval, ())
    _enter(env, entry, Symbol(entry.name.id, "parameter", entry.name.span, sets, (), value, interval))
    return Parameter(entry.name.id, sets, interval, default, entry.span)


def _variable(env: Environment, entry: SymbolDecl) -> Variable:
    sets, domain = _subscripts(env, entry), entry.domain
    indices = tuple(name.id for name in entry.subscripts)
    whole_tuples(env, entry.subscripts)
    interval, kernel = FREE, None
    value: Type = Real(1)
    if domain.kind == "hilbert" and domain.name is not None:
        kernel = domain.name.id
        value = Vector(kernel, 1) if _is_kernel(env, domain.name) else Unknown()
    elif domain.kind in ("real", "interval"):
        interval = _interval(env, domain)
        if interval.lower_open or interval.upper_open:
            env.error(
                "K320",
                f"the domain of the unknown `{entry.name.id}` is open",
                domain.span,
                "an end that is excluded",
                why="over an open set a minimum need not be attained",
                help="close it: [ ] instead of ( ), >= instead of >",
            )
    elif _named(env, domain):
        value = Unknown()
        _wrong_domain(env, entry, "an unknown", "`real`, `real >= 0` or `H(k)` with a kernel k")
    else:
        value = Unknown()
    if entry.default is not None:
        env.error(
            "K319",
            f"the unknown `{entry.name.id}` has a value",
            entry.default.span,
            "fixed here",
            why="its value is what the solver finds",
            help="declare it in a `param` line if it is given",
        )
    _enter(env, entry, Symbol(entry.name.id, "variable", entry.name.span, sets, (), value, interval))
    return Variable(entry.name.id, indices, sets, tuple_filter(env, indices), kernel, interval, entry.span)


def _enter(env: Environment, entry: SymbolDecl, symbol: Symbol) -> None:
    _declare(env, entry.name, symbol._replace(subscripts=tuple(name.id for name in entry.subscripts)))


def _labels(env: Environment, name: Name) -> IndexSet | None:
    symbol = env.symbols.get(name.id)
    labelled = IndexSet(name.id, True)
    if symbol is not None and (symbol.kind == "set" or any(labelled in index.sets for index in env.indices.values())):
        return labelled
    sets = [other.name for other in env.symbols.values() if other.kind == "set"]
    near = nearest(name.id, [*sets, "real", "input"])
    if name.id == "H":
        remedy = f"write `H({env.kernels()[0] if len(env.kernels()) == 1 else 'k'})`, the space of a kernel"
    elif symbol is None and name.id.lower() in DOMAINS:
        remedy = DOMAINS[name.id.lower()]
    elif symbol is not None and symbol.kind == "index" and not near:
        remedy = f"name the set and write its name here: `index {name.id} in groups`, and `: groups`"
    else:
        remedy = f"did you mean `{near}`?" if near else f"declare an index over it: `index k in {name.id}`"
    env.error(
        "K222",
        f"unknown domain `{name.id}`" if symbol is None else f"`{name.id}` is {KIND_WORDS[symbol.kind]}, not a set",
        name.span,
        "not a domain",
        why="a domain is `input`, `real`, an interval, `{-1, 1}`, or a set that an index runs over",
        help=remedy,
        subject=(name.id,),
    )
    return None


def _named(env: Environment, domain: Domain) -> bool:
    """Whether a domain is one of the language's, or the name of a known set; an unknown name is reported."""
    return domain.kind != "set" or domain.name is None or _labels(env, domain.name) is not None


def _is_kernel(env: Environment, name: Name) -> bool:
    symbol = env.symbols.get(name.id)
    if symbol is not None and symbol.kind == "kernel":
        env.used.add(name.id)
        return True
    near = nearest(name.id, env.kernels())
    only = env.kernels()[0] if len(env.kernels()) == 1 else ""
    env.error(
        "K216",
        f"`H({name.id})`: no kernel `{name.id}` is declared",
        name.span,
        "not a kernel",
        why="H(k) is the Hilbert space of the kernel k",
        help=f"did you mean H({near or only})?"
        if near or only
        else f"add a line `kernel {name.id} = rbf(gamma = 0.5)`",
        subject=(name.id,),
    )
    return False


# ------------------------------------------------------------------ domains


_DOMAIN_ADVICE = {
    ("an unknown", "finite"): "use `real`: an unknown that may only take some values has no dual without a gap",
    ("an unknown", "input"): "an input is given: declare it in the `data` line",
    ("an unknown", "set"): "a label is given: declare it in the `data` line",
    ("a parameter", "hilbert"): "a vector of H(k) is an unknown: declare it in the `var` line",
    ("a parameter", "input"): "declare it in the `data` line",
    ("data", "hilbert"): "a vector of H(k) is an unknown: declare it in the `var` line",
}


def _wrong_domain(env: Environment, entry: SymbolDecl, what: str, allowed: str) -> None:
    env.error(
        "K318",
        f"`{env.slice(entry.domain.span)}` is no domain for {what}",
        entry.domain.span,
        why=f"{what} may be {allowed}",
        help=_DOMAIN_ADVICE.get((what, entry.domain.kind), "change its domain"),
    )


def _end(env: Environment, expression: Expr | None) -> tuple[Fraction | None, bool]:
    """An end of a domain (None: infinite), and whether it could be read."""
    if expression is None or is_infinite(expression):
        return None, True
    value = constant(expression)
    if value is None:
        env.error(
            "K332",
            f"the domain ends at `{env.text(expression)}`, which is not a number",
            expression.span,
            "not a number",
            why="domains decide how the dual looks, so they are fixed when it is derived",
            help="write a number or inf here, and the rest as a constraint",
        )
    return value, value is not None


def _interval(env: Environment, domain: Domain) -> Interval:
    if domain.kind == "real":
        if not domain.relation:
            return FREE
        value, known = _end(env, domain.bound)
        if not known or value is None:
            return FREE
        strict = domain.relation in ("<", ">")
        if domain.relation in (">=", ">"):
            return Interval(value, None, strict, False)
        return Interval(None, value, False, strict)
    lower, known_lower = _end(env, domain.lower)
    upper, known_upper = _end(env, domain.upper)
    if not known_lower or not known_upper:
        return FREE
    backwards = lower is not None and upper is not None and lower > upper
    point = lower is not None and lower == upper and (domain.lower_open or domain.upper_open)
    infinite = (domain.lower is not None and lower is None and not _negative(domain.lower)) or (
        domain.upper is not None and upper is None and _negative(domain.upper)
    )
    if backwards or point or infinite:
        env.error(
            "K317",
            f"the domain `{env.slice(domain.span)}` is empty",
            domain.span,
            "no number lies in it",
            help="write the smaller end first"
            if not point
            else f"to allow the one value, close both ends: in [{lower}, {upper}]",
        )
        return FREE
    return Interval(lower, upper, domain.lower_open and lower is not None, domain.upper_open and upper is not None)


def _negative(expression: Expr) -> bool:
    return type(expression).__name__ == "Neg"


def _finite(env: Environment, domain: Domain) -> tuple[Fraction, ...]:
    values = [constant(value) for value in domain.values]
    known = tuple(value for value in values if value is not None)
    if not domain.values:
        env.error("K317", "the domain `{}` is empty", domain.span, "no value", help="list the values: {-1, 1}")
    elif len(known) < len(values):
        bad = domain.values[values.index(None)]
        env.error("K332", f"`{env.text(bad)}` is not a number", bad.span, help="list numbers: {-1, 1}")
    elif len(set(known)) < len(known):
        env.error("K317", "the domain lists a value twice", domain.span, help="list each value once")
    return known


def _default(env: Environment, entry: SymbolDecl, interval: Interval, values: tuple[Fraction, ...]) -> Fraction | None:
    if entry.default is None:
        return None
    domain = env.slice(entry.domain.span)
    if entry.domain.kind in ("input", "set", "hilbert"):
        env.error("K319", f"a default for `{domain}` has no meaning", entry.default.span, help="leave it out")
        return None
    value = constant(entry.default)
    if value is None:
        env.error(
            "K332",
            f"the default `{env.text(entry.default)}` is not a number",
            entry.default.span,
            "not a number",
            help="write a number such as 0.5 or 1/2",
        )
    elif not contains(interval, value) or (values and value not in values):
        env.error(
            "K333",
            f"the default of `{entry.name.id}` is outside its domain",
            entry.default.span,
            f"{env.text(entry.default)} is not in the domain",
            also=(Label(entry.domain.span, "the domain"),),
            help="choose a default inside the domain, or widen the domain",
        )
    return value


def _look_alikes(env: Environment) -> None:
    """Warns where `v` and `nu` (ν) are both declared."""
    for latin, spelled in LOOK_ALIKES.items():
        one, other = env.symbols.get(latin), env.symbols.get(spelled)
        if one is None or other is None or GREEK.get(spelled) not in (env.slice(other.span),):
            continue
        env.error(
            "K223",
            f"`{latin}` and `{env.slice(other.span)}` are both declared and look alike",
            max(one.span, other.span, key=lambda span: span.start),
            also=(Label(min(one.span, other.span, key=lambda span: span.start)),),
            help=f"write the Greek letter as `{spelled}`, or rename one of the two",
            severity="warning",
        )
