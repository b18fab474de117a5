"""What the argument of a `let` or a predict clause must be, read off the way its body uses it."""

from __future__ import annotations

from kdsl.language.scopes import Environment
from kdsl.language.syntax import Call, Expr, Item, LetDecl, Name
from kdsl.language.values import Member, Point, Row, Type, Unknown
from kdsl.language.walk import walk


def formal_type(env: Environment, formal: str, body: Expr, point: bool) -> Type:
    """The type of `formal` in `body`; where nothing tells, a point if `point`, else left open.

    An argument of phi, of a kernel or of another let's point is a point; what stands as a subscript is an
    index of the set expected there; `t[j]` makes t a row of numbers; in a predict clause an argument that
    bears the name of an index is an element of its set.
    """
    if point and formal in env.indices:
        return Member(env.index_set(formal))
    pending: list[tuple[str, Expr]] = [(formal, body)]
    seen: set[tuple[str, str]] = set()
    while pending:
        name, expression = pending.pop()
        for part in walk(expression):
            if isinstance(part, Item):
                found = _in_item(env, name, part)
                if found is not None:
                    return found
            elif isinstance(part, Call):
                function = env.symbols.get(part.function.id)
                takes_points = part.function.id == "phi" or (function is not None and function.kind == "kernel")
                for position, argument in enumerate(part.arguments):
                    if not (isinstance(argument, Name) and argument.id == name):
                        continue
                    if takes_points:
                        return Point()
                    let = function.declaration if function is not None else None
                    if isinstance(let, LetDecl) and position < len(let.formals):
                        key = (let.name.id, let.formals[position].id)
                        if key not in seen:
                            seen.add(key)
                            pending.append((let.formals[position].id, let.body))
    return Point() if point else Unknown()


def _in_item(env: Environment, name: str, item: Item) -> Type | None:
    if item.base.id == name:
        subscript = item.subscripts[0]
        if isinstance(subscript, Name) and subscript.id in env.indices:
            return Row(env.index_set(subscript.id))
        return Unknown()
    symbol = env.symbols.get(item.base.id)
    if symbol is None:
        return None
    for position, subscript in enumerate(item.subscripts):
        if isinstance(subscript, Name) and subscript.id == name and position < len(symbol.sets):
            return Member(symbol.sets[position])
    return None
