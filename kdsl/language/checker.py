"""From syntax tree to checked model: collects the declarations, types every expression, reports every mistake."""

from __future__ import annotations

from collections.abc import Collection

from kdsl.language import limits
from kdsl.language.declarations import Declarations, collect, tuple_filter
from kdsl.language.diagnostics import Diagnostic
from kdsl.language.formals import formal_type
from kdsl.language.kernel_checks import check_kernels
from kdsl.language.model import Abbreviation, Constraint, Loss, Model, Prediction
from kdsl.language.scopes import Environment, Findings
from kdsl.language.statements import check_statements, check_unused
from kdsl.language.syntax import ConstraintDecl, Objective, Predict, Spec, SubjectTo
from kdsl.language.values import Member


def check_spec(
    spec: Spec, source: str, name: str, functions: Collection[str] = ()
) -> tuple[Model | None, tuple[Diagnostic, ...]]:
    """The model (None where there is an error) and everything that is to be said about it, by position.

    `name` is the stem of the file's name; a `model` line wins over it. `functions` are the names of the
    caller's own Python functions that a kernel line may use.
    """
    findings = Findings()
    env = Environment(source, findings, functions)
    declarations = collect(env, spec)
    check_kernels(env, declarations.kernels)
    check_statements(env, spec, declarations)
    if not findings.failed:
        check_unused(env)
    diagnostics = _reported(findings.diagnostics)
    model = None if findings.failed else _model(env, spec, declarations, source, name)
    return model, diagnostics


def _reported(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """In order of position; of very many, the errors before the warnings, and no more than the limit."""
    if len(found) <= limits.ERRORS:
        return tuple(sorted(found, key=_position))
    errors_first = sorted(found, key=lambda diagnostic: (diagnostic.severity != "error", _position(diagnostic)))
    kept = sorted(errors_first[: limits.ERRORS], key=_position)
    rest = f"{len(found) - limits.ERRORS} more findings are not reported; mend these first"
    return (*kept[:-1], kept[-1]._replace(help=rest))


def _position(diagnostic: Diagnostic) -> tuple[int, int, str]:
    span = diagnostic.labels[0].span if diagnostic.labels else None
    return (span.start, span.end, diagnostic.code) if span else (0, 0, diagnostic.code)


def _model(env: Environment, spec: Spec, declarations: Declarations, source: str, name: str) -> Model:
    objective = next(line for line in spec.statements if isinstance(line, Objective))
    constraints = [
        _constraint(env, declaration)
        for line in spec.statements
        if isinstance(line, SubjectTo)
        for declaration in line.constraints
    ]
    return Model(
        name=spec.name.id if spec.name else name,
        title=spec.title,
        indices=declarations.indices,
        data=declarations.data,
        parameters=declarations.parameters,
        kernels=declarations.kernels,
        variables=declarations.variables,
        abbreviations=tuple(
            Abbreviation(let.name.id, tuple(formal.id for formal in let.formals), let.body, let.span)
            for let in declarations.lets
        ),
        losses=tuple(
            Loss(
                loss.name.id,
                tuple(formal.id for formal in loss.formals),
                tuple(parameter.id for parameter in loss.parameters),
                loss.body,
                loss.span,
            )
            for loss in declarations.losses
        ),
        sense=objective.sense,
        objective=objective.body,
        constraints=tuple(constraints),
        predictions=tuple(_prediction(env, line) for line in spec.statements if isinstance(line, Predict)),
        source=source,
    )


def _prediction(env: Environment, line: Predict) -> Prediction:
    formals = tuple(formal.id for formal in line.formals)
    types = [formal_type(env, formal, line.body, True) for formal in formals]
    sets = tuple(found.set if isinstance(found, Member) else None for found in types)
    return Prediction(line.kind.id, formals, line.body, line.span, sets)


def _constraint(env: Environment, declaration: ConstraintDecl) -> Constraint:
    indices = tuple(name.id for name in declaration.indices)
    return Constraint(
        declaration.label.id,
        indices,
        tuple(env.index_set(index) for index in indices),
        (*tuple_filter(env, indices), *declaration.where),
        declaration.comparison,
        declaration.span,
    )
