"""Writes a syntax tree as text in ASCII; reading the text gives the tree back."""

from __future__ import annotations

from kdsl.language.syntax import (
    Add,
    Argmax,
    Call,
    Comparison,
    ConstraintDecl,
    DataLine,
    Domain,
    Expr,
    IndexDecl,
    IndexLine,
    Inner,
    Item,
    KernelCall,
    KernelDecl,
    KernelExpr,
    KernelLine,
    KernelNumber,
    KernelOn,
    KernelProduct,
    KernelSum,
    LetDecl,
    LossDecl,
    Mul,
    Name,
    Neg,
    Norm,
    Number,
    Objective,
    ParamLine,
    Pow,
    Predict,
    Range,
    Spec,
    Statement,
    SubjectTo,
    Sum,
    SymbolDecl,
    VarLine,
)

# How tightly an expression binds: a sum, a signed term, a product, a factor, the base of a power.
_SUM, _SIGNED, _PRODUCT, _FACTOR, _ATOM = range(5)
_ENTRY_WORDS = {IndexLine: "index", DataLine: "data", ParamLine: "param", VarLine: "var", KernelLine: "kernel"}


def print_spec(spec: Spec) -> str:
    """A whole file, one statement a line; `format_source` gives it its alignment."""
    lines = []
    if spec.name is not None:
        lines.append(f"model {spec.name.id}" + (f' "{spec.title}"' if spec.title else ""))
    lines += [print_statement(statement) for statement in spec.statements]
    return "".join(f"{line}\n" for line in lines)


def print_statement(statement: Statement) -> str:
    """One statement; a SubjectTo takes several lines."""
    if isinstance(statement, LetDecl):
        formals = f"({_names(statement.formals)})" if statement.formals else ""
        return f"let {statement.name.id}{formals} = {print_expression(statement.body)}"
    if isinstance(statement, LossDecl):
        parameters = f"; {_names(statement.parameters)}" if statement.parameters else ""
        head = f"loss {statement.name.id}({_names(statement.formals)}{parameters})"
        return f"{head} = {print_expression(statement.body)}"
    if isinstance(statement, Objective):
        return f"{statement.sense} {print_expression(statement.body)}"
    if isinstance(statement, Predict):
        return f"predict {statement.kind.id}({_names(statement.formals)}) = {print_expression(statement.body)}"
    if isinstance(statement, SubjectTo):
        return "\n".join(["subject to", *(f"  {_constraint(c)}" for c in statement.constraints)])
    return f"{_ENTRY_WORDS[type(statement)]} {', '.join(_entry(entry) for entry in statement.entries)}"


def print_comparison(comparison: Comparison) -> str:
    return f"{print_expression(comparison.left)} {comparison.relation} {print_expression(comparison.right)}"


def print_expression(expression: Expr) -> str:
    return _expression(expression, _SUM)


def print_kernel(kernel: KernelExpr) -> str:
    return _kernel(kernel, _SUM)


def _names(names: tuple[Name, ...]) -> str:
    return ", ".join(name.id for name in names)


def _where(conditions: tuple[Comparison, ...]) -> str:
    return " where " + ", ".join(print_comparison(c) for c in conditions) if conditions else ""


def _head(name: Name, subscripts: tuple[Name, ...]) -> str:
    return f"{name.id}[{_names(subscripts)}]" if subscripts else name.id


def _constraint(constraint: ConstraintDecl) -> str:
    head = _head(constraint.label, constraint.indices) + _where(constraint.where)
    return f"{head}: {print_comparison(constraint.comparison)}"


def _entry(entry: IndexDecl | SymbolDecl | KernelDecl) -> str:
    if isinstance(entry, KernelDecl):
        return f"{entry.name.id} = {print_kernel(entry.kernel)}"
    if isinstance(entry, IndexDecl):
        names = entry.names[0].id if len(entry.names) == 1 else f"({_names(entry.names)})"
        sets = " x ".join(_set(one) for one in entry.sets)
        return f"{names} in {sets}{_where(entry.where)}"
    default = "" if entry.default is None else f" = {print_expression(entry.default)}"
    return f"{_head(entry.name, entry.subscripts)} : {_domain(entry.domain)}{default}"


def _set(one: Range | Name) -> str:
    if isinstance(one, Name):
        return one.id
    return f"{one.lower.text}..{one.upper.id if isinstance(one.upper, Name) else one.upper.text}"


def _domain(domain: Domain) -> str:
    name = "" if domain.name is None else domain.name.id
    if domain.kind == "hilbert":
        return f"H({name})"
    if domain.kind == "set":
        return name
    if domain.kind == "finite":
        return "{" + ", ".join(print_expression(value) for value in domain.values) + "}"
    if domain.kind == "interval" and domain.lower is not None and domain.upper is not None:
        left, right = "(["[not domain.lower_open], ")]"[not domain.upper_open]
        return f"in {left}{print_expression(domain.lower)}, {print_expression(domain.upper)}{right}"
    if domain.bound is not None:
        return f"real {domain.relation} {print_expression(domain.bound)}"
    return domain.kind


def _kernel(kernel: KernelExpr, level: int) -> str:
    if isinstance(kernel, KernelNumber):
        return kernel.value.text
    if isinstance(kernel, KernelCall):
        arguments = ", ".join(f"{name.id} = {print_expression(value)}" for name, value in kernel.arguments)
        return f"{kernel.name.id}({arguments})" if arguments else kernel.name.id
    if isinstance(kernel, KernelSum):
        text, own = " + ".join([_kernel(term, _PRODUCT) for term in kernel.terms]), _SUM
    elif isinstance(kernel, KernelProduct):
        text, own = " * ".join([_kernel(factor, _FACTOR) for factor in kernel.factors]), _PRODUCT
    else:
        text, own = f"{_on_kernel(kernel)} on {_names(kernel.columns)}", _FACTOR
    return f"({text})" if own < level else text


def _on_kernel(kernel: KernelOn) -> str:
    inner = _kernel(kernel.kernel, _ATOM)
    return f"({inner})" if isinstance(kernel.kernel, KernelNumber) else inner


def _list(expressions: tuple[Expr, ...]) -> str:
    return ", ".join([_expression(expression, _SUM) for expression in expressions])


def _chain(operands: tuple[Expr, ...], operators: tuple[str, ...], level: int) -> str:
    """A flat sum or product; only its first term may carry a sign and only its last factor may be a sum."""
    pieces = [_expression(operands[0], _SIGNED if level == _PRODUCT else level)]
    last = len(operators)
    for position, operator in enumerate(operators, 1):
        operand = operands[position]
        big = position == last and isinstance(operand, (Sum, Argmax))
        text = _expression(operand, _PRODUCT if big else level)
        if operator == "/" and isinstance(operand, Number) and "/" in operand.text:
            text = f"({text})"
        pieces.append(f" {operator} {text}" if operator else f" {text}")
    return "".join(pieces)


def _norm(argument: Expr) -> str:
    """In brackets where a norm inside could be taken for the end of this one."""
    text = _expression(argument, _SUM)
    return f"({text})" if "||" in text else text


def _expression(node: Expr, level: int) -> str:
    """`node` as text, in brackets if it binds less tightly than `level`."""
    own = _ATOM
    if isinstance(node, Name):
        text = node.id
    elif isinstance(node, Number):
        text = node.text
        own = _ATOM if text.isdigit() else _FACTOR
    elif isinstance(node, Item):
        text = f"{node.base.id}[{_list(node.subscripts)}]"
    elif isinstance(node, Call):
        parameters = f"; {_list(node.parameters)}" if node.parameters else ""
        text = f"{node.function.id}({_list(node.arguments)}{parameters})"
    elif isinstance(node, Inner):
        text = f"<{_expression(node.left, _SUM)}, {_expression(node.right, _SUM)}>"
    elif isinstance(node, Norm):
        text = f"||{_norm(node.argument)}||"
    elif isinstance(node, Pow):
        text, own = f"{_expression(node.base, _ATOM)}^{node.exponent}", _FACTOR
    elif isinstance(node, Neg):
        text, own = f"-{_expression(node.operand, _SIGNED)}", _SIGNED
    elif isinstance(node, Add):
        text, own = _chain(node.terms, node.operators, _PRODUCT), _SUM
    elif isinstance(node, Mul):
        text, own = _chain(node.factors, node.operators, _FACTOR), _PRODUCT
    elif isinstance(node, Sum):
        text, own = f"sum[{_names(node.indices)}{_where(node.where)}] {_expression(node.body, _PRODUCT)}", _PRODUCT
    else:
        text, own = f"argmax[{node.letter.id}] {_expression(node.body, _PRODUCT)}", _PRODUCT
    return f"({text})" if own < level else text
