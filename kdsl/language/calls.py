"""Function calls: phi, max and its kin, losses, kernels, and the expansion of `let` abbreviations."""

from __future__ import annotations

from collections.abc import Generator

from kdsl.algebra.builtin_losses import LOSSES_BY_NAME, BuiltinLoss
from kdsl.language.constants import constant
from kdsl.language.diagnostics import Label
from kdsl.language.elsewhere import written_here
from kdsl.language.ranges import as_domain, contains, in_words, inside
from kdsl.language.scopes import FUNCTIONS, KIND_WORDS, Environment, Owner, Scope, Symbol
from kdsl.language.suggestions import nearest
from kdsl.language.syntax import Call, Expr, Item, LetDecl, LossDecl, Name, Span
from kdsl.language.values import Member, Point, Real, Row, Sign, Type, Unknown, Vector, describe

Visit = Generator[tuple[Expr, Scope], Type, Type]
UNKNOWN = Unknown()
MAX_EXPANSION = 100  # abbreviations that call one another, one inside the other


def as_number(env: Environment, value: Type, expression: Expr) -> Real | None:
    """`value` as a number (an index of 1..l is one); None where it is not, which is then reported."""
    if isinstance(value, Real):
        return value
    if isinstance(value, Member) and not value.set.labelled:
        return Real()
    written = env.text(expression)
    if isinstance(value, Point | Row):
        env.error(
            "K310",
            f"`{written}` is a point, not a number",
            expression.span,
            "an input",
            why="inputs enter a model through phi(...) or a kernel only, so that any kernel can be used",
            help=f"write <w, phi({written})>, or declare it as `real` if it is a number",
        )
    elif isinstance(value, Vector):
        env.error(
            "K305",
            f"`{written}` is {describe(value)} where a number is needed",
            expression.span,
            "a vector",
            help=f"write ||{written}||^2 for its squared norm, or an inner product",
        )
    elif isinstance(value, Member):
        env.error(
            "K328",
            f"`{written}` is {describe(value)}, and labels are not numbers",
            expression.span,
            "a label",
            why="labels are names: they choose a variable, as in w[y[i]], and can be compared with = and !=",
            help="declare it as `{-1, 1}` or `real` if it is a number in this model",
        )
    elif not isinstance(value, Unknown):
        what = "sign" if isinstance(value, Sign) else "argmax"
        env.error(
            "K313",
            f"`{what}` can only be the whole of a predict clause",
            expression.span,
            why="its value is a decision, not a number to calculate with",
            help=f"write {what} around the whole expression",
        )
    return None


def point_for_vector(env: Environment, expression: Expr) -> None:
    written = env.text(expression)
    env.error(
        "K310",
        f"`{written}` is a point, not a vector of a feature space",
        expression.span,
        "an input",
        why="an inner product or a norm is taken in the space of a kernel, where phi carries the inputs",
        help=f"write phi({written})",
    )


def number_for_label(env: Environment, expression: Expr, labels: str) -> None:
    written = env.text(expression)
    env.error(
        "K316",
        f"`{written}` is used as a label, but it is declared as a number",
        expression.span,
        "a number",
        why=f"here an element of the set `{labels}` is needed",
        help=f"declare it as a label: `data {written} : {labels}`",
    )


def only_in_predict(env: Environment, function: str, at: Span, scope: Scope) -> None:
    env.error(
        "K313",
        f"`{function}` can only be used in a predict clause",
        at,
        f"in {'the ' if scope.owner.kind == 'objective' else ''}{scope.owner.title}",
        why=f"{function} is not convex: a problem that holds it has no dual without a gap",
        help="write an inequality for each case, such as y[i] * f(x[i]) >= 1 - xi[i]"
        if scope.owner.kind == "constraint"
        else "use a loss instead, such as hinge(y[i] * f(x[i]))",
    )


def call_rule(env: Environment, expression: Call, scope: Scope) -> Visit:
    function = expression.function.id
    symbol = env.symbols.get(function)
    if function in env.disputed:
        return UNKNOWN
    if symbol is not None and symbol.kind in ("abbreviation", "loss", "kernel"):
        env.used.add(function)
        if isinstance(symbol.declaration, LetDecl):
            return (yield from _call_let(env, expression, symbol.declaration, scope))
        if isinstance(symbol.declaration, LossDecl):
            return (yield from _call_loss(env, expression, symbol.declaration, None, scope))
        return (yield from _call_kernel(env, expression, symbol, scope))
    if symbol is None and function in LOSSES_BY_NAME:
        return (yield from _call_loss(env, expression, None, LOSSES_BY_NAME[function], scope))
    if function in FUNCTIONS:
        return (yield from _call_function(env, expression, scope))
    _not_callable(env, expression, symbol, scope)
    return UNKNOWN


def _not_callable(env: Environment, call: Call, symbol: Symbol | None, scope: Scope) -> None:
    function = call.function.id
    written = [env.text(argument) for argument in call.arguments]
    inside = ", ".join(written)
    if symbol is not None or function in scope.bound:
        what = KIND_WORDS[symbol.kind] if symbol is not None else "an argument"
        env.error(
            "K218",
            f"`{function}` is {what}, not a function",
            call.function.span,
            also=(Label(symbol.span, "declared here"),) if symbol is not None else (),
            help=f"write {function}[{inside}]"
            if symbol is not None and symbol.sets
            else f"write {function} * ({inside})",
        )
        return
    known = [name for name, other in env.symbols.items() if other.kind in ("abbreviation", "loss", "kernel")]
    near = nearest(function, [*known, *FUNCTIONS, *LOSSES_BY_NAME])
    definition = f"define it: `let {function}(t) = ...` or `loss {function}(r) = ...`"
    env.error(
        "K217",
        f"unknown function `{function}`",
        call.function.span,
        "neither built in nor declared",
        help=written_here(function, written) or (f"did you mean `{near}`?" if near else definition),
        subject=(function,),
    )


def _count(env: Environment, call: Call, formals: int, parameters: tuple[int, int], usage: str) -> bool:
    """Whether the call has the right number of arguments and parameters."""
    least, most = parameters
    given = len(call.parameters)
    if len(call.arguments) == formals and least <= given <= most:
        return True
    wrong_arguments = len(call.arguments) != formals
    wanted, got, noun = (formals, len(call.arguments), "argument") if wrong_arguments else (least, given, "parameter")
    env.error(
        "K312",
        f"`{call.function.id}` takes {wanted} {noun}{'s' * (wanted != 1)}, {got} given",
        call.span,
        why="" if wrong_arguments else "parameters stand after a semicolon",
        help=f"write {usage}",
    )
    return False


def _call_function(env: Environment, call: Call, scope: Scope) -> Visit:
    function = call.function.id
    if function == "max" and len(call.arguments) >= 2 and not call.parameters:
        pass
    elif not _count(env, call, 2 if function == "max" else 1, (0, 0), FUNCTIONS[function]):
        return UNKNOWN
    if function == "phi":
        return (yield from _phi(env, call, scope))
    degree, atom, terms, failed = 0, "", 1, False
    for argument in call.arguments:
        real = as_number(env, (yield argument, scope), argument)
        if real is None:
            failed = True
            continue
        degree, atom, terms = max(degree, real.degree), atom or real.atom, max(terms, real.terms)
        if real.degree > 1 and function not in ("max", "abs", "pos"):
            _not_affine(env, function, argument, real)
            failed = True
    if function == "sign":
        if not scope.solved:
            only_in_predict(env, "sign", call.span, scope)
            return UNKNOWN
        return Sign()
    if failed:
        return UNKNOWN
    if not degree:
        if not scope.solved and scope.owner.kind != "loss":
            _without_unknown(env, call)
            return UNKNOWN
        return Real()
    if function in ("exp", "log"):
        return _nonlinear(env, call)
    return Real(2, atom, terms) if function == "square" else Real(degree, function, terms)


def _without_unknown(env: Environment, call: Call) -> None:
    written = env.text(call)
    squared = call.function.id == "square"
    env.error(
        "K341",
        f"`{written}` holds no unknown",
        call.span,
        "a number that is known beforehand",
        why="functions stand for losses here; what is known beforehand is computed outside the model",
        help=f"write {env.text(call.arguments[0])}^2"
        if squared
        else "give its value as a parameter or a column of the data",
    )


def _phi(env: Environment, call: Call, scope: Scope) -> Visit:
    argument = call.arguments[0]
    value = yield argument, scope
    if isinstance(value, Point | Unknown):
        return Vector() if isinstance(value, Point) else UNKNOWN
    written = env.text(argument)
    hint = "write phi(x[i]) with an input x"
    if isinstance(argument, Name | Item):
        hint = f"declare it as an input: `data {written} : input`"
    if isinstance(value, Member):
        inputs = [s.name for s in env.symbols.values() if isinstance(s.value, Point) and s.sets == (value.set,)]
        hint = f"write phi({inputs[0]}[{written}])" if inputs else hint
    elif isinstance(value, Vector):
        hint = f"write {written} without phi: it is in the feature space already"
    env.error(
        "K311",
        f"phi takes a point, and `{written}` is {describe(value)}",
        argument.span,
        "not a point",
        why="phi carries inputs into the space of the kernel",
        help=hint,
    )
    return UNKNOWN


def _not_affine(env: Environment, function: str, argument: Expr, value: Real) -> None:
    env.error(
        "K314",
        f"the argument of `{function}` is not affine in the unknowns",
        argument.span,
        f"degree {value.degree}" if not value.atom else f"holds `{value.atom}`",
        why=f"a convex function of an affine argument is convex; of a curved one, {function}(...) need not be",
        help=f"apply {function} to an expression without squares, losses and norms",
    )


def _nonlinear(env: Environment, call: Call) -> Type:
    function = call.function.id
    env.error(
        "K323",
        f"`{function}` of an unknown",
        call.span,
        "holds an unknown",
        why="the objective and the constraints are piecewise quadratic in the unknowns, apart from two built-in losses",
        help="log(1 + exp(-m)) is logistic(m), and log(sum[k] exp(s[k])) - s[y[i]] is multinomial(s[k]; k, y[i])",
    )
    return UNKNOWN


def _call_loss(
    env: Environment, call: Call, declared: LossDecl | None, builtin: BuiltinLoss | None, scope: Scope
) -> Visit:
    function = call.function.id
    if builtin is not None:
        formals = list(builtin.formals)
        named = [parameter.name for parameter in builtin.parameters]
        required = sum(parameter.default is None for parameter in builtin.parameters)
    else:
        formals = [formal.id for formal in declared.formals] if declared else []
        named = [parameter.id for parameter in declared.parameters] if declared else []
        required = len(named)
    usage = f"{function}({', '.join(formals)}{'; ' if named else ''}{', '.join(named)})"
    if not _count(env, call, len(formals), (required, len(named)), usage):
        return UNKNOWN
    inside = scope
    if builtin is not None and builtin.name == "multinomial":
        if not (yield from _multinomial_parameters(env, call, scope)):
            return UNKNOWN
        inside = _bind_class(env, call, scope)
    else:
        for position, parameter in enumerate(call.parameters):
            real = as_number(env, (yield parameter, scope), parameter)
            if real is None:
                return UNKNOWN
            if real.degree:
                _unknown_parameter(env, function, parameter)
                return UNKNOWN
            if builtin is not None:
                _parameter_range(env, builtin, position, parameter)
    degree = 0
    for argument in call.arguments:
        real = as_number(env, (yield argument, inside), argument)
        if real is None:
            return UNKNOWN
        if real.degree > 1 or real.atom:
            _not_affine(env, function, argument, real)
            return UNKNOWN
        degree = max(degree, real.degree)
    if not degree and not scope.solved and scope.owner.kind != "loss":
        _without_unknown(env, call)
        return UNKNOWN
    return Real(degree, function if degree else "")


def _multinomial_parameters(env: Environment, call: Call, scope: Scope) -> Generator[tuple[Expr, Scope], Type, bool]:
    index, label = call.parameters
    if not isinstance(index, Name) or index.id not in env.indices:
        env.error(
            "K315",
            "the first parameter of `multinomial` is the index that the scores run over",
            index.span,
            "not an index",
            help="write multinomial(<w[k], phi(x[i])>; k, y[i])",
        )
        return False
    env.used.add(index.id)
    value = yield label, scope
    expected = env.index_set(index.id)
    if isinstance(value, Member) and value.set == expected:
        return True
    if isinstance(value, Real):
        number_for_label(env, label, expected.size)
    elif not isinstance(value, Unknown):
        env.error(
            "K315",
            f"the second parameter of `multinomial` is the label of the example, an element of `{expected.size}`",
            label.span,
            describe(value),
            help="write multinomial(<w[k], phi(x[i])>; k, y[i])",
        )
    return False


def _bind_class(env: Environment, call: Call, scope: Scope) -> Scope:
    index = call.parameters[0]
    return scope.bind({index.id: Member(env.index_set(index.id))}) if isinstance(index, Name) else scope


def _unknown_parameter(env: Environment, function: str, parameter: Expr) -> None:
    env.error(
        "K329",
        f"the parameter `{env.text(parameter)}` of `{function}` holds an unknown",
        parameter.span,
        "an unknown",
        why="what stands after the semicolon shapes the loss and is fixed before the problem is solved",
        help="declare it in a `param` line, or move it into the argument",
    )


def _parameter_range(env: Environment, loss: BuiltinLoss, position: int, given: Expr) -> None:
    """Whether a number, or the whole domain of a parameter, lies in the range of the loss parameter."""
    parameter = loss.parameters[position]
    value = constant(given)
    if value is not None:
        if not contains(parameter.interval, value):
            env.error(
                "K330",
                f"`{parameter.name} = {env.text(given)}` is outside the range of `{loss.name}`",
                given.span,
                "out of range",
                why=f"{loss.name} needs {in_words(parameter.name, parameter.interval)}: "
                "outside, it is not convex or has no least value",
                help=f"choose a value {as_domain(parameter.interval)}",
            )
        return
    symbol = env.symbols.get(given.id) if isinstance(given, Name) else None
    if symbol is None or symbol.kind != "parameter" or symbol.interval is None:
        return
    if not inside(symbol.interval, parameter.interval):
        env.error(
            "K330",
            f"the domain of `{symbol.name}` is too wide for `{parameter.name}` of `{loss.name}`",
            given.span,
            "may be out of range",
            also=(Label(symbol.span, "declared here"),),
            why=f"{loss.name} needs {in_words(parameter.name, parameter.interval)}",
            help=f"declare it as `{symbol.name} : {as_domain(parameter.interval)}`",
        )


def _call_kernel(env: Environment, call: Call, symbol: Symbol, scope: Scope) -> Visit:
    if not _count(env, call, 2, (0, 0), f"{symbol.name}(x[i], x[j])"):
        return UNKNOWN
    for argument in call.arguments:
        value = yield argument, scope
        if not isinstance(value, Point | Unknown):
            env.error(
                "K311",
                f"the kernel `{symbol.name}` takes points, and `{env.text(argument)}` is {describe(value)}",
                argument.span,
                "not a point",
                help=f"write {symbol.name}(x[i], x[j]) with inputs x",
            )
            return UNKNOWN
    return Real()


def _call_let(env: Environment, call: Call, declaration: LetDecl, scope: Scope) -> Visit:
    usage = f"{declaration.name.id}({', '.join(formal.id for formal in declaration.formals)})"
    if not declaration.formals:
        usage = declaration.name.id
    if not _count(env, call, len(declaration.formals), (0, 0), usage):
        return UNKNOWN
    arguments: list[Type] = []
    for argument in call.arguments:
        arguments.append((yield argument, scope))
    if any(isinstance(value, Unknown) for value in arguments):
        return UNKNOWN
    return (yield from expand(env, declaration, tuple(arguments), call.span, scope))


def expand(env: Environment, declaration: LetDecl, arguments: tuple[Type, ...], site: Span, scope: Scope) -> Visit:
    """The type of an abbreviation for these argument types; its body is checked once for each."""
    name = declaration.name.id
    within = scope.owner.kind if scope.solved else "let"
    key = (name, within, *((type(value).__name__, tuple(value)) for value in arguments))
    if key in env.expanded:
        return env.expanded[key]
    if name in env.expanding or len(env.expanding) > MAX_EXPANSION:
        chain = " -> ".join((*env.expanding[-3:], name))
        env.error(
            "K219",
            f"`{name}` is defined through itself" if name in env.expanding else "abbreviations nest too deeply",
            site,
            "used here",
            also=(Label(declaration.name.span, "defined here"),),
            why=f"to write it out would never end: {chain}"
            if name in env.expanding
            else f"over {MAX_EXPANSION} levels",
            help="an abbreviation may use only what is defined without it",
            subject=("cycle",),
        )
        return UNKNOWN
    env.expanding.append(name)
    formals = {formal.id: value for formal, value in zip(declaration.formals, arguments, strict=True)}
    owner = scope.owner if within == "predict" else Owner(within, name, (), declaration.name.span)
    value = yield declaration.body, Scope(owner, dict(formals))
    env.expanding.pop()
    env.expanded[key] = value
    return value
