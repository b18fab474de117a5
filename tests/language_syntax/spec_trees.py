"""Random syntax trees, all of them such as the parser can build."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

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
    SubjectTo,
    Sum,
    SymbolDecl,
    VarLine,
)

NAMES = [
    "x",
    "y",
    "w",
    "l",
    "k",
    "q",
    "H",
    "xi",
    "xi'",
    "phi",
    "lambda",
    "eps",
    "nu'",
    "data",
    "real",
    "to",
    "svm_1",
    "E",
]
RELATIONS = ["<=", ">=", "=", "!=", "<", ">"]

names = st.sampled_from(NAMES).map(Name)
labels = st.sampled_from(["margin", "above", "xi", "unit'", "b_2"]).map(Name)
numbers = st.sampled_from(["0", "1", "2", "0.5", "1/2", "2/3", "1e-3", "2.5E+7", "inf"]).map(Number)
name_lists = st.lists(names, min_size=1, max_size=3).map(tuple)


def _tuples(of: st.SearchStrategy[Expr], least: int = 1) -> st.SearchStrategy[tuple[Expr, ...]]:
    return st.lists(of, min_size=least, max_size=3).map(tuple)


@st.composite
def _sums(draw: st.DrawFn, of: st.SearchStrategy[Expr]) -> Add:
    terms = draw(st.lists(of, min_size=2, max_size=4))
    signs = st.sampled_from("+-")
    return Add(tuple(terms), tuple(draw(signs) for _ in terms[1:]))


def _may_stand_beside(left: Expr, operator_before: str, right: Expr) -> bool:
    base = right.base if isinstance(right, Pow) else right
    return isinstance(left, Number) and operator_before in ("", "*") and not isinstance(base, (Number, Inner))


@st.composite
def _products(draw: st.DrawFn, of: st.SearchStrategy[Expr]) -> Mul:
    factors = draw(st.lists(of, min_size=2, max_size=4))
    operators: list[str] = []
    for left, right in pairwise(factors):
        beside = _may_stand_beside(left, operators[-1] if operators else "", right)
        operators.append(draw(st.sampled_from(["*", "/", ""] if beside else ["*", "/"])))
    return Mul(tuple(factors), tuple(operators))


def _larger(smaller: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    where = st.lists(_comparisons(smaller), max_size=2).map(tuple)
    return st.one_of(
        st.builds(Item, names, _tuples(smaller)),
        st.builds(Call, names, _tuples(smaller), st.one_of(st.just(()), _tuples(smaller))),
        st.builds(Neg, smaller),
        _sums(smaller),
        _products(smaller),
        st.builds(Pow, smaller, st.integers(0, 12)),
        st.builds(Inner, smaller, smaller),
        st.builds(Norm, smaller),
        st.builds(Sum, name_lists, where, smaller),
        st.builds(Argmax, names, smaller),
    )


def _comparisons(of: st.SearchStrategy[Expr]) -> st.SearchStrategy[Comparison]:
    return st.builds(Comparison, of, st.sampled_from(RELATIONS), of)


expressions: st.SearchStrategy[Expr] = st.recursive(st.one_of(names, numbers), _larger, max_leaves=14)
_small = st.recursive(st.one_of(names, numbers), _larger, max_leaves=5)
_conditions = st.lists(_comparisons(_small), max_size=2).map(tuple)

_kernel_arguments = st.lists(st.tuples(names, _small), max_size=2).map(tuple)


def _larger_kernels(smaller: st.SearchStrategy) -> st.SearchStrategy:
    several = st.lists(smaller, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(KernelSum, several), st.builds(KernelProduct, several), st.builds(KernelOn, smaller, name_lists)
    )


kernels = st.recursive(
    st.one_of(st.builds(KernelCall, names, _kernel_arguments), st.builds(KernelNumber, numbers)),
    _larger_kernels,
    max_leaves=5,
)
kernel_declarations = st.builds(KernelDecl, names, kernels)

_ends = st.sampled_from(["1", "0", "5", "12"]).map(Number)
_sets = st.one_of(names, st.builds(Range, _ends, st.one_of(names, _ends)))


@st.composite
def _index_entries(draw: st.DrawFn) -> IndexDecl:
    entry_names = draw(name_lists)
    sets = draw(st.lists(_sets, min_size=1, max_size=3))
    return IndexDecl(entry_names, tuple(sets), draw(_conditions))


_domains = st.one_of(
    st.just(Domain("real")),
    st.just(Domain("input")),
    st.builds(lambda r, b: Domain("real", relation=r, bound=b), st.sampled_from(["<=", ">=", "<", ">"]), _small),
    st.builds(
        lambda lo, up, a, b: Domain("interval", lower=lo, upper=up, lower_open=a, upper_open=b),
        _small,
        _small,
        st.booleans(),
        st.booleans(),
    ),
    st.builds(lambda v: Domain("finite", values=v), _tuples(_small)),
    st.builds(lambda n: Domain("set", name=n), st.sampled_from(["groups", "classes", "x"]).map(Name)),
    st.builds(lambda n: Domain("hilbert", name=n), names),
)
_subscripts = st.lists(names, max_size=2).map(tuple)
_symbols = st.builds(SymbolDecl, names, _subscripts, _domains, st.one_of(st.none(), _small))


def _lines(entries: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(entries, min_size=1, max_size=3).map(tuple)


_constraints = st.builds(ConstraintDecl, labels, _subscripts, _conditions, _comparisons(expressions))
statements = st.one_of(
    st.builds(IndexLine, _lines(_index_entries())),
    st.builds(DataLine, _lines(_symbols)),
    st.builds(ParamLine, _lines(_symbols)),
    st.builds(VarLine, _lines(_symbols)),
    st.builds(KernelLine, _lines(kernel_declarations)),
    st.builds(LetDecl, names, _subscripts, expressions),
    st.builds(LossDecl, names, name_lists, _subscripts, expressions),
    st.builds(Objective, st.sampled_from(["minimize", "maximize"]), expressions),
    st.builds(SubjectTo, _lines(_constraints)),
    st.builds(Predict, names, name_lists, expressions),
)
_titles = st.text(
    st.characters(blacklist_characters='"', blacklist_categories=("Cc", "Cf", "Cs", "Zl", "Zp")), max_size=12
)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    name = draw(st.one_of(st.none(), names))
    title = draw(_titles) if name is not None else ""
    return Spec(name, title, tuple(draw(st.lists(statements, max_size=6))))
