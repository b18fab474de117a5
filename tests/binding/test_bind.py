"""bind: columns and arrays find their data, labels their values, tables their index sets, features their scale."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from binding_models import (
    BINARY,
    CLASSES,
    COSTS,
    GAUSSIAN,
    LASSO,
    MULTICLASS,
    NOVELTY,
    PAIRS,
    REGRESSION,
    SIGNS,
    WEIGHTED,
    L,
    M,
    X,
    datum,
    index,
    model,
    parameter,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.parameters import bind_parameters
from kdsl.binding.points import fit_scaling
from kdsl.binding.precomputed import Precomputed
from kdsl.binding.reading import read_table
from kdsl.language.diagnostics import KdslError
from kdsl.language.model import Interval
from kdsl.language.syntax import KernelCall, Name
from kdsl.pipeline import parse_spec

PEOPLE = "age,income,member,weight\n30,1.5,yes,1\n40,2.5,no,0.5\n50,0.5,yes,2\n"


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    return str(tmp_path / "people.csv")


def bind_data(spec, data, **options):
    return bind(spec, tables_from_data(spec, data), **options)


def codes(bound):
    return [note.code for note in bound.warnings]


def test_target_weights_and_features(people):
    bound = bind(WEIGHTED, {"": people}, target="member", bindings={"s": "weight"})
    assert bound.sizes == {"l": 3}
    np.testing.assert_array_equal(bound.arrays["y"], [1, -1, 1])
    np.testing.assert_array_equal(bound.arrays["s"], [1, 0.5, 2])
    np.testing.assert_array_equal(bound.points["x"].features, [[30, 1.5], [40, 2.5], [50, 0.5]])
    assert bound.points["x"].names == ("age", "income")
    assert bound.label_maps["y"].describe() == "no -> -1, yes -> 1"
    assert bound.sources == {"x": f"2 columns of {people}", "y": f"column member of {people}",
                             "s": f"column weight of {people}"}  # fmt: skip


def test_what_is_not_bound_is_a_feature_or_a_default(people):
    bound = bind(WEIGHTED, {"i": people}, target="member")
    assert bound.points["x"].names == ("age", "income", "weight")
    np.testing.assert_array_equal(bound.arrays["s"], [1, 1, 1])
    chosen = bind(WEIGHTED, {"l": people}, target="member", features=["income", "age"])
    assert chosen.points["x"].names == ("income", "age")


def test_a_datum_finds_the_column_of_its_name():
    bound = bind(REGRESSION, {"": {"age": [1.0, 2.0], "y": [3.0, 4.0]}})
    assert bound.points["x"].names == ("age",) and list(bound.arrays["y"]) == [3, 4]
    other = bind(REGRESSION, {"": {"age": [1.0, 2.0], "y": [3.0, 4.0]}}, target="age")
    assert other.points["x"].names == ("y",) and list(other.arrays["y"]) == [1, 2]


def test_text_that_is_a_number_counts_as_one():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    for y in (["3", "4.5"], np.array(["3", "4.5"]), pandas.Series(["3", "4.5"])):
        np.testing.assert_array_equal(bind_data(REGRESSION, {"x": np.eye(2), "y": y}).arrays["y"], [3, 4.5])
    frame = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "y": ["3", None, "4.5"]})
    assert list(bind_data(REGRESSION, frame, drop_missing=True).arrays["y"]) == [3, 4.5]
    with pytest.raises(KdslError, match="K530: the frame, row 2: the value of `y` is missing"):
        bind_data(REGRESSION, frame)
    costs = {"x": np.eye(2), "y": ["a", "b"], "delta": [["0", "1"], ["2", "O"]]}
    with pytest.raises(KdslError, match="K528: the array `delta`, row 2: `O` in column `delta` is not a number"):
        bind_data(COSTS, costs)


@pytest.mark.parametrize(
    ("labels", "positive", "expected", "words"),
    [
        ([1, -1, 1], None, [1, -1, 1], "-1 -> -1, 1 -> 1"),
        ([0, 1, 1], None, [-1, 1, 1], "0 -> -1, 1 -> 1"),
        ([2, 4, 4], None, [-1, 1, 1], "2 -> -1, 4 -> 1"),
        ([2, 10, 10], "2", [1, -1, -1], "10 -> -1, 2 -> 1"),
        ([1.0, -1.0, 1.0], "-1", [-1, 1, -1], "1 -> -1, -1 -> 1"),
        (["e", "p", "p"], None, [-1, 1, 1], "e -> -1, p -> 1"),
        (["+", "-", "-"], None, [1, -1, -1], "- -> -1, + -> 1"),
        (["yes", "zero", "zero"], None, [1, -1, -1], "zero -> -1, yes -> 1"),
        (["Yes", "No", "No"], "No", [-1, 1, 1], "Yes -> -1, No -> 1"),
        ([True, False, False], None, [1, -1, -1], "0 -> -1, 1 -> 1"),
        ([0.5, 1.5, 1.5], "0.5", [1, -1, -1], "1.5 -> -1, 0.5 -> 1"),
    ],
)
def test_two_labels_of_any_kind(labels, positive, expected, words):
    bound = bind_data(BINARY, {"x": np.eye(3), "y": labels}, positive=positive)
    np.testing.assert_array_equal(bound.arrays["y"], expected)
    label_map = bound.label_maps["y"]
    assert label_map.describe() == words
    np.testing.assert_array_equal(label_map.decode(bound.arrays["y"]), labels)


def test_a_finite_domain_of_other_values():
    spec = model([X, datum("y", "finite", values=(0, 1))])
    bound = bind_data(spec, {"x": np.eye(2), "y": ["a", "b"]})
    np.testing.assert_array_equal(bound.arrays["y"], [0, 1])
    three = model([X, datum("y", "finite", values=(1, 2, 3))])
    assert list(bind_data(three, {"x": np.eye(2), "y": [3, 1]}).arrays["y"]) == [3, 1]


def test_classes_are_coded_in_order_and_named():
    bound = bind_data(MULTICLASS, {"x": np.eye(4), "y": [10, 2, 2, 33]})
    assert bound.sizes == {"l": 4, "classes": 3}
    np.testing.assert_array_equal(bound.arrays["y"], [1, 0, 0, 2])
    labels = bound.label_sets["classes"]
    assert labels.names == ("2", "10", "33")
    np.testing.assert_array_equal(labels.decode(bound.arrays["y"]), [10, 2, 2, 33])
    words = bind_data(MULTICLASS, {"x": np.eye(3), "y": ["b", "a", "c"]})
    assert list(words.label_sets["classes"].decode(words.arrays["y"])) == ["b", "a", "c"]


def test_long_identifiers_stay_apart_as_text():
    ids = np.array([2**60, 2**60 + 1, 2**60])
    bound = bind_data(MULTICLASS, {"x": np.eye(3), "y": ids.astype(str)})
    assert bound.label_sets["classes"].names == ("1152921504606846976", "1152921504606846977")
    np.testing.assert_array_equal(bound.arrays["y"], [0, 1, 0])
    assert list(bound.label_sets["classes"].decode(bound.arrays["y"])) == [str(one) for one in ids]
    two = bind_data(BINARY, {"x": np.eye(3), "y": ids.astype(str)})
    assert list(two.label_maps["y"].decode(two.arrays["y"])) == [str(one) for one in ids]


def test_costs_between_labels(tmp_path):
    costs = np.array([[0, 1.0], [2.0, 0]])
    bound = bind_data(COSTS, {"x": np.eye(3), "y": ["b", "a", "a"], "delta": costs})
    np.testing.assert_array_equal(bound.arrays["delta"], costs)
    (tmp_path / "costs.csv").write_text("of,b,a\nb,0,7\na,5,0\n")
    tables = {"": {"x": np.eye(3), "y": ["b", "a", "a"]}, "delta": tmp_path / "costs.csv"}
    np.testing.assert_array_equal(bind(COSTS, tables).arrays["delta"], [[0, 5], [7, 0]])


def test_two_tables_and_prefixes(tmp_path):
    (tmp_path / "train.csv").write_text("age,income,y,group\n1,2,0,u\n3,4,1,v\n5,7,1,u\n")
    (tmp_path / "pairs.csv").write_text("hi.income,hi.age,lo.age,lo.income\n20,10,1,2\n40,30,3,4\n")
    bound = bind(PAIRS, {"": tmp_path / "train.csv", "j": tmp_path / "pairs.csv"}, scale="minmax")
    assert bound.sizes == {"l": 3, "m": 2, "groups": 2}
    assert all(p.names == ("age", "income") for p in bound.points.values())
    np.testing.assert_allclose(bound.points["hi"].features, [[9 / 4, 18 / 5], [29 / 4, 38 / 5]])
    np.testing.assert_allclose(bound.points["lo"].features, [[0, 0], [2 / 4, 2 / 5]])
    assert bound.feature_maps["lo"].scaling is bound.feature_maps["x"].scaling is bound.scaling


def test_two_spaces_may_have_different_features():
    spec = model([X, datum("z", "input")], kernels=(("k", GAUSSIAN), ("q", GAUSSIAN)))
    bound = bind_data(spec, {"x": np.eye(3), "z": np.ones((3, 5))})
    assert bound.points["x"].dimension == 3 and bound.points["z"].dimension == 5


def test_an_input_with_two_indices_has_a_row_for_each_pair(tmp_path):
    spec = model([X, datum("lo", "input", sets=(M,)), datum("z", "input", sets=(L, M))], [index("i", L), index("j", M)])
    bound = bind_data(spec, {"x": np.eye(3), "lo": np.eye(2, 3), "z": np.ones((6, 3))}, drop_missing=True)
    assert bound.sizes == {"l": 3, "m": 2} and bound.points["z"].size == 6
    (tmp_path / "z.csv").write_text("x1,x2,x3\n" + "1,2,3\n" * 6)
    tables = {"": {"x": np.eye(3), "lo": np.eye(2, 3)}, "z": tmp_path / "z.csv"}
    assert bind(spec, tables).points["z"].size == 6


def test_features_by_input(people):
    spec = model([X, datum("z", "input")], kernels=(("k", GAUSSIAN), ("q", GAUSSIAN)))
    bound = bind(spec, {"": people}, features={"x": ["age"], "z": ["income", "weight"]})
    assert bound.points["x"].names == ("age",) and bound.points["z"].names == ("income", "weight")


def test_a_matrix_of_numbers_is_features_too(people):
    bound = bind(LASSO, {"": people}, target="income", features=["age", "weight"], scale="standard")
    assert bound.sizes == {"l": 3, "d": 2} and not bound.points
    np.testing.assert_allclose(bound.arrays["x"].mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(bound.arrays["x"].std(axis=0), 1)


def test_a_matrix_beside_an_input_is_numbers(tmp_path):
    """By array, by columns with its prefix, by columns asked for, by a table of its own; as wide as it is."""
    spec = model([X, SIGNS, datum("psi", sets=(L, M))], [index("i", L), index("j", M)])
    numbers = np.array([[7.0, 8, 9], [4, 5, 6], [1, 2, 3]])
    for columns in (1, 3):
        bound = bind_data(spec, {"x": np.eye(3, 2), "y": [1, -1, 1], "psi": numbers[:, :columns]}, scale="minmax")
        np.testing.assert_array_equal(bound.arrays["psi"], numbers[:, :columns])
    (tmp_path / "one.csv").write_text("a,psi.u,b,psi.v,psi.w,y\n1,7,2,8,9,-1\n3,4,4,5,6,1\n,1,6,2,3,1\n0,NA,2,3,1,1\n")
    (tmp_path / "x.csv").write_text("a,b,y\n1,2,-1\n3,4,1\n5,6,1\n")
    (tmp_path / "psi.csv").write_text("u,v,w\n7,8,9\n4,5,6\n1,2,3\n")
    bound = bind(spec, {"": tmp_path / "one.csv"}, drop_missing=True)
    assert bound.points["x"].names == ("a", "b") and bound.sizes == {"l": 2, "m": 3}
    np.testing.assert_array_equal(bound.arrays["psi"], numbers[:2])
    asked = bind(spec, {"": tmp_path / "x.csv"}, features={"x": ["a"], "psi": ["b", "a"]})
    np.testing.assert_array_equal(asked.arrays["psi"], [[2, 1], [4, 3], [6, 5]])
    apart = bind(spec, {"": tmp_path / "x.csv", "psi": tmp_path / "psi.csv"})
    np.testing.assert_array_equal(apart.arrays["psi"], numbers)
    (tmp_path / "psi.csv").write_text("u,v,w\n7,8,9\n4,a,6\n1,2,3\n")
    with pytest.raises(KdslError, match=r"K528: `.*psi.csv`, line 3: `a` in column `v` is not a number"):
        bind(spec, {"": tmp_path / "x.csv", "psi": tmp_path / "psi.csv"})


def test_in_a_model_without_an_input_the_first_matrix_is_the_features():
    spec = model([*LASSO.data, datum("q", sets=(L, M))], [*LASSO.indices, index("k", M)], kernels=())
    bound = bind_data(spec, {"x": np.eye(3, 2), "y": [1.0, 2, 3], "q": np.ones((3, 4))}, scale="standard")
    assert list(bound.feature_maps) == ["x"] and bound.arrays["q"].shape == (3, 4)
    np.testing.assert_array_equal(bound.arrays["q"], 1)


def test_npz_and_arrays_in_other_case(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(3), target=np.array([1, 0, 0]))
    bound = bind(BINARY, {"": tmp_path / "t.npz"}, target="target")
    np.testing.assert_array_equal(bound.arrays["y"], [1, -1, -1])


def test_frames_keep_their_column_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    frame = pandas.DataFrame({"age": [1.0, 2.0], "kind": ["u", "v"]})
    bound = bind_data(BINARY, {"x": frame, "y": pandas.Series(["a", "b"])}, onehot=True)
    assert bound.points["x"].names == ("age", "kind=u", "kind=v")
    new = bound.feature_maps["x"].apply(read_table(frame))
    np.testing.assert_array_equal(new.features, bound.points["x"].features)
    whole = bind_data(BINARY, frame, target="kind")
    assert whole.points["x"].names == ("age",)


def test_sparse_points_stay_sparse_and_full_ones_become_dense(tmp_path):
    wide = sp.random_array((20, 50), density=0.05, rng=np.random.default_rng(0), format="csr")
    bound = bind_data(BINARY, {"x": wide, "y": np.arange(20) % 2})
    assert sp.issparse(bound.points["x"].features)
    (tmp_path / "t.svm").write_text("1 1:1 2:2\n-1 1:3 2:4\n")
    dense = bind(BINARY, {"": tmp_path / "t.svm"})
    np.testing.assert_array_equal(dense.points["x"].features, [[1, 2], [3, 4]])
    assert dense.points["x"].names == ("f1", "f2")


def test_onehot_and_its_map_on_new_data():
    table = {"age": [1.0, 2.0, 3.0], "kind": ["b", "a", "b"], "code": [3.0, 1.0, 3.0], "y": [0, 1, 1]}
    bound = bind_data(BINARY, table, onehot=["kind", "code"])
    assert bound.points["x"].names == ("age", "kind=a", "kind=b", "code=1", "code=3")
    np.testing.assert_array_equal(bound.points["x"].features, [[1, 0, 1, 0, 1], [2, 1, 0, 1, 0], [3, 0, 1, 0, 1]])
    new = bound.feature_maps["x"].apply(read_table({"code": [1.0], "age": [9.0], "kind": ["b"]}))
    np.testing.assert_array_equal(new.features, [[9, 0, 1, 1, 0]])


def test_true_and_false_are_numbers_whatever_the_source_has_them_as(tmp_path):
    """As booleans of a frame, and as words of CSV in any case; a model of the one predicts the other."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"age": [1.0, 2.0, 3.0], "smokes": [True, False, True], "y": [0, 1, 1]})
    (tmp_path / "t.csv").write_text("age,smokes,y\n1,TRUE,0\n2,FALSE,1\n3,TRUE,1\n")
    frame.to_csv(tmp_path / "u.csv", index=False)
    sources = [frame, tmp_path / "t.csv", tmp_path / "u.csv"]
    for options in ({}, {"onehot": True}, {"onehot": ["smokes"]}):
        bounds = [bind(BINARY, {"": source}, **options) for source in sources]
        assert len({bound.data_hash for bound in bounds}) == 1
        for bound in bounds:
            for source in sources:
                new = bound.feature_maps["x"].apply(read_table(source))
                np.testing.assert_array_equal(new.features, bounds[0].points["x"].features)
    smokers = bind(BINARY, {"": tmp_path / "u.csv"}, target="smokes", features=["age"])
    assert smokers.label_maps["y"].describe() == "False -> -1, True -> 1"
    real = bind(REGRESSION, {"": tmp_path / "u.csv"}, target="smokes", features=["age"])
    assert list(real.arrays["y"]) == [1, 0, 1]


def test_true_and_false_among_other_words_are_words():
    table = {"age": [1.0, 2.0, 3.0], "smokes": ["True", "False", "unknown"], "y": [0, 1, 1]}
    bound = bind_data(BINARY, table, onehot=True)
    assert bound.points["x"].names == ("age", "smokes=False", "smokes=True", "smokes=unknown")
    block = read_table({"age": [1.0], "smokes": ["True"]})
    np.testing.assert_array_equal(bound.feature_maps["x"].apply(block).features, [[1, 0, 1, 0]])


def test_rows_with_missing_values_are_left_out_everywhere(tmp_path):
    (tmp_path / "t.csv").write_text("age,s,y\n1,1,a\nNA,1,b\n3,,a\n4,2,\n5,3,b\n6,1,a\n")
    bound = bind(WEIGHTED, {"": tmp_path / "t.csv"}, drop_missing=True)
    assert bound.sizes == {"l": 3} and bound.dropped == {"l": 3} and codes(bound) == ["K543"]
    np.testing.assert_array_equal(bound.points["x"].features[:, 0], [1, 5, 6])
    np.testing.assert_array_equal(bound.points["x"].lines, [2, 6, 7])
    np.testing.assert_array_equal(bound.arrays["s"], [1, 3, 1])
    arrays = bind_data(WEIGHTED, {"x": [[1.0], [np.nan], [3.0]], "y": [1, -1, -1]}, drop_missing=True)
    np.testing.assert_array_equal(arrays.arrays["s"], [1, 1])


def test_rows_left_out_of_a_matrix_over_pairs_of_examples():
    spec = model([X, datum("t", sets=(L, L))])
    table = np.arange(9.0).reshape(3, 3)
    bound = bind_data(spec, {"x": [[1.0], [np.nan], [3.0]], "t": table}, drop_missing=True)
    np.testing.assert_array_equal(bound.arrays["t"], [[0, 2], [6, 8]])


def test_an_unused_column_may_miss_values(people, tmp_path):
    (tmp_path / "t.csv").write_text("age,other,y\n1,NA,a\n2,1,b\n")
    bound = bind(BINARY, {"": tmp_path / "t.csv"}, features=["age"])
    assert bound.sizes == {"l": 2}


def test_points_are_copied_into_rows():
    given = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    bound = bind_data(NOVELTY, {"x": given})
    features = bound.points["x"].features
    assert features.flags.c_contiguous and not np.shares_memory(features, given)


@pytest.mark.parametrize(
    "objective",
    ["sum[i] eps_insensitive(y[i] - <w, phi(x[i])>; s[i])", "sum[i] absolute(y[i] - s[i] - <w, phi(x[i])>)"],
)
def test_what_does_not_multiply_the_loss_is_no_weight(objective):
    """The width of a tube and a known part of a response may be 0 for all examples."""
    text = f"""index  i in 1..l
data   x[i] : input, y[i] : real, s[i] : real >= 0 = 1
kernel k = linear
var    w : H(k)
minimize 1/2 ||w||^2 + {objective}
predict value(t) = <w, phi(t)>
"""
    for zeros in ([0.0, 0, 0], [0.0, 1, 0]):
        assert codes(bind_data(parse_spec(text), {"x": np.eye(3), "y": [1.0, 2, 3], "s": zeros})) == []


def test_defaults_and_sizes_without_a_target():
    bound = bind_data(NOVELTY, np.eye(4))
    assert bound.sizes == {"l": 4} and bound.arrays == {}
    assert bound.points["x"].names == ("x1", "x2", "x3", "x4")


def test_precomputed_kernel_takes_the_matrix():
    spec = model([X, SIGNS], kernels=(("k", KernelCall(Name("precomputed"), ())),))
    gram = np.array([[2.0, 1.0], [1.0, 2.0]])
    bound = bind_data(spec, {"x": gram, "y": [1, -1]}, scale="standard")
    np.testing.assert_array_equal(bound.points["x"].features, [[2, 1, 2, 0], [1, 2, 2, 1]])
    assert bound.feature_maps["x"].precomputed and codes(bound) == ["K549"]


def test_new_points_of_a_precomputed_kernel():
    spec = model([X, SIGNS], kernels=(("k", KernelCall(Name("precomputed"), ())),))
    bound = bind_data(spec, {"x": [[2.0, 1.0], [1.0, 2.0]], "y": [1, -1]})
    kernel = Precomputed()
    array = bound.feature_maps["x"].apply_array(np.array([[0.5, 0.25]]), "the array", np.array([3.0]))
    table = bound.feature_maps["x"].apply(read_table({"self": [3.0], "x2": [0.25], "x1": [0.5]}))
    for new in (array, table):
        np.testing.assert_array_equal(kernel.block(new.features, bound.points["x"].features), [[0.5, 0.25]])
        np.testing.assert_array_equal(kernel.diagonal(new.features), [3.0])


def test_words_of_rows_left_out_make_no_feature():
    table = {"age": [1.0, np.nan, 3.0], "kind": ["b", "a", "c"], "y": [0, 1, 1]}
    bound = bind_data(BINARY, table, onehot=True, drop_missing=True)
    assert bound.points["x"].names == ("age", "kind=b", "kind=c")


def test_the_hash_knows_the_data_and_nothing_else(people):
    first = bind(WEIGHTED, {"": people}, target="member")
    assert first.data_hash == bind(WEIGHTED, {"": read_table(people)}, target="member").data_hash
    assert first.data_hash != bind(WEIGHTED, {"": people}, target="member", scale="standard").data_hash
    assert first.data_hash != bind(WEIGHTED, {"": people}, target="member", positive="no").data_hash
    matrix = sp.random_array((9, 9), density=0.3, rng=np.random.default_rng(0), format="csr")
    backwards = np.concatenate([np.arange(b, a, -1) - 1 for a, b in pairwise(matrix.indptr)])
    shuffled = sp.csr_array((matrix.data[backwards], matrix.indices[backwards], matrix.indptr), shape=matrix.shape)
    assert not shuffled.has_sorted_indices
    y = [0, 1] * 4 + [1]
    assert bind_data(BINARY, {"x": matrix, "y": y}).data_hash == bind_data(BINARY, {"x": shuffled, "y": y}).data_hash


def test_tables_by_index_beside_arrays_by_name():
    data = {
        "j": {"lo.x1": [1.0], "lo.x2": [5.0], "hi.x1": [2.0], "hi.x2": [6.0]},
        "x": np.array([[1.0, 2.0], [2.0, 3.0]]),
        "y": [0, 1],
        "group": ["u", "v"],
    }
    bound = bind_data(PAIRS, data)
    assert bound.sizes == {"l": 2, "m": 1, "groups": 2}
    np.testing.assert_array_equal(bound.points["hi"].features, [[2, 6]])


@pytest.mark.parametrize("kind", ["standard", "minmax", "none"])
@given(rows=st.integers(2, 9), columns=st.integers(1, 4), seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_scaling_does_what_its_name_says(kind, rows, columns, seed):
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, columns)) * 10.0 ** random.integers(-8, 8, size=columns)
    values[:, 0] = 0.1
    scaled = fit_scaling(kind, values).apply(values)
    if kind == "none":
        np.testing.assert_array_equal(scaled, values)
        return
    np.testing.assert_allclose(scaled[:, 0], 0, atol=1e-15)
    if kind == "minmax":
        assert scaled.min() == 0 and scaled.max() <= 1 + 1e-12
        np.testing.assert_allclose(scaled[:, 1:].max(axis=0), 1)
    else:
        np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(scaled[:, 1:].std(axis=0), 1)


def test_sparse_scaling_keeps_zeros():
    values = sp.csr_array(np.array([[0, 2.0, 0], [4.0, 0, 0], [0, -6.0, 0]]))
    np.testing.assert_allclose(fit_scaling("minmax", values).apply(values).toarray(), values.toarray() / [4, 6, 1])
    spread = values.toarray().std(axis=0)
    spread[2] = 1
    standard = fit_scaling("standard", values)
    np.testing.assert_allclose(standard.apply(values).toarray(), values.toarray() / spread)
    np.testing.assert_allclose(standard.apply(values.toarray()), values.toarray() / spread)


def test_scaled_features_are_not_warned_about():
    rare = np.zeros((100_000, 2))
    rare[0, 0], rare[::2, 1] = 1000, 1
    y = np.resize([1, -1], 100_000)
    assert codes(bind_data(BINARY, {"x": rare, "y": y}, scale="standard")) == []
    assert codes(bind_data(BINARY, {"x": rare, "y": y})) == ["K540"]


def test_scaling_is_kept_for_new_points(people):
    bound = bind(WEIGHTED, {"": people}, target="member", scale="standard")
    again = bound.feature_maps["x"].apply(read_table(people))
    np.testing.assert_array_equal(again.features, bound.points["x"].features)
    array = bound.feature_maps["x"].apply_array(np.array([[30, 1.5, 1.0]]), "the array")
    np.testing.assert_allclose(array.features, bound.points["x"].features[:1])


def test_new_svmlight_points_may_lack_and_exceed_columns(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 3:2\n-1 2:3\n")
    (tmp_path / "b.svm").write_text("1 1:5 4:9\n")
    bound = bind(BINARY, {"": tmp_path / "a.svm"})
    np.testing.assert_array_equal(
        np.asarray(bound.feature_maps["x"].apply(read_table(tmp_path / "b.svm")).features.toarray()), [[5, 0, 0, 9]]
    )


def test_parameters_from_defaults_and_overrides():
    spec = model(
        [X],
        parameters=(
            parameter("C", Interval(Fraction(0), None, True), 1),
            parameter("nu", Interval(Fraction(0), Fraction(1), True), Fraction(1, 2)),
        ),
    )
    assert bind_parameters(spec, {}) == {"C": 1.0, "nu": 0.5}
    assert bind_parameters(spec, {"C": 10}) == {"C": 10.0, "nu": 0.5}
    assert bind_parameters(spec, {"nu": 1}) == {"C": 1.0, "nu": 1.0}
    assert bind_parameters(spec, {"ν": 1}) == {"C": 1.0, "nu": 1.0}


def test_names_of_sets_in_index_tuples():
    spec = model([X, SIGNS, datum("lo", "input", sets=(M,))], [index("i", L), index("j", M), index("k", CLASSES)])
    assert set(tables_from_data(spec, {"x": 1, "j": 2})) == {"", "j"}


@pytest.mark.parametrize(
    "text",
    [
        "label,a,b,c\na,0,1,2\nb,1,0,5\nc,2,5,0\n",
        "label,c,a,b\na,2,0,1\nc,0,2,5\nb,5,1,0\n",
        "c,a,b\n0,2,5\n2,0,1\n5,1,0\n",
        "p,q,r\n0,1,2\n1,0,5\n2,5,0\n",
        "0,1,2\n1,0,5\n2,5,0\n",
    ],
    ids=["in order", "rows and columns out of order", "columns that name both", "other names", "no names"],
)
def test_a_matrix_of_labels_goes_by_their_names(text, tmp_path):
    (tmp_path / "costs.csv").write_text(text)
    given = {"x": np.eye(3), "y": ["a", "b", "c"], "delta": str(tmp_path / "costs.csv")}
    np.testing.assert_array_equal(bind_data(COSTS, given).arrays["delta"], [[0, 1, 2], [1, 0, 5], [2, 5, 0]])
