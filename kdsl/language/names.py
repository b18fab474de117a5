"""Names in expressions: what a name or `base[subscripts]` refers to, and what to say when it refers to nothing."""

from __future__ import annotations

from collections.abc import Generator

from kdsl.algebra.builtin_losses import LOSSES_BY_NAME
from kdsl.language import calls
from kdsl.language.diagnostics import Label
from kdsl.language.model import IndexSet
from kdsl.language.scopes import FUNCTIONS, KIND_WORDS, Environment, Scope, Symbol
from kdsl.language.suggestions import GREEK, greek, look_alike, nearest
from kdsl.language.syntax import Expr, Item, LetDecl, Name, Number, Span
from kdsl.language.values import Member, Point, Real, Row, Type, Unknown, Vector, describe

Visit = Generator[tuple[Expr, Scope], Type, Type]
UNKNOWN = Unknown()
NO_SET = IndexSet("?", False)  # of an index that is not declared, which is reported where it is named
SLACKS = ("xi", "zeta", "slack", "eta")


def name_rule(env: Environment, expression: Name, scope: Scope) -> Visit:
    bound = scope.bound.get(expression.id)
    if bound is not None:
        return bound
    symbol = env.symbols.get(expression.id)
    if symbol is None:
        unknown_name(env, expression, (), scope)
        return UNKNOWN
    env.used.add(symbol.name)
    if symbol.name in env.disputed:
        return UNKNOWN
    if symbol.kind == "index":
        unbound_index(env, expression, scope, None, None)
        return UNKNOWN
    if symbol.kind == "size":
        return Real()
    if symbol.kind == "abbreviation" and isinstance(symbol.declaration, LetDecl) and not symbol.declaration.formals:
        value = yield from calls.expand(env, symbol.declaration, (), expression.span, scope)
        return value
    if symbol.kind in ("set", "kernel", "loss", "abbreviation"):
        _not_a_value(env, expression, symbol)
        return UNKNOWN
    if symbol.sets:
        wrong_count(env, expression, symbol, 0, scope)
        return UNKNOWN
    return _value(env, expression, symbol, scope)


def item_rule(env: Environment, expression: Item, scope: Scope) -> Visit:
    base = expression.base
    bound = scope.bound.get(base.id)
    if isinstance(bound, Row):
        yield from _subscripts(env, expression, (bound.set,), scope)
        return Real()
    symbol = env.symbols.get(base.id)
    if base.id in env.disputed:
        return UNKNOWN
    if bound is not None or (symbol is not None and symbol.kind not in ("datum", "parameter", "variable")):
        _no_subscripts(env, expression, symbol)
        return UNKNOWN
    if symbol is None:
        unknown_name(env, base, expression.subscripts, scope)
        return UNKNOWN
    env.used.add(symbol.name)
    if len(expression.subscripts) != len(symbol.sets):
        wrong_count(env, expression, symbol, len(expression.subscripts), scope)
        return UNKNOWN
    fits = yield from _subscripts(env, expression, symbol.sets, scope)
    return _value(env, expression, symbol, scope) if fits else UNKNOWN


def _value(env: Environment, expression: Name | Item, symbol: Symbol, scope: Scope) -> Type:
    value = symbol.value if symbol.value is not None else UNKNOWN
    if symbol.kind != "variable":
        return value
    if scope.owner.kind == "loss":
        env.error(
            "K215",
            f"the loss `{scope.owner.title}` reads the unknown `{env.text(expression)}`",
            expression.span,
            "an unknown of the model",
            why="a loss is a function of its own arguments; its convexity is proven once, for every use",
            help=f"pass it in: make it one of the formals of `{scope.owner.title}`",
        )
        return UNKNOWN
    if scope.solved:
        return value._replace(degree=0) if isinstance(value, Real | Vector) else value
    return value


def _subscripts(
    env: Environment, item: Item, sets: tuple[IndexSet, ...], scope: Scope
) -> Generator[tuple[Expr, Scope], Type, bool]:
    """Whether every subscript is an element of the set that is expected there."""
    fits = True
    for position, (subscript, expected) in enumerate(zip(item.subscripts, sets, strict=False)):
        if isinstance(subscript, Name) and subscript.id in env.indices and subscript.id not in scope.bound:
            env.used.add(subscript.id)
            unbound_index(env, subscript, scope, item, position)
            fits = False
            continue
        if isinstance(subscript, Name) and subscript.id not in env.symbols and subscript.id not in scope.bound:
            undeclared_index(env, subscript)
            fits = False
            continue
        value = yield subscript, scope
        if isinstance(value, Member) and (value.set == expected or NO_SET in (value.set, expected)):
            continue
        fits = False
        if isinstance(value, Unknown):
            continue
        if isinstance(value, Member):
            _wrong_set(env, item, subscript, value.set, expected, scope)
        elif isinstance(value, Real) and isinstance(subscript, Item):
            calls.number_for_label(env, subscript, expected.size)
        else:
            _not_an_index(env, item, subscript, expected, value)
    return fits


def _wrong_set(
    env: Environment, item: Item, subscript: Expr, found: IndexSet, expected: IndexSet, scope: Scope
) -> None:
    right = [name for name in scope.bound if scope.bound[name] == Member(expected)]
    free = [name for name in env.indices if env.index_set(name) == expected]
    remedy = f"declare an index that runs over {_set_words(expected)}"
    if right:
        remedy = f"write {item.base.id}[{right[0]}]"
    elif free:
        remedy = f"`{free[0]}` runs over {_set_words(expected)}: bind it, and use it here"
    symbol = env.symbols.get(item.base.id)
    env.error(
        "K207",
        f"`{env.text(subscript)}` is {describe(Member(found))}, but `{item.base.id}` is indexed by "
        f"{_set_words(expected)}",
        subscript.span,
        "index of another set",
        also=(Label(symbol.span, f"declared over {_set_words(expected)}"),) if symbol is not None else (),
        help=remedy,
    )


def _set_words(found: IndexSet) -> str:
    return f"`{found.size}`" if found.labelled else f"1..{found.size}"


def _not_an_index(env: Environment, item: Item, subscript: Expr, expected: IndexSet, value: Type) -> None:
    literal = isinstance(subscript, Number)
    env.error(
        "K208",
        f"`{env.text(subscript)}` cannot be a subscript of `{item.base.id}`",
        subscript.span,
        "a literal position" if literal else describe(value),
        why="the algebra treats all elements of a set alike, and the data decide how many there are"
        if literal
        else f"`{item.base.id}` is indexed by {_set_words(expected)}, and positions are not computed",
        help="use an index variable, or single the element out by a `where` on a datum",
    )


def wrong_count(env: Environment, expression: Name | Item, symbol: Symbol, given: int, scope: Scope) -> None:
    wanted = f"{symbol.name}[{', '.join(symbol.subscripts)}]" if symbol.sets else symbol.name
    formal = _formal_for(symbol, scope)
    message = f"`{symbol.name}` stands without its index"
    if given:
        takes = f"{len(symbol.sets)} subscript{'s' * (len(symbol.sets) != 1)}" if symbol.sets else "no subscript"
        message = f"`{symbol.name}` takes {takes}, {given} given"
    env.error(
        "K209",
        message,
        expression.span,
        f"one for each {', '.join(symbol.subscripts)}" if symbol.sets and given == 0 else "",
        also=(Label(symbol.span, f"declared as {wanted}"),),
        help=f"write {formal}, the argument"
        if formal
        else (f"write {wanted}" if symbol.sets else f"write {wanted}, or declare it with an index"),
    )


def _formal_for(symbol: Symbol | None, scope: Scope) -> str:
    """The argument of a let or predict clause that stands for the input which is written in its place, or ""."""
    if symbol is None or not isinstance(symbol.value, Point):
        return ""
    taken = (Point, Unknown) if scope.owner.kind == "definition" else (Point,)
    return next((name for name, value in scope.bound.items() if isinstance(value, taken)), "")


def _no_subscripts(env: Environment, item: Item, symbol: Symbol | None) -> None:
    name = item.base.id
    what = KIND_WORDS[symbol.kind] if symbol is not None else "an argument"
    inside = ", ".join(env.text(subscript) for subscript in item.subscripts)
    callable_ = symbol is not None and symbol.kind in ("abbreviation", "loss", "kernel")
    env.error(
        "K209",
        f"`{name}` is {what} and takes no subscript",
        item.span,
        help=f"write {name}({inside})" if callable_ else f"write {name} without [{inside}]",
    )


def _not_a_value(env: Environment, expression: Name, symbol: Symbol) -> None:
    name = symbol.name
    advice = {
        "kernel": f"write {name}(x[i], x[j]) for its value at two points",
        "set": f"declare an index that runs over it: index k in {name}",
        "loss": f"give it its argument: {name}(r)",
    }
    formals = ", ".join(formal.id for formal in symbol.declaration.formals) if symbol.declaration else ""
    env.error(
        "K210",
        f"`{name}` is {KIND_WORDS[symbol.kind]}, not a number or a vector",
        expression.span,
        also=(Label(symbol.span, "declared here"),),
        help=advice.get(symbol.kind, f"give it its argument: {name}({formals})"),
    )


# ------------------------------------------------------------ unknown names


def unknown_name(env: Environment, name: Name, subscripts: tuple[Expr, ...], scope: Scope) -> None:
    """Reports a name that nothing declares, once in a file, with the likeliest remedy."""
    written = name.id
    if written in FUNCTIONS or written in LOSSES_BY_NAME:
        usage = FUNCTIONS.get(written, f"{written}(r)")
        env.error("K210", f"`{written}` is a function and needs its argument", name.span, help=f"write {usage}")
        return
    known = [*env.symbols, *scope.bound]
    twin = look_alike(written, known)
    if twin:
        declared = env.symbols.get(twin)
        env.error(
            "K202",
            f"`{env.slice(name.span)}` is not declared, but {greek(twin)} is, and the two look alike",
            name.span,
            f"the Greek letter {written}" if written in GREEK else f"the Latin letter {written}",
            why="the Greek letter and the Latin one are different names",
            also=(Label(declared.span, "declared here"),) if declared else (),
            help=f"write `{env.slice(declared.span) if declared else twin}` here, or rename the declaration",
            subject=(written,),
        )
        return
    near = nearest(written, known) or _size(env, written)
    slack = written.rstrip("'").startswith(SLACKS)
    if slack:
        _undeclared_slack(env, name, subscripts, near)
        return
    env.error(
        "K201",
        f"unknown name `{written}`",
        name.span,
        "nothing of this name is declared",
        help=f"did you mean `{near}`?" if near else "declare it in a `var`, `param` or `data` line",
        subject=(written,),
    )


def _size(env: Environment, written: str) -> str:
    """The only size there is, where `written` is a letter that books use for the number of examples."""
    sizes = [symbol.name for symbol in env.symbols.values() if symbol.kind == "size"]
    return sizes[0] if len(sizes) == 1 and written in ("n", "N", "m", "M", "L") else ""


def _undeclared_slack(env: Environment, name: Name, subscripts: tuple[Expr, ...], near: str) -> None:
    indices = [subscript.id for subscript in subscripts if isinstance(subscript, Name)]
    shape = f"{name.id}[{', '.join(indices)}]" if indices else name.id
    alternative = f"; or did you mean `{near}`?" if near else ""
    env.error(
        "K211",
        f"the slack `{name.id}` is used but not declared",
        name.span,
        "not declared",
        why="the dual needs to know its sign: a slack that is >= 0 turns into a bound on a multiplier",
        help=f"add `{shape} : real >= 0` to the `var` line{alternative}",
        subject=(name.id,),
    )


# ------------------------------------------------------------------ indices


def unbound_index(env: Environment, name: Name, scope: Scope, item: Item | None, position: int | None) -> None:
    """Reports an index that no label, sum or formal binds; once for each statement."""
    owner, written = scope.owner, name.id
    if any(index not in env.indices for index in (*owner.indices, *scope.places)):
        return  # the label or a sum names an undeclared index in its stead, which is reported already
    where = "the objective" if owner.kind == "objective" else f"`{owner.title}`"
    shown = env.text(item) if item is not None else written
    subject = (owner.kind, owner.title, written)
    if owner.kind != "constraint":
        remedy = f"write sum[{written}] {shown}"
        if owner.kind in ("let", "definition"):
            remedy = f"make it an argument, {owner.title}({written}), or sum over it"
        elif owner.kind == "predict":
            remedy = f"sum over it, or add `{written}` to the arguments of {where}"
        formal = _formal_for(env.symbols.get(item.base.id), scope) if item is not None else ""
        remedy = f"write {formal}, the argument, in place of {shown}" if formal else remedy
        env.error(
            "K204",
            f"index `{written}` is not bound in {where}",
            name.span,
            f"unbound; no sum runs over `{written}`",
            why=f"{where} is one number, but {shown} is one for each {written}"
            if owner.kind == "objective"
            else f"{shown} is one number for each {written}, and nothing here says which",
            help=remedy,
            subject=subject,
        )
        return
    bound = ", ".join(f"`{index}`" for index in owner.indices)
    labelled = f"{owner.title.partition('[')[0]}[{','.join((*owner.indices, written))}]"
    remedy = f"label it {labelled}"
    if item is not None and position is not None:
        wanted = env.index_set(written)
        twin = next((index for index in owner.indices if env.index_set(index) == wanted), "")
        if twin:
            subscripts = [env.text(subscript) for subscript in item.subscripts]
            subscripts[position] = twin
            remedy = f"write {item.base.id}[{', '.join(subscripts)}], or {remedy}"
    each = f"one multiplier per {' and '.join(owner.indices)}" if owner.indices else "a single multiplier"
    env.error(
        "K203",
        f"index `{written}` is not bound in `{owner.title}`",
        name.span,
        f"unbound; the label binds only {bound}" if bound else "unbound; the label binds no index",
        also=(Label(owner.span),),
        why=f"{owner.title} gets {each}, so L has no sum over {written}",
        help=remedy if owner.indices or "or" in remedy else f"{remedy}, or sum over {written}",
        subject=subject,
    )


def bind_indices(env: Environment, indices: tuple[Name, ...], scope: Scope) -> Scope:
    """The scope inside `sum[...]` or `argmax[...]`."""
    bound: dict[str, Type] = {}
    places = dict(scope.places)
    for name in indices:
        if name.id not in env.indices:
            undeclared_index(env, name)
            bound[name.id] = UNKNOWN
            places[name.id] = name.span
            continue
        env.used.add(name.id)
        if name.id in bound or isinstance(scope.bound.get(name.id), Member):
            _bound_twice(env, name, scope, places.get(name.id))
        bound[name.id] = Member(env.index_set(name.id))
        places[name.id] = name.span
    whole_tuples(env, indices)
    return scope.bind(bound)._replace(places=places)


def _bound_twice(env: Environment, name: Name, scope: Scope, first: Span | None) -> None:
    wanted = env.index_set(name.id)
    spare = next((n for n in env.indices if env.index_set(n) == wanted and n not in scope.bound and n != name.id), "")
    env.error(
        "K206",
        f"index `{name.id}` is bound twice",
        name.span,
        "bound again here",
        also=(Label(first, "bound here"),) if first is not None else (),
        why=f"inside, `{name.id}` could mean either of the two",
        help=f"use `{spare}` for one of them" if spare else f"declare a second index over {_set_words(wanted)}",
    )


def whole_tuples(env: Environment, indices: tuple[Name, ...]) -> None:
    """An index that was declared in a tuple is bound together with its partners: the filter couples them."""
    given = {name.id for name in indices}
    for name in indices:
        index = env.indices.get(name.id)
        if index is None or len(index.names) < 2 or set(index.names) <= given:
            continue
        env.error(
            "K212",
            f"`{name.id}` is declared only as part of ({', '.join(index.names)})",
            name.span,
            "bound without its partner",
            also=(Label(index.span, "declared together"),),
            why="the pairs are chosen together, by their `where`",
            help=f"bind them together: [{', '.join(index.names)}], or declare another index for this one",
        )
        return


def undeclared_index(env: Environment, name: Name) -> None:
    known = nearest(name.id, env.indices)
    symbol = env.symbols.get(name.id)
    remedy = f"did you mean `{known}`?" if known else f"declare it: `index {name.id} in 1..l`"
    if symbol is not None:
        remedy = f"use an index: {', '.join(env.indices) or 'index i in 1..l'}"
    what = f"`{name.id}` is {KIND_WORDS[symbol.kind]}, not an index" if symbol else f"unknown index `{name.id}`"
    env.error(
        "K213",
        what,
        name.span,
        "not declared in an `index` line",
        also=(Label(symbol.span, "declared here"),) if symbol else (),
        help=remedy,
        subject=(name.id,),
    )
