"""Writes a specification as a Python script that builds it, so that every spec of the repository tests the builder."""

from __future__ import annotations

import itertools
import keyword
import linecache
from typing import Any

from kdsl import api
from kdsl.algebra.builtin_losses import LOSSES_BY_NAME
from kdsl.api import Problem
from kdsl.language import syntax as s
from kdsl.language.constants import constant, is_infinite

IMPORTS = "from fractions import Fraction\nfrom kdsl.api import *\n"
WORDS = {"max": "maximum", "argmax": "argmax", "sum": "sum_over"}
_numbered = itertools.count()


def built(spec: s.Spec, name: str) -> Problem:
    """The problem that the script for a specification builds; NameError and TypeError are Python's own."""
    script = python_of(spec, name)
    filename = f"<spec {next(_numbered)}>"
    linecache.cache[filename] = (len(script), None, script.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"__name__": "script"}
    exec(compile(script, filename, "exec"), scope)
    problem: Problem = scope["p"]
    return problem


def python_of(spec: s.Spec, name: str) -> str:
    lines = [f"p = Problem({(spec.name.id if spec.name else name)!r}, {spec.title!r})"]
    indices = [entry for line in spec.statements if isinstance(line, s.IndexLine) for entry in line.entries]
    sizes = {one.upper.id: e.names[n] for e in indices for n, one in enumerate(e.sets) if _named_range(one)}
    losses = {line.name.id: line for line in spec.statements if isinstance(line, s.LossDecl)}
    writer = _Writer(sizes, losses)
    lines += [writer.index(entry) for entry in indices]
    order = (s.DataLine, s.ParamLine, s.KernelLine, s.VarLine, s.LossDecl, s.LetDecl)
    for kind in order:
        for line in spec.statements:
            if isinstance(line, kind):
                lines += writer.declaration(line)
    for entry in indices:
        if entry.where:
            group = "(" + ", ".join(identifier(name.id) for name in entry.names) + ",)"
            lines.append(f"p.restrict({group}, {', '.join(map(writer.comparison, entry.where))})")
    for line in spec.statements:
        if isinstance(line, s.Objective):
            lines.append(f"p.{line.sense}({writer.expression(line.body)})")
        elif isinstance(line, s.SubjectTo):
            lines += [writer.constraint(one) for one in line.constraints]
        elif isinstance(line, s.Predict):
            lines.append(f"p.predict({line.kind.id!r}, {writer.function(line.formals, (), line.body)})")
    return IMPORTS + "\n".join(lines) + "\n"


def _named_range(one: s.Range | s.Name) -> bool:
    return isinstance(one, s.Range) and isinstance(one.upper, s.Name)


def identifier(name: str) -> str:
    """A name of the language as one of Python; those that Python or the script need are marked."""
    taken = keyword.iskeyword(name) or name in (*api.__all__, "abs", "float", "p", "Fraction")
    return f"{name}_" if taken else name.replace("'", "_hat")


def number(value: s.Expr) -> str:
    if is_infinite(value):
        return "-float('inf')" if isinstance(value, s.Neg) else "float('inf')"
    exact = constant(value)
    if exact is None:
        raise ValueError(f"{value} is no number")
    return str(exact) if exact.denominator == 1 else f"Fraction({exact.numerator}, {exact.denominator})"


class _Writer:
    def __init__(self, sizes: dict[str, s.Name], losses: dict[str, s.LossDecl]) -> None:
        self.sizes, self.losses = sizes, losses

    # -------------------------------------------------------- declarations

    def index(self, entry: s.IndexDecl) -> str:
        names = ", ".join(identifier(name.id) for name in entry.names)
        if len(entry.names) == len(entry.sets) == 1:
            return f"{names} = p.index({entry.names[0].id!r}, {self.set_of(entry.sets[0])})"
        quoted = ", ".join(repr(name.id) for name in entry.names)
        over = ", ".join(f"({self.set_of(one)},)" for one in entry.sets)
        return f"{names}, = p.indices(({quoted},), {over})"

    def set_of(self, one: s.Range | s.Name) -> str:
        if isinstance(one, s.Name):
            return repr(one.id)
        upper = repr(one.upper.id) if isinstance(one.upper, s.Name) else one.upper.text
        return f"{one.lower.text}, {upper}"

    def declaration(self, line: s.Statement) -> list[str]:
        if isinstance(line, s.KernelLine):
            return [
                f"{identifier(entry.name.id)} = p.kernel({entry.name.id!r}, {self.kernel(entry.kernel)})"
                for entry in line.entries
            ]
        if isinstance(line, s.LetDecl):
            body = self.function(line.formals, (), line.body) if line.formals else self.expression(line.body)
            return [f"{identifier(line.name.id)} = p.let({line.name.id!r}, {body})"]
        if isinstance(line, s.LossDecl):
            body = self.function(line.formals, line.parameters, line.body)
            return [f"{identifier(line.name.id)} = p.loss({line.name.id!r}, {body})"]
        method = {s.DataLine: "data", s.ParamLine: "param", s.VarLine: "real"}[type(line)]
        assert isinstance(line, (s.DataLine, s.ParamLine, s.VarLine))
        return [self.symbol(entry, method) for entry in line.entries]

    def symbol(self, entry: s.SymbolDecl, method: str) -> str:
        indices = [identifier(name.id) for name in entry.subscripts]
        arguments = [repr(entry.name.id), *indices]
        domain = entry.domain
        if domain.kind == "hilbert":
            assert domain.name is not None
            method, arguments = "hilbert", [repr(entry.name.id), identifier(domain.name.id), *indices]
        elif domain.kind == "input":
            arguments.append("kind='input'")
        elif domain.kind == "set":
            assert domain.name is not None
            arguments.append(f"labels={domain.name.id!r}")
        elif domain.kind == "finite":
            arguments.append(f"values=({', '.join(map(number, domain.values))},)")
        elif domain.bound is not None:
            arguments.append(f"{'lower' if '>' in domain.relation else 'upper'}={number(domain.bound)}")
            arguments += ["open=True"] if "=" not in domain.relation else []
        elif domain.lower is not None and domain.upper is not None:
            arguments += [f"lower={number(domain.lower)}", f"upper={number(domain.upper)}"]
            opened = {(True, True): "True", (True, False): "'lower'", (False, True): "'upper'"}
            if (domain.lower_open, domain.upper_open) in opened:
                arguments.append(f"open={opened[domain.lower_open, domain.upper_open]}")
        if entry.default is not None:
            arguments.append(f"default={number(entry.default)}")
        return f"{identifier(entry.name.id)} = p.{method}({', '.join(arguments)})"

    def kernel(self, node: s.KernelExpr) -> str:
        if isinstance(node, s.KernelNumber):
            return node.value.text
        if isinstance(node, s.KernelSum):
            return "(" + " + ".join(map(self.kernel, node.terms)) + ")"
        if isinstance(node, s.KernelProduct):
            return "(" + " * ".join(map(self.kernel, node.factors)) + ")"
        if isinstance(node, s.KernelOn):
            return f"{self.kernel(node.kernel)}.on({', '.join(repr(c.id) for c in node.columns)})"
        if node.name.id in ("linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed", "normalized"):
            return f"{node.name.id}({', '.join(f'{n.id}={self.kernel_value(v)}' for n, v in node.arguments)})"
        return identifier(node.name.id)

    def kernel_value(self, value: s.Expr) -> str:
        if isinstance(value, s.Name):
            return repr(value.id) if value.id in ("scale", "median") else identifier(value.id)
        return number(value)

    # --------------------------------------------------------- expressions

    def function(self, formals: tuple[s.Name, ...], parameters: tuple[s.Name, ...], body: s.Expr) -> str:
        words = [identifier(name.id) for name in formals]
        words += ["*", *(identifier(name.id) for name in parameters)] if parameters else []
        return f"lambda {', '.join(words)}: {self.expression(body)}"

    def constraint(self, one: s.ConstraintDecl) -> str:
        arguments = [
            repr(one.label.id),
            *(identifier(name.id) for name in one.indices),
            self.comparison(one.comparison),
        ]
        if one.where:
            arguments.append(f"where=({', '.join(map(self.comparison, one.where))},)")
        return f"p.subject_to({', '.join(arguments)})"

    def comparison(self, node: s.Comparison) -> str:
        relation = "==" if node.relation == "=" else node.relation
        return f"{self.expression(node.left)} {relation} {self.expression(node.right)}"

    def expression(self, node: s.Expr) -> str:
        if isinstance(node, s.Number):
            return "float('inf')" if is_infinite(node) else f"Fraction({node.text!r})"
        if isinstance(node, s.Name):
            return f"{identifier(self.sizes[node.id].id)}.size" if node.id in self.sizes else identifier(node.id)
        if isinstance(node, s.Item):
            return f"{identifier(node.base.id)}[{', '.join(map(self.expression, node.subscripts))}]"
        if isinstance(node, s.Call):
            return self.call(node)
        if isinstance(node, s.Neg):
            return f"(-{self.expression(node.operand)})"
        if isinstance(node, s.Pow):
            return f"({self.expression(node.base)} ** {node.exponent})"
        if isinstance(node, (s.Add, s.Mul)):
            parts = [self.expression(part) for part in node[0]]
            rest = (f" {operator or '*'} {part}" for operator, part in zip(node.operators, parts[1:], strict=True))
            return "(" + parts[0] + "".join(rest) + ")"
        if isinstance(node, s.Inner):
            return f"inner({self.expression(node.left)}, {self.expression(node.right)})"
        if isinstance(node, s.Norm):
            return f"norm({self.expression(node.argument)})"
        if isinstance(node, s.Argmax):
            return f"argmax({identifier(node.letter.id)})({self.expression(node.body)})"
        indices = ", ".join(identifier(name.id) for name in node.indices)
        where = f", where=({', '.join(map(self.comparison, node.where))},)" if node.where else ""
        return f"sum_over({indices}{where})({self.expression(node.body)})"

    def call(self, node: s.Call) -> str:
        name = node.function.id
        arguments = [self.expression(argument) for argument in node.arguments]
        if name in self.losses:
            words = [parameter.id for parameter in self.losses[name].parameters]
            arguments += [f"{identifier(w)}={self.expression(v)}" for w, v in zip(words, node.parameters, strict=True)]
            return f"{identifier(name)}({', '.join(arguments)})"
        arguments += [self.expression(parameter) for parameter in node.parameters]
        known = name in LOSSES_BY_NAME or name in ("phi", "abs", "pos", "square", "sign", "exp", "log")
        return f"{name if known else WORDS.get(name) or identifier(name)}({', '.join(arguments)})"
