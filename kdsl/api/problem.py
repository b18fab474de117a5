"""Problem: a formulation written in Python, which is the same object as the one that a .kspec file declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from kdsl.api.domains import Bound, Open, finite_domain, real_domain, set_domain
from kdsl.api.errors import ProblemError, Report, reports_of, reports_text
from kdsl.api.expressions import Condition, Expression, Operand, conditions_of, operand_at, own, refused
from kdsl.api.functions import index_name
from kdsl.api.handles import Constraint, Function, HilbertUnknown, Index, Parameter, Unknown
from kdsl.api.kernels import Declared, KernelExpression, kernel_node
from kdsl.api.naming import name_at
from kdsl.api.places import Site, Sources
from kdsl.api.remedies import in_python
from kdsl.language import syntax as s
from kdsl.language.checker import check_spec
from kdsl.language.diagnostics import Diagnostic, KdslError, Label
from kdsl.language.model import Model

if TYPE_CHECKING:
    from kdsl.algebra.primal import Primal
    from kdsl.api.derived import Derived
    from kdsl.api.session import Session
    from kdsl.models.solution import Solution

Over = str | int | tuple[int, str | int]


class Problem:
    """Declarations, an objective, constraints and predictions; then `derive()`, `solve(...)` and what they found.

    A declaration returns what formulas are written with. Mistakes are reported together, at their Python lines, when
    the model is first needed.
    """

    def __init__(self, name: str, title: str = "") -> None:
        self.sources = Sources()
        site = self.sources.here()
        self._span = site.span
        self._name = name_at(name, site.argument(0, "name"), self.sources)
        if '"' in title or not title.isprintable():
            message = "a title is one line without quotes"
            raise refused(self.sources, Diagnostic("K119", message, (Label(site.argument(1, "title")),)))
        self._title = title
        self._indices: list[s.IndexDecl] = []
        self._data: list[s.SymbolDecl] = []
        self._parameters: list[s.SymbolDecl] = []
        self._kernels: list[s.KernelDecl] = []
        self._variables: list[s.SymbolDecl] = []
        self._definitions: list[s.LetDecl | s.LossDecl] = []
        self._objectives: list[s.Objective] = []
        self._constraints: list[s.ConstraintDecl] = []
        self._predictions: list[s.Predict] = []
        self._functions: dict[str, Callable[..., Any]] = {}
        self._values: dict[str, float] = {}
        self._session: Session | None = None
        self._solution: Solution | None = None
        self._status: str | None = None

    # --------------------------------------------------------- declarations

    def index(self, name: str, *over: str | int) -> Index:
        """`index("i", 1, "l")` runs over 1..l, `index("k", "classes")` over a set of labels."""
        site = self._declaring()
        named = self._named(name, site)
        places = [site.argument(1 + n) for n in range(len(over))]
        found, size = self._set(over, places, site.written(1, len(over)))
        self._indices.append(s.IndexDecl((named,), (found,), (), site.span))
        return Index(named, self.sources, size)

    def indices(self, names: Sequence[str], *over: Over) -> tuple[Index, ...]:
        """Indices that form a tuple: `i, j = p.indices(("i", "j"), (1, "l"), (1, "l"))`; filter it by `restrict`."""
        site = self._declaring()
        place = site.argument(0, "names")
        named = tuple(name_at(name, place, self.sources) for name in names)
        sets, handles = [], []
        for n, one in enumerate(over):
            at = site.argument(1 + n)
            parts = one if isinstance(one, tuple) else (one,)
            found, size = self._set(parts, [at] * len(parts), at)
            sets.append(found)
            if n < len(named):
                handles.append(Index(named[n], self.sources, size))
        handles += [Index(name, self.sources, None) for name in named[len(handles) :]]
        self._indices.append(s.IndexDecl(named, tuple(sets), (), site.span))
        return tuple(handles)

    def restrict(self, indices: Index | tuple[Index, ...], *where: Condition) -> None:
        """Keeps only the members of an index, or of a tuple of them, that meet the conditions."""
        self._declaring()
        given = indices if isinstance(indices, tuple) else (indices,)
        names = tuple(index_name(index, s.NOWHERE, self.sources) for index in given)
        for n, entry in enumerate(self._indices):
            if entry.names == names:
                self._indices[n] = entry._replace(where=(*entry.where, *conditions_of(where, self.sources)))
                return
        raise ValueError(f"{', '.join(name.id for name in names)} were not declared together: use indices(...)")

    def data(
        self,
        name: str,
        *indices: Index,
        kind: str = "real",
        values: Sequence[Bound] = (),
        labels: str = "",
        lower: Bound | None = None,
        upper: Bound | None = None,
        open: Open = False,
        default: Bound | None = None,
    ) -> Expression:
        """kind "input" (a point) or "real", with bounds; or one of some `values`; or a label of the set `labels`."""
        site = self._declaring()
        if kind not in ("input", "real"):
            raise ValueError(f"kind is 'input' or 'real', not {kind!r}")
        bounded = lower is not None or upper is not None or open is not False
        if (kind == "input") + bool(values) + bool(labels) + bounded > 1:
            raise ValueError(f"`{name}` is an input, one of `values`, a label or within bounds: say one of these")
        if kind == "input":
            domain = s.Domain("input", span=site.keywords("kind"))
        elif values:
            domain = finite_domain(site, self.sources, values)
        elif labels:
            domain = set_domain(site, labels)
        else:
            domain = real_domain(site, self.sources, lower, upper, open)
        entry = self._symbol(name, indices, domain, default, site, 1)
        self._data.append(entry)
        return Expression(entry.name, self.sources)

    def param(
        self,
        name: str,
        *indices: Index,
        lower: Bound | None = None,
        upper: Bound | None = None,
        open: Open = False,
        default: Bound | None = None,
    ) -> Parameter:
        """A number that is given when the problem is solved: by `default`, by `C.value = 10` or by `params=`."""
        site = self._declaring()
        domain = real_domain(site, self.sources, lower, upper, open)
        entry = self._symbol(name, indices, domain, default, site, 1)
        self._parameters.append(entry)
        return Parameter(entry.name, self)

    def real(self, name: str, *indices: Index, lower: Bound | None = None, upper: Bound | None = None) -> Unknown:
        """A scalar unknown, or one for each member of its indices."""
        site = self._declaring()
        domain = real_domain(site, self.sources, lower, upper)
        entry = self._symbol(name, indices, domain, None, site, 1)
        self._variables.append(entry)
        return Unknown(entry.name, self)

    def hilbert(self, name: str, kernel: Declared, *indices: Index) -> HilbertUnknown:
        """An unknown vector in the space of a kernel, or one for each member of its indices."""
        site = self._declaring()
        if not isinstance(kernel, Declared):
            raise TypeError(f"{kernel!r} is not declared yet: k = p.kernel('k', {kernel!r})")
        place = site.argument(1, "kernel")
        domain = s.Domain("hilbert", name=s.Name(kernel.name, place), span=place)
        entry = self._symbol(name, indices, domain, None, site, 2)
        self._variables.append(entry)
        return HilbertUnknown(entry.name, self)

    def kernel(self, name: str, kernel: KernelExpression | Callable[..., Any]) -> Declared:
        """A kernel of `kdsl.api.kernels`, or a Python function of two matrices of points, a lambda too."""
        site = self._declaring()
        named = self._named(name, site)
        place = site.argument(1, "kernel")
        if isinstance(kernel, (KernelExpression, Expression)) or not callable(kernel):
            node = kernel_node(kernel, place, self.sources)
        else:
            own = getattr(kernel, "__name__", "")
            function = name_at(own if own.isidentifier() else f"{named.id}_function", place, self.sources)
            self._functions[function.id] = kernel
            node = s.KernelCall(function, (), place)
        self._kernels.append(s.KernelDecl(named, node, site.span))
        return Declared(named.id)

    def let(self, name: str, body: Callable[..., Operand] | Expression) -> Any:
        """An abbreviation that keeps its name: `f = p.let("f", lambda t: inner(w, phi(t)) + b)`."""
        site = self._declaring()
        named = self._named(name, site)
        if isinstance(body, Expression):
            inside = operand_at(body, site.argument(1, "body"), self.sources)
            self._definitions.append(s.LetDecl(named, (), inside, site.span))
            return Expression(named, self.sources)
        formals, parameters, inside = self._applied(body, site)
        self._definitions.append(s.LetDecl(named, (*formals, *parameters), inside, site.span))
        return Function(named.id, [f.id for f in (*formals, *parameters)], (), self.sources)

    def loss(self, name: str, body: Callable[..., Operand]) -> Function:
        """A loss; its parameters are keyword-only arguments: `lambda r, *, tau: maximum(tau * r, (tau - 1) * r)`."""
        site = self._declaring()
        named = self._named(name, site)
        formals, parameters, inside = self._applied(body, site)
        self._definitions.append(s.LossDecl(named, formals, parameters, inside, site.span))
        return Function(named.id, [f.id for f in formals], [p.id for p in parameters], self.sources)

    # ----------------------------------------------------------- statements

    def minimize(self, objective: Operand) -> None:
        self._objective("minimize", objective)

    def maximize(self, objective: Operand) -> None:
        self._objective("maximize", objective)

    def subject_to(self, label: str, *parts: Index | Condition, where: object = ()) -> Constraint:
        """`subject_to("margin", i, k, comparison, where=k != y[i])`: one constraint for each member of the indices."""
        site = self._declaring()
        named = name_at(label, site.argument(0, "label"), self.sources, first_on_line=True)
        *indices, comparison = parts if parts else (None,)
        if not isinstance(comparison, Condition):
            raise TypeError(
                f"the last argument of subject_to is the constraint, such as xi[i] >= 0, not {comparison!r}"
            )
        names = tuple(index_name(index, site.argument(1 + n), self.sources) for n, index in enumerate(indices))
        own(comparison, self.sources)
        self._constraints.append(
            s.ConstraintDecl(named, names, conditions_of(where, self.sources), comparison.node, site.span)
        )
        return Constraint(named.id, self)

    def predict(self, kind: str, body: Callable[..., Operand]) -> None:
        """`predict("label", lambda t: sign(inner(w, phi(t)) + b))`; the arguments stand for a new example.

        An abbreviation, `predict("value", f)`, is what `predict value(t) = f(t)` says.
        """
        site = self._declaring()
        named = self._named(kind, site, "kind")
        if isinstance(body, Function):
            names, call = body.on_its_formals(site.argument(1, "body"))
            self._predictions.append(s.Predict(named, names, call, site.span))
            return
        formals, parameters, inside = self._applied(body, site)
        self._predictions.append(s.Predict(named, (*formals, *parameters), inside, site.span))

    # ------------------------------------------------------ the same object

    @property
    def spec(self) -> s.Spec:
        """The syntax tree: what the parser makes of `str(problem)`."""
        statements: list[s.Statement] = []
        if self._indices:
            statements.append(s.IndexLine(tuple(self._indices), self._indices[0].span))
        if self._data:
            statements.append(s.DataLine(tuple(self._data), self._data[0].span))
        if self._parameters:
            statements.append(s.ParamLine(tuple(self._parameters), self._parameters[0].span))
        if self._kernels:
            statements.append(s.KernelLine(tuple(self._kernels), self._kernels[0].span))
        if self._variables:
            statements.append(s.VarLine(tuple(self._variables), self._variables[0].span))
        statements += [*self._definitions, *self._objectives]
        if self._constraints:
            statements.append(s.SubjectTo(tuple(self._constraints), self._constraints[0].span))
        return s.Spec(self._name, self._title, (*statements, *self._predictions), self._span)

    def __str__(self) -> str:
        from kdsl.language.formatter import format_source
        from kdsl.language.printer import print_spec

        return format_source(print_spec(self.spec))

    def __repr__(self) -> str:
        return f"Problem({self._name.id!r})"

    @property
    def model(self) -> Model:
        """The checked model, its source the specification as printed; ProblemError shows every mistake."""
        return self._opened().model._replace(source=str(self))

    @property
    def primal(self) -> Primal:
        return self._opened().primal

    def check(self) -> str:
        """Everything that the compiler has to say, warnings included, as text; "" for nothing."""
        spec, text = self._source()
        _, diagnostics = check_spec(spec, text, self._name.id, tuple(self._functions))
        return reports_text(self._reports(diagnostics))

    def derive(self) -> Derived:
        """The Lagrangian, the dual and the KKT system, with every step; a notebook shows it as mathematics."""
        from kdsl.api.derived import Derived

        return Derived(self._opened().derivation(self._values))

    def _repr_html_(self) -> str:
        """The primal as a notebook shows it, or what is wrong with it."""
        from kdsl.render.mathml import escaped

        try:
            return self.derive().primal_html()
        except ProblemError as error:
            return f"<pre>{escaped(reports_text(error.reports))}</pre>"

    # -------------------------------------------------------------- solving

    def solve(
        self,
        data: Any = None,
        params: Mapping[str, float] | None = None,
        kernels: Mapping[str, Any] | None = None,
        *,
        backend: str | None = None,
        tol: float = 1e-6,
        **options: Any,
    ) -> Solution:
        """The certified solution; `data` once given are kept, so that a changed parameter is solved again at once.

        params, kernels: for this call only. options: what `kdsl.solve` takes besides.
        """
        opened = self._opened()
        self._solution = self._status = None
        try:
            solution = opened.solve(
                data, {**self._values, **(params or {})}, kernels or {}, backend=backend, tol=tol, **options
            )
        except KdslError as error:
            self._status = getattr(error, "status", None)
            raise
        self._solution, self._status = solution, solution.status
        return solution

    @property
    def solution(self) -> Solution | None:
        return self._solution

    @property
    def status(self) -> str | None:
        return self._status

    @property
    def value(self) -> float | None:
        return None if self._solution is None else self._solution.value

    @property
    def gap(self) -> float | None:
        return None if self._solution is None else self._solution.gap

    def is_optimal(self, tol: float = 1e-6) -> bool:
        return self._solution is not None and self._solution.is_optimal(tol)

    def primal_residual(self) -> float:
        """How far the worst constraint is from holding."""
        return self._solved().certificate.primal_residual

    def dual_residual(self) -> float:
        """How far the worst condition on the multipliers is from holding."""
        return self._solved().certificate.dual_residual

    def parameter(self, name: str) -> float | None:
        """The value that the next `solve` takes for a parameter."""
        if name in self._values:
            return self._values[name]
        declared = next(p for p in self._parameters if p.name.id == name)
        from kdsl.language.constants import constant

        default = None if declared.default is None else constant(declared.default)
        return None if default is None else float(default)

    def set_parameter(self, name: str, value: float) -> None:
        self._values[name] = float(value)

    # ---------------------------------------------------------------- parts

    def _declaring(self) -> Site:
        """The place of a declaration; what was derived before no longer holds."""
        self._session = self._solution = self._status = None
        return self.sources.here()

    def _solved(self) -> Solution:
        if self._solution is None:
            raise ValueError("the problem is not solved yet: call solve(data=...)")
        return self._solution

    def _opened(self) -> Session:
        from kdsl.api.session import Session

        if self._session is None:
            spec, text = self._source()
            model, diagnostics = check_spec(spec, text, self._name.id, tuple(self._functions))
            if model is None:
                raise ProblemError(self._reports(diagnostics))
            self._session = Session(model, self.__str__, self._functions, self._located)
        return self._session

    def _source(self) -> tuple[s.Spec, str]:
        """The tree and the text its spans are offsets into: Python, or what is printed where no Python can be had."""
        if self.sources.complete:
            return self.spec, self.sources.text
        from kdsl.language.parser import parse_spec_text

        text = str(self)
        return parse_spec_text(text), text

    def _reports(self, diagnostics: Sequence[Diagnostic]) -> list[Report]:
        told = [diagnostic._replace(help=in_python(diagnostic.help)) for diagnostic in diagnostics]
        if self.sources.complete:
            return reports_of(told, self.sources)
        return [Report(tuple(told), str(self), f"{self._name.id}, as print() shows it")]

    def _located(self, error: KdslError) -> ProblemError:
        return ProblemError(self._reports(error.diagnostics))

    def _named(self, text: str, site: Site, keyword: str = "name") -> s.Name:
        return name_at(text, site.argument(0, keyword), self.sources)

    def _set(
        self, over: Sequence[str | int], places: Sequence[s.Span], span: s.Span
    ) -> tuple[s.Range | s.Name, s.Name | None]:
        """The set that an index runs over, and the name of its size."""
        if len(over) == 1 and isinstance(over[0], str):
            return name_at(over[0], places[0], self.sources), None
        if len(over) != 2 or isinstance(over[0], str):
            raise TypeError(f'an index runs over 1, "l" or over a set of labels such as "classes", not {over!r}')
        lower, upper = over
        first, last = s.Number(str(lower), places[0]), places[1]
        if isinstance(upper, str):
            size = name_at(upper, last, self.sources)
            return s.Range(first, size, span), size
        return s.Range(first, s.Number(str(upper), last), span), None

    def _symbol(
        self, name: str, indices: tuple[Index, ...], domain: s.Domain, default: Bound | None, site: Site, first: int
    ) -> s.SymbolDecl:
        named = self._named(name, site)
        subscripts = tuple(index_name(index, site.argument(first + n), self.sources) for n, index in enumerate(indices))
        value = None if default is None else operand_at(default, site.keyword("default"), self.sources)
        return s.SymbolDecl(named, subscripts, domain, value, site.span)

    def _objective(self, sense: str, body: Operand) -> None:
        site = self._declaring()
        if isinstance(body, Expression):
            own(body, self.sources)
        inside = operand_at(body, site.argument(0, "objective"), self.sources)
        self._objectives.append(s.Objective(sense, inside, site.method()))

    def _applied(
        self, function: Callable[..., Operand], site: Site
    ) -> tuple[tuple[s.Name, ...], tuple[s.Name, ...], s.Expr]:
        """The formals of a Python function, its keyword-only ones, and what it makes of them.

        Arguments with defaults are the function's own affair.
        """
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType):
            raise TypeError(f"{function!r} is no Python function")
        first = 1 if hasattr(function, "__self__") else 0  # of a method, the object it belongs to is given
        count = code.co_argcount - len(getattr(function, "__defaults__", None) or ()) - first
        named = code.co_varnames[first : first + count]
        only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        words = (*named, *(word for word in only if word not in (getattr(function, "__kwdefaults__", None) or {})))
        places = site.parameters(1, words)
        names = [name_at(word, span, self.sources) for word, span in zip(words, places, strict=True)]
        arguments = [Expression(name, self.sources) for name in names]
        given = dict(zip(words[count:], arguments[count:], strict=True))
        body = function(*arguments[:count], **given)
        if isinstance(body, Expression):
            own(body, self.sources)
        return tuple(names[:count]), tuple(names[count:]), operand_at(body, site.argument(1, "body"), self.sources)
