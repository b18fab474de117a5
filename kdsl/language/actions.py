"""Builds the syntax tree: one small function for each alternative named in the grammar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kdsl.language.lexer import EXPONENT_DIGITS, Token
from kdsl.language.syntax import (
    Add,
    Argmax,
    Call,
    Comparison,
    ConstraintDecl,
    DataLine,
    Domain,
    IndexDecl,
    IndexLine,
    Inner,
    Item,
    KernelCall,
    KernelDecl,
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
    Span,
    SubjectTo,
    Sum,
    SymbolDecl,
    VarLine,
)

Values = list[Any]
_RELATIONS = {
    "LESS_EQUAL": "<=",
    "GREATER_EQUAL": ">=",
    "NOT_EQUAL": "!=",
    "EQUAL": "=",
    "LESS": "<",
    "GREATER": ">",
}
_OPERATORS = {"PLUS": "+", "MINUS": "-", "STAR": "*", "SLASH": "/"}


class ModelLine:
    """What the `model` line says; it becomes part of the Spec."""

    __slots__ = ("name", "span", "title")

    def __init__(self, name: Name, title: str, span: Span) -> None:
        self.name, self.title, self.span = name, title, span


class Chain:
    """Operands and the operators between them, while a flat sum or product is being read."""

    __slots__ = ("operands", "operators")

    def __init__(self, first: Any) -> None:
        self.operands: list[Any] = [first]
        self.operators: list[str] = []

    def append(self, operator: str, operand: Any) -> Chain:
        self.operators.append(operator)
        self.operands.append(operand)
        return self


def _name(token: Token) -> Name:
    return Name(token.text, Span(token.start, token.end))


def _more(v: Values) -> list[Any]:
    v[0].append(v[2])
    return v[0]  # type: ignore[no-any-return]


def _lines_more(v: Values) -> list[Any]:
    v[0].append(v[1])
    return v[0]  # type: ignore[no-any-return]


def _kernel_sum(chain: Chain, span: Span) -> Any:
    return chain.operands[0] if len(chain.operands) == 1 else KernelSum(tuple(chain.operands), span)


def _kernel_product(chain: Chain, span: Span) -> Any:
    return chain.operands[0] if len(chain.operands) == 1 else KernelProduct(tuple(chain.operands), span)


def _add(chain: Chain, span: Span) -> Any:
    return chain.operands[0] if len(chain.operands) == 1 else Add(tuple(chain.operands), tuple(chain.operators), span)


def _mul(chain: Chain, span: Span) -> Any:
    return chain.operands[0] if len(chain.operands) == 1 else Mul(tuple(chain.operands), tuple(chain.operators), span)


def _exponent(token: Token) -> int:
    return int(token.text.lstrip("^").strip().translate(EXPONENT_DIGITS))


def _interval(v: Values, s: Span) -> Domain:
    return Domain(
        "interval",
        lower=v[2],
        upper=v[4],
        lower_open=v[1].type == "LPAR",
        upper_open=v[5].type == "RPAR",
        span=s,
    )


ACTIONS: dict[str, Callable[[Values, Span], Any]] = {
    "same": lambda v, s: v[0],
    "inside": lambda v, s: v[1],
    "first": lambda v, s: [v[0]],
    "more": lambda v, s: _more(v),
    "name": lambda v, s: _name(v[0]),
    # lines
    "lines_none": lambda v, s: [],
    "lines_more": lambda v, s: _lines_more(v),
    "line": lambda v, s: v[0],
    "model": lambda v, s: ModelLine(_name(v[1]), "", s),
    "model_titled": lambda v, s: ModelLine(_name(v[1]), v[2].text[1:-1], s),
    "index_line": lambda v, s: IndexLine(tuple(v[1]), s),
    "data_line": lambda v, s: DataLine(tuple(v[1]), s),
    "param_line": lambda v, s: ParamLine(tuple(v[1]), s),
    "var_line": lambda v, s: VarLine(tuple(v[1]), s),
    "kernel_line": lambda v, s: KernelLine(tuple(v[1]), s),
    "let_name": lambda v, s: LetDecl(_name(v[1]), (), v[3], s),
    "let_function": lambda v, s: LetDecl(_name(v[1]), tuple(v[3]), v[6], s),
    "loss": lambda v, s: LossDecl(_name(v[1]), tuple(v[3]), (), v[6], s),
    "loss_parameters": lambda v, s: LossDecl(_name(v[1]), tuple(v[3]), tuple(v[5]), v[8], s),
    "minimize": lambda v, s: Objective("minimize", v[1], s),
    "maximize": lambda v, s: Objective("maximize", v[1], s),
    "subject_to": lambda v, s: SubjectTo((), s),
    "predict": lambda v, s: Predict(_name(v[1]), tuple(v[3]), v[6], s),
    "constraint": lambda v, s: ConstraintDecl(v[0][0], v[0][1], (), v[2], s),
    "constraint_where": lambda v, s: ConstraintDecl(v[0][0], v[0][1], tuple(v[2]), v[4], s),
    "label": lambda v, s: (_name(v[0]), ()),
    "label_indexed": lambda v, s: (_name(v[0]), tuple(v[2])),
    # declarations
    "index_entry": lambda v, s: IndexDecl(_index_names(v[0]), tuple(v[2]), (), s),
    "index_entry_where": lambda v, s: IndexDecl(_index_names(v[0]), tuple(v[2]), tuple(v[4]), s),
    "range_name": lambda v, s: Range(v[0], _name(v[2]), s),
    "range_number": lambda v, s: Range(v[0], v[2], s),
    "symbol": lambda v, s: SymbolDecl(v[0][0], v[0][1], v[2], None, s),
    "symbol_default": lambda v, s: SymbolDecl(v[0][0], v[0][1], v[2], v[4], s),
    "domain_real": lambda v, s: Domain("real", span=s),
    "domain_bounded": lambda v, s: Domain("real", relation=v[1], bound=v[2], span=s),
    "domain_input": lambda v, s: Domain("input", span=s),
    "domain_hilbert": lambda v, s: Domain("hilbert", name=_name(v[2]), span=s),
    "domain_set": lambda v, s: Domain("set", name=_name(v[0]), span=s),
    "domain_finite": lambda v, s: Domain("finite", values=tuple(v[1]), span=s),
    "domain_interval": _interval,
    "value_plus": lambda v, s: v[1],
    "kernel": lambda v, s: KernelDecl(_name(v[0]), v[2], s),
    "kernel_sum": lambda v, s: _kernel_sum(v[0], s),
    "kernel_product": lambda v, s: _kernel_product(v[0], s),
    "kernel_number": lambda v, s: KernelNumber(Number(v[0].text, s), s),
    "kernel_on": lambda v, s: KernelOn(v[0], tuple(v[2]), s),
    "kernel_name": lambda v, s: KernelCall(_name(v[0]), (), s),
    "kernel_call_none": lambda v, s: KernelCall(_name(v[0]), (), s),
    "kernel_call": lambda v, s: KernelCall(_name(v[0]), tuple(v[2]), s),
    "kernel_argument": lambda v, s: (_name(v[0]), v[2]),
    # expressions
    "comparison": lambda v, s: Comparison(v[0], v[1], v[2], s),
    "token_relation": lambda v, s: _RELATIONS[v[0].type],
    "chain_first": lambda v, s: Chain(v[0]),
    "chain_more": lambda v, s: v[0].append(_OPERATORS[v[1].type], v[2]),
    "chain_beside": lambda v, s: v[0].append("", v[1]),
    "add": lambda v, s: _add(v[0], s),
    "mul": lambda v, s: _mul(v[0], s),
    "mul_tail": lambda v, s: _mul(v[0].append(_OPERATORS[v[1].type], v[2]), s),
    "mul_beside_tail": lambda v, s: _mul(v[0].append("", v[1]), s),
    "neg": lambda v, s: Neg(v[1], s),
    "sum": lambda v, s: Sum(tuple(v[2]), (), v[4], s),
    "sum_where": lambda v, s: Sum(tuple(v[2]), tuple(v[4]), v[6], s),
    "argmax": lambda v, s: Argmax(v[2], v[4], s),
    "power": lambda v, s: Pow(v[0], _exponent(v[1]), s),
    "item": lambda v, s: Item(_name(v[0]), tuple(v[2]), s),
    "call": lambda v, s: Call(_name(v[0]), tuple(v[2]), (), s),
    "call_parameters": lambda v, s: Call(_name(v[0]), tuple(v[2]), tuple(v[4]), s),
    "inner": lambda v, s: Inner(v[1], v[3], s),
    "norm": lambda v, s: Norm(v[1], s),
    "number": lambda v, s: Number(v[0].text, s),
}


def _index_names(names: list[Any]) -> tuple[Name, ...]:
    return tuple(_name(n) if isinstance(n, Token) else n for n in names)


# Alternatives that put a node above their parts; the others pass a value on or lengthen a list.
# Those of one child turn a Chain into a node if it has several operands, and pass a single operand on.
GROWING = frozenset(
    {"add", "mul", "mul_tail", "mul_beside_tail", "neg", "sum", "sum_where", "argmax", "power"}
    | {"item", "call", "call_parameters", "inner", "norm"}
    | {"kernel_sum", "kernel_product", "kernel_on", "kernel_call"}
)
