"""The dual depends on the problem, not on how it is written: names, order, sums, abbreviations and short forms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from read_duals import normal_row, shipped
from short_specs import CLASSES, HINGE, MARGIN, NUMBERS, SVM, derived, spec

from kdsl.algebra.composites import inverse_of
from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.dual import Dual
from kdsl.algebra.poly import Poly, collect
from kdsl.algebra.terms import At, Factor, Index, Sym, Vec, bracket, inner
from kdsl.pipeline import parse_spec

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").glob("*.kspec"))


class Renaming:
    """Puts names back: of multipliers, data, parameters, points and index sets."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)

    def name(self, name: str) -> str:
        return self._names.get(name, name)

    def index(self, term: Index) -> Index:
        if isinstance(term, At):
            return At(self.name(term.name), tuple(map(self.index, term.args)))
        return self.name(term) if isinstance(term, str) else term

    def factor(self, factor: Factor) -> Factor:
        match factor:
            case Sym(whole=Poly() as whole):
                (renamed_sum,) = inverse_of(self.poly(whole)).factors()
                return renamed_sum
            case Sym():
                support = tuple(sorted(self.factor(b) for b in factor.support))  # type: ignore[type-var]
                args = tuple(map(self.index, factor.args))
                return Sym(self.name(factor.name), args, factor.role, support)  # type: ignore[arg-type]
            case Vec():
                args = tuple(map(self.index, factor.args))
                return Vec(self.name(factor.space), self.name(factor.name), args, factor.feature)
        if hasattr(factor, "relation"):
            left, right = (
                self.factor(side) if isinstance(side, Sym) else self.index(side) for side in (factor.left, factor.right)
            )
            return bracket(factor.relation, left, right)  # type: ignore[arg-type]
        return inner(self.factor(factor.left), self.factor(factor.right))  # type: ignore[arg-type, attr-defined]

    def poly(self, poly: Poly) -> Poly:
        return collect(
            (tuple(map(self.name, m.binders)), tuple((self.factor(f), p) for f, p in m.factors), c)
            for m, c in poly.terms.items()
        )


def essence(dual: Dual, names: Mapping[str, str] | None = None) -> object:
    """What a dual says, free of the order of its parts; `names` puts names back."""
    back = Renaming(names or {})

    def bound(poly: Poly | None) -> Poly | None:
        return None if poly is None else back.poly(poly)

    return (
        back.poly(dual.objective),
        {normal_row(back.poly(r.body), r.equality) for r in dual.rows},
        {(back.name(v.label), bound(v.lower), bound(v.upper), len(v.indices)) for v in dual.variables},
        {
            (
                back.name(c.label),
                *map(back.poly, (*c.function.breaks, *(p for piece in c.function.pieces for p in piece))),
            )
            for c in dual.conjugates
        },
        {(e.kind, back.name(e.label), back.poly(e.weight)) for e in dual.entropies},
        {(back.poly(r.coefficient), back.poly(r.radicand)) for r in dual.roots},
        {(back.poly(c.body), back.poly(c.radius)) for c in dual.cones},
        dual.squared,
    )


def same(first: Derivation, second: Derivation, names: Mapping[str, str] | None = None) -> None:
    assert essence(first.dual) == essence(second.dual, names)
    assert essence(first.exact) == essence(second.exact, names)


# ------------------------------------------------------------------ renaming

WORD = re.compile(r"[A-Za-z]\w*'*")
KERNEL_WORD = re.compile(r"(?<=kernel )\w+")


def renamed(text: str, names: Mapping[str, str]) -> str:
    lines = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        code = line if not line.startswith("model") else line.split('"')[0]
        word = KERNEL_WORD if line.startswith("kernel") else WORD  # the parameters of kernels keep their names
        times = code.replace(" x ", " \x00 ")  # the cross of `1..l x 1..l` is no name
        lines.append(word.sub(lambda m: names.get(m[0], m[0]), times).replace("\x00", "x"))
    return "\n".join(lines) + "\n"


def declared_names(text: str) -> list[str]:
    """Everything that a spec declares and may be called otherwise (the names of losses and classes stay)."""
    model = parse_spec(text, "spec")
    letters = [n for index in model.indices for n in index.names]
    return [
        *letters,
        *(d.name for d in model.data),
        *(p.name for p in model.parameters),
        *(k.name for k in model.kernels),
        *(v.name for v in model.variables),
        *(c.label for c in model.constraints),
    ]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_renaming_every_identifier(path: Path) -> None:
    """Declarations and constraints get names without meaning, in reverse alphabetical order."""
    text = path.read_text(encoding="utf-8")
    names = declared_names(text)
    fresh = {name: f"q{len(names) - n:02d}z" + "'" * name.count("'") for n, name in enumerate(names)}
    for name in names:  # a primed name keeps its unprimed one, so that pairs stay pairs
        if name.endswith("'") and name.rstrip("'") in fresh:
            fresh[name] = fresh[name.rstrip("'")] + "'" * name.count("'")
    other = derive(parse_spec(renamed(text, fresh), path.stem))
    original = derive(parse_spec(text, path.stem))
    back = {new: old for old, new in fresh.items()}
    for mine, theirs in zip(original.dual.definitions, other.dual.definitions, strict=True):
        back[theirs.symbol.name] = mine.symbol.name
    for v in other.dual.variables:
        back[v.label] = "~".join(back.get(part, part) for part in v.label.split("~"))
    same(original, other, back)


# ------------------------------------------------------------ order and shape


def test_order_of_constraints() -> None:
    mono = "mono[j]: <w, phi(hi[j]) - phi(lo[j])> >= 0"
    options = {"data": f"{CLASSES}, lo[j] : input, hi[j] : input", "index": "i in 1..l, j in 1..m"}
    same(derived(spec(HINGE, MARGIN, mono, **options)), derived(spec(HINGE, mono, MARGIN, **options)))


def test_order_of_declarations() -> None:
    first = derived(spec(HINGE, MARGIN))
    same(first, derived(spec(HINGE, MARGIN, var="xi[i] : real >= 0, b : real, w : H(k)")))
    same(first, derived(spec(HINGE, MARGIN, data="y[i] : {-1, 1}, x[i] : input")))
    same(first, derived(spec("minimize C * sum[i] xi[i] + 1/2 ||w||^2", MARGIN)))


def test_order_of_two_sided_constraints() -> None:
    above, below = "above[i]: <w, phi(x[i])> - y[i] <= 1 + xi[i]", "below[i]: y[i] - <w, phi(x[i])> <= 1 + eta[i]"
    objective, var = (
        "minimize 1/2 ||w||^2 + C * sum[i] (xi[i] + eta[i])",
        "w : H(k), xi[i] : real >= 0, eta[i] : real >= 0",
    )
    first = derived(spec(objective, above, below, var=var, data=NUMBERS))
    second = derived(spec(objective, below, above, var=var, data=NUMBERS))
    assert first.dual.objective == second.dual.objective
    same(first, second)


@pytest.mark.parametrize(
    "objective",
    [
        "minimize 1/2 ||w||^2 + C * sum[i] 1/2 * xi[i] + sum[j] C/2 * xi[j]",
        "minimize 1/2 * <w, w> + sum[i] C * xi[i]",
        "minimize 1/4 ||w||^2 + C * sum[i] xi[i] + 1/4 * <w, w>",
        "maximize -1/2 ||w||^2 - C * sum[i] xi[i]",
        "minimize (||w||^2 + 2 * C * sum[i] xi[i]) / 2",
        "minimize 1/2 ||w||^2 + C * sum[i where y[i] = 1] xi[i] + C * (sum[i] xi[i] - sum[j where y[j] = 1] xi[j])",
    ],
)
def test_objective_written_otherwise(objective: str) -> None:
    index = "i in 1..l, j in 1..l"
    same(derived(spec(HINGE, MARGIN, index=index)), derived(spec(objective, MARGIN, index=index)))


@pytest.mark.parametrize(
    "margin",
    [
        "margin[i]: 1 - xi[i] <= y[i] * (<w, phi(x[i])> + b)",
        "margin[i]: y[i] * <w, phi(x[i])> + y[i] * b + xi[i] >= 1",
        "margin[i]: 0 >= 1 - xi[i] - y[i] * (<phi(x[i]), w> + b)",
        "margin[j]: y[j] * (<w, phi(x[j])> + b) >= 1 - xi[j]",
        "margin[i]: y[i] * f(x[i]) >= 1 - xi[i]",
        "margin[i]: y[i] * (<w, phi(x[i]) + zero * phi(x[i])> + b) >= 1 - xi[i]",
    ],
)
def test_constraint_written_otherwise(margin: str) -> None:
    index, extra = "i in 1..l, j in 1..l", "let f(t) = <w, phi(t)> + b"
    text = spec(HINGE, margin.replace("zero", "(2 - 1 - 1)"), index=index, extra=extra)
    first = derived(spec(HINGE, MARGIN, index=index)).dual
    second = derived(text).dual
    if "[j]" in margin:
        second = second._replace(variables=tuple(v._replace(indices=("i",)) for v in second.variables))
        second = second._replace(
            variables=tuple(
                v._replace(upper=None if v.upper is None else v.upper.rename({"j": "i"})) for v in second.variables
            )
        )
    assert essence(first) == essence(second)


def test_a_let_with_a_sum_of_its_own_inside_a_sum() -> None:
    """The abbreviation's i is not the i it is called under."""
    var = SVM.replace("b : real, ", "")
    extra = "let mean = 1/l * sum[i] <w, phi(x[i])>\nlet centred(t) = <w, phi(t)> - mean"
    with_let = spec(HINGE, "margin[i]: y[i] * centred(x[i]) >= 1 - xi[i]", extra=extra, var=var)
    plain = spec(
        HINGE,
        "margin[i]: y[i] * (<w, phi(x[i])> - 1/l * sum[j] <w, phi(x[j])>) >= 1 - xi[i]",
        index="i in 1..l, j in 1..l",
        var=var,
    )
    same(derived(with_let), derived(plain))


# --------------------------------------------------- short forms of the losses

REGRESSION = "w : H(k), b : real"
ERROR = "(y[i] - <w, phi(x[i])> - b)"
SCORE = "(y[i] * (<w, phi(x[i])> + b))"
TUBE = ("above[i]: <w, phi(x[i])> + b - y[i] <= 1/4 + xi[i]", "below[i]: y[i] - <w, phi(x[i])> - b <= 1/4 + eta[i]")
BOTH = "w : H(k), b : real, xi[i] : real >= 0, eta[i] : real >= 0"
SHORT_FORMS = {
    "hinge": (
        spec(f"minimize 1/2 ||w||^2 + C * sum[i] hinge{SCORE}", var=REGRESSION),
        spec(HINGE, MARGIN),
        {"hinge": "margin"},
    ),
    "squared hinge": (
        spec(f"minimize 1/2 ||w||^2 + C * sum[i] squared_hinge{SCORE}", var=REGRESSION),
        spec("minimize 1/2 ||w||^2 + C * sum[i] xi[i]^2", MARGIN),
        {"squared_hinge": "margin"},
    ),
    "squared hinge, written out": (
        spec(f"minimize 1/2 ||w||^2 + C * sum[i] square(pos(1 - {SCORE}))", var=REGRESSION),
        spec("minimize 1/2 ||w||^2 + C * sum[i] xi[i]^2", MARGIN),
        {"square": "margin"},
    ),
    "squared": (
        spec(f"minimize 1/2 ||w||^2 + C * sum[i] squared{ERROR}", var=REGRESSION, data=NUMBERS),
        spec(
            "minimize 1/2 ||w||^2 + C * sum[i] xi[i]^2",
            f"residual[i]: {ERROR} = xi[i]",
            var=f"{REGRESSION}, xi[i] : real",
            data=NUMBERS,
        ),
        {"squared": "residual"},
    ),
    "eps insensitive": (
        spec(f"minimize 1/2 ||w||^2 + C * sum[i] eps_insensitive({ERROR}; 1/4)", var=REGRESSION, data=NUMBERS),
        spec("minimize 1/2 ||w||^2 + C * sum[i] (xi[i] + eta[i])", *TUBE, var=BOTH, data=NUMBERS),
        {"eps_insensitive": "above~below"},
    ),
    "eps insensitive, squared": (
        spec(f"minimize 1/2 ||w||^2 + C * sum[i] eps_insensitive_squared({ERROR}; 1/4)", var=REGRESSION, data=NUMBERS),
        spec("minimize 1/2 ||w||^2 + C * sum[i] (xi[i]^2 + eta[i]^2)", *TUBE, var=BOTH, data=NUMBERS),
        {"eps_insensitive_squared": "above~below"},
    ),
    "absolute": (
        spec(f"minimize 1/2 ||w||^2 + C * sum[i] absolute{ERROR}", var=REGRESSION, data=NUMBERS),
        spec(
            "minimize 1/2 ||w||^2 + C * sum[i] (xi[i] + eta[i])",
            *(c.replace("1/4 + ", "") for c in TUBE),
            var=BOTH,
            data=NUMBERS,
        ),
        {"absolute": "above~below"},
    ),
    "pinball": (
        spec(
            f"minimize 1/2 ||w||^2 + C * sum[i] pinball({ERROR}; tau)",
            var=REGRESSION,
            data=NUMBERS,
            param="C : in (0, inf) = 1, tau : in (0, 1) = 0.3",
        ),
        spec(
            "minimize 1/2 ||w||^2 + C * sum[i] ((1 - tau) * xi[i] + tau * eta[i])",
            *(c.replace("1/4 + ", "") for c in TUBE),
            var=BOTH,
            data=NUMBERS,
            param="C : in (0, inf) = 1, tau : in (0, 1) = 0.3",
        ),
        {"pinball": "above~below"},
    ),
}


@pytest.mark.parametrize("name", sorted(SHORT_FORMS))
def test_short_form_and_slacks_have_one_dual(name: str) -> None:
    short, long, names = SHORT_FORMS[name]
    assert essence(derived(short).dual, names) == essence(derived(long).dual)


# ------------------------------------------------------------------------ rows


def test_without_b_its_row_is_gone_and_nothing_else() -> None:
    with_b = shipped("svm_1norm").dual
    text = (ROOT / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
    without = derive(parse_spec(text.replace(", b : real", "").replace(" + b)", ")"), "svm_1norm")).dual
    (row,) = with_b.rows
    assert row.origin == "b" and not without.rows
    assert with_b._replace(rows=()) == without


def test_no_code_knows_a_model_by_name() -> None:
    """No stem of a spec is a string of the source, apart from the losses, which are part of the language.

    The estimators name the spec that they start from when none is given, svm-train's types the spec that says the same,
    and the benchmark the problems that it times: names of what to solve, nothing that is looked at.
    """
    names = {path.stem for path in SPECS if not path.stem.startswith("loss_")} - {"lasso", "ridge", "one_class"}
    found = {
        (path.name, name)
        for path in (ROOT / "kdsl").rglob("*.py")
        if path.parent.name not in ("api", "sklearn", "libsvm", "bench")
        for name in names
        if re.search(rf"['\"]{name}['\"]", path.read_text(encoding="utf-8"))
    }
    assert not found
    for room in ("algebra", "language"):
        for path in (ROOT / "kdsl" / room).glob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"\b(model|primal)\.name\s*(==|!=|\bin\b)", text), path.name
