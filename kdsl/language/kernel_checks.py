"""Kernel lines: every family, parameter, factor and column is known, every parameter in its range, no cycle."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kdsl.language.constants import constant, is_infinite
from kdsl.language.diagnostics import Label
from kdsl.language.kernel_catalog import FAMILIES_BY_NAME, OTHER_NAMES, KernelFamily, KernelParameter
from kdsl.language.model import Interval, Kernel
from kdsl.language.ranges import as_domain, contains, in_words, inside
from kdsl.language.scopes import KIND_WORDS, Environment
from kdsl.language.suggestions import nearest
from kdsl.language.syntax import (
    Add,
    Expr,
    KernelCall,
    KernelExpr,
    KernelNumber,
    KernelOn,
    KernelProduct,
    KernelSum,
    Mul,
    Name,
    Neg,
    Number,
    Pow,
)
from kdsl.language.walk import walk


def check_kernels(env: Environment, kernels: tuple[Kernel, ...]) -> None:
    """Reports every mistake in the kernel expressions."""
    for kernel in kernels:
        for part in parts(kernel.expression):
            if isinstance(part, KernelCall):
                _check_call(env, part)
            elif isinstance(part, KernelSum | KernelProduct):
                _check_numbers(env, part)
            elif isinstance(part, KernelOn):
                _check_columns(env, part)
        if isinstance(kernel.expression, KernelNumber):
            _only_number(env, kernel.expression)
    _check_cycles(env, kernels)


def parts(expression: KernelExpr) -> Iterator[KernelExpr]:
    """The expression and all of its parts, in the order they are written."""
    stack = [expression]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, KernelSum):
            stack.extend(reversed(part.terms))
        elif isinstance(part, KernelProduct):
            stack.extend(reversed(part.factors))
        elif isinstance(part, KernelOn):
            stack.append(part.kernel)


def _check_call(env: Environment, call: KernelCall) -> None:
    name = call.name.id
    symbol = env.symbols.get(name)
    if symbol is not None and symbol.kind in ("kernel", "parameter") and name not in FAMILIES_BY_NAME:
        env.used.add(name)
        if call.arguments:
            env.error(
                "K225",
                f"`{name}` is {KIND_WORDS[symbol.kind]} of this model and takes no parameters",
                call.span,
                help=f"write {name} alone",
            )
        elif symbol.kind == "parameter" and not _non_negative(symbol.interval):
            env.error(
                "K226",
                f"the factor `{name}` may be negative",
                call.span,
                "a factor of a kernel",
                also=(Label(symbol.span, "declared here"),),
                why="a negative multiple of a kernel is not a kernel",
                help=f"declare it as `{name} : real >= 0` or `in (0, inf)`",
            )
        return
    if name in env.functions:
        return
    family = FAMILIES_BY_NAME.get(name)
    if family is None:
        _unknown_kernel(env, call)
        return
    if not family.psd:
        env.error(
            "K227",
            f"the {name} kernel is not positive semidefinite",
            call.span,
            why="for an indefinite kernel the dual is not concave, and its maximum need not be the primal optimum",
            help="prefer rbf, poly or linear; else the Gram matrix is measured, and refused or repaired by --psd",
            severity="warning",
        )
    given: dict[str, Name] = {}
    for parameter, value in call.arguments:
        known = next((p for p in family.parameters if p.name == parameter.id), None)
        if known is None:
            _unknown_parameter(env, family, parameter)
        elif parameter.id in given:
            env.error(
                "K228",
                f"`{parameter.id}` is given twice",
                parameter.span,
                also=(Label(given[parameter.id].span, "first here"),),
                help="keep one of the two",
            )
        else:
            _check_value(env, family, known, value)
        given[parameter.id] = parameter
    for group in family.exclusive:
        together = [given[member] for member in group if member in given]
        if len(together) > 1:
            env.error(
                "K228",
                f"`{together[0].id}` and `{together[1].id}` say the same thing twice",
                together[1].span,
                also=(Label(together[0].span),),
                why=f"{family.name} is {family.formula}",
                help="keep one of the two",
            )


def _unknown_kernel(env: Environment, call: KernelCall) -> None:
    name = call.name.id
    symbol = env.symbols.get(name)
    near = OTHER_NAMES.get(name.lower()) or nearest(name, [*FAMILIES_BY_NAME, *env.kernels()])
    env.error(
        "K224",
        f"unknown kernel `{name}`" if symbol is None else f"`{name}` is {KIND_WORDS[symbol.kind]}, not a kernel",
        call.name.span,
        help=f"did you mean `{near}`?" if near else f"the built-in kernels are {', '.join(FAMILIES_BY_NAME)}",
        subject=(name,),
    )


def _unknown_parameter(env: Environment, family: KernelFamily, parameter: Name) -> None:
    names = [known.name for known in family.parameters]
    near = nearest(parameter.id, names)
    env.error(
        "K225",
        f"the kernel `{family.name}` has no parameter `{parameter.id}`",
        parameter.span,
        why=f"{family.name} is {family.formula}",
        help=f"did you mean `{near}`?"
        if near
        else (f"its parameters are {', '.join(names)}" if names else f"write {family.name} alone"),
    )


def _check_value(env: Environment, family: KernelFamily, parameter: KernelParameter, given: Expr) -> None:
    if parameter.kind == "kernel":
        if isinstance(given, Name) and given.id in env.kernels():
            env.used.add(given.id)
        elif not (isinstance(given, Name) and given.id in FAMILIES_BY_NAME):
            env.error("K224", f"`{env.text(given)}` is not a kernel", given.span, help="name a kernel of this model")
        return
    if isinstance(given, Name) and not is_infinite(given):
        _check_name(env, family, parameter, given)
        return
    value = constant(given)
    if value is None and parameter.kind == "real" and _calculated(env, given):
        return
    if value is None and not is_infinite(given):
        env.error(
            "K229",
            f"`{env.text(given)}` cannot be the value of `{parameter.name}`",
            given.span,
            "neither a number nor a parameter",
            help=_values(parameter),
        )
    elif value is None or not _fits(parameter, value):
        env.error(
            "K230",
            f"`{parameter.name} = {env.text(given)}` is out of range for the kernel `{family.name}`",
            given.span,
            "out of range",
            why=f"{family.name} is {family.formula}",
            help=f"choose {_requirement(parameter)}",
        )


def _calculated(env: Environment, given: Expr) -> bool:
    """Whether it is arithmetic with parameters; its range is checked when they have values."""
    for part in walk(given):
        if isinstance(part, Name):
            symbol = env.symbols.get(part.id)
            if symbol is None or symbol.kind != "parameter" or symbol.sets:
                return False
        elif not isinstance(part, Add | Mul | Neg | Number | Pow):
            return False
    env.used.update(part.id for part in walk(given) if isinstance(part, Name))
    return not is_infinite(given)


def _check_name(env: Environment, family: KernelFamily, parameter: KernelParameter, given: Name) -> None:
    symbol = env.symbols.get(given.id)
    if symbol is not None and symbol.kind == "parameter" and not symbol.sets:
        env.used.add(given.id)
        if parameter.kind == "integer" or not _covers(parameter, symbol.interval):
            env.error(
                "K230",
                f"the domain of `{given.id}` is too wide for `{parameter.name}` of the kernel `{family.name}`",
                given.span,
                "may be out of range",
                also=(Label(symbol.span, "declared here"),),
                why=f"the kernel needs {_requirement(parameter)}",
                help="write the whole number itself"
                if parameter.kind == "integer"
                else f"declare it as `{given.id} : {as_domain(parameter.interval)}`",
            )
        return
    if given.id in parameter.words:
        return
    single = [name for name, other in env.symbols.items() if other.kind == "parameter" and not other.sets]
    near = nearest(given.id, [*parameter.words, *single])
    indexed = symbol is not None and symbol.kind == "parameter"
    env.error(
        "K229",
        f"`{given.id}` cannot be the value of `{parameter.name}`",
        given.span,
        "many numbers, one for each index" if indexed else "neither a number nor a parameter",
        help=f"did you mean `{near}`?" if near else _values(parameter),
    )


def _values(parameter: KernelParameter) -> str:
    """What may be written as the value of a parameter."""
    words = [f"`{word}`" for word in parameter.words]
    return f"write {', '.join(['a number', *words])} or the name of a `param`"


def _covers(parameter: KernelParameter, interval: Interval | None) -> bool:
    return interval is not None and inside(interval, parameter.interval)


def _fits(parameter: KernelParameter, value: Fraction) -> bool:
    if parameter.kind == "integer" and value.denominator != 1:
        return False
    return contains(parameter.interval, value)


def _requirement(parameter: KernelParameter) -> str:
    """The range of a kernel parameter in words: `gamma > 0`, `a whole number degree >= 1`."""
    words = in_words(parameter.name, parameter.interval)
    return f"a whole number {words}" if parameter.kind == "integer" else words


def _non_negative(interval: Interval | None) -> bool:
    return interval is not None and interval.lower is not None and interval.lower >= 0


def _check_numbers(env: Environment, part: KernelSum | KernelProduct) -> None:
    if isinstance(part, KernelSum):
        return
    if all(isinstance(factor, KernelNumber) for factor in part.factors):
        _only_number(env, part)


def _only_number(env: Environment, part: KernelExpr) -> None:
    env.error(
        "K224",
        f"`{env.slice(part.span)}` is a number, not a kernel",
        part.span,
        why="a kernel gives a number for each pair of points",
        help="multiply a kernel by it: 0.5 * linear",
    )


def _check_columns(env: Environment, part: KernelOn) -> None:
    seen: dict[str, Name] = {}
    for column in part.columns:
        if column.id in seen:
            env.error(
                "K228",
                f"the column `{column.id}` is named twice",
                column.span,
                also=(Label(seen[column.id].span, "first here"),),
                help="name each column once",
            )
        seen[column.id] = column
    for inner in parts(part.kernel):
        family = FAMILIES_BY_NAME.get(inner.name.id) if isinstance(inner, KernelCall) else None
        if family is not None and not family.needs_columns:
            env.error(
                "K231",
                f"the kernel `{family.name}` has no columns to choose from",
                part.span,
                why=f"{family.name} is {family.formula}",
                help=f"write {family.name} without `on`",
            )


def _check_cycles(env: Environment, kernels: tuple[Kernel, ...]) -> None:
    """A kernel may use another one, but not, in the end, itself."""
    uses: dict[str, list[str]] = {}
    for kernel in kernels:
        calls = [part for part in parts(kernel.expression) if isinstance(part, KernelCall)]
        named = [call.name.id for call in calls]
        named += [
            value.id for call in calls for word, value in call.arguments if word.id == "of" and isinstance(value, Name)
        ]
        uses[kernel.name] = [name for name in named if name in env.kernels() and name not in FAMILIES_BY_NAME]
    for kernel in kernels:
        reached: set[str] = set()
        pending = list(uses[kernel.name])
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending.extend(uses.get(name, []))
        if kernel.name in reached:
            env.error(
                "K219",
                f"the kernel `{kernel.name}` is defined through itself",
                env.symbols[kernel.name].span,
                "a circle",
                help="a kernel may use only kernels that are defined without it",
                subject=("cycle",),
            )
