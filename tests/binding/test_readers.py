"""Every reader gives the same Table for the same data, whatever the file looks like."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.binding.delimited import read_delimited
from kdsl.binding.reading import read_table
from kdsl.binding.streaming import read_blocks, text_blocks
from kdsl.binding.svmlight import read_svmlight
from kdsl.language.diagnostics import KdslError


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return str(path)


def check_people(table):
    assert table.order == ("age", "income", "kind")
    assert table.names == ("age", "income")
    np.testing.assert_array_equal(table.values, [[30.5, 2], [41, np.nan]])
    assert list(table.text["kind"]) == ["a, b", "c"]


def test_csv_with_header_and_quotes(tmp_path):
    table = read_table(write(tmp_path / "p.csv", 'age,"income",kind\n30.5,2,"a, b"\n41,NA,c\n'))
    check_people(table)
    assert list(table.lines) == [2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "age\tincome\tkind\n30.5\t2\ta, b\n41\t\tc\n",
        "age;income;kind\n30,5;2;a, b\n41;?;c\n",
        "age|income|kind\r\n30.5|2|a, b\r\n41|NaN|c\r\n",
        '\n\nage , income , kind \r30.5, 2, "a, b"\r\r41, , c',
    ],
)
def test_layouts_of_delimited_text(tmp_path, text):
    check_people(read_table(write(tmp_path / "p.csv", text)))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_encoding(tmp_path, encoding):
    table = read_table(write(tmp_path / "p.csv", "größe,y\n1,2\n", encoding))
    assert table.order == ("größe", "y")


def test_gz_by_content_not_by_name(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    np.testing.assert_array_equal(read_table(path).values, [[1, 2]])


def test_a_table_without_header():
    table = read_delimited("1,2\n3,4\n", "t.csv")
    assert table.order == ("V1", "V2") and table.rows == 2 and list(table.lines) == [1, 2]


def test_header_of_words_over_words_and_words_without_header():
    assert read_delimited("kind,size\ng,small\nh,large\n", "t.csv").order == ("kind", "size")
    assert read_delimited("g,small\ng,large\nh,small\n", "t.csv").order == ("V1", "V2")
    assert read_delimited("1.5,g\n2.5,h\n", "t.csv").rows == 2
    assert read_delimited("1,2\n3,4\n", "t.csv", header=True).order == ("1", "2")
    assert read_delimited("a,b\n3,4\n", "t.csv", header=False).rows == 2


def test_blank_lines_keep_line_numbers():
    table = read_delimited("a,b\n\n1,2\n\n\n3,4\n", "t.csv")
    assert list(table.lines) == [3, 6]


def test_a_quoted_cell_may_hold_a_line_end():
    table = read_delimited('a,b\n"x\ny",1\nz,2\n', "t.csv")
    assert list(table.text["a"]) == ["x\ny", "z"] and list(table.lines) == [3, 4]


def test_underscores_are_not_digits():
    assert "a" in read_delimited("a,b\n1_000,1\n2,2\n", "t.csv").text
    assert read_delimited("1_0,2_0\n1,2\n", "t.csv").order == ("1_0", "2_0")


def test_decimal_comma_only_where_the_comma_is_not_the_delimiter():
    np.testing.assert_array_equal(read_delimited("a;b\n1,5;-,5e1\n", "t.csv").values, [[1.5, -5.0]])
    np.testing.assert_array_equal(read_delimited("a,b\n1,5\n", "t.csv").values, [[1, 5]])


def test_hundred_thousand_columns():
    names = ",".join(f"c{p}" for p in range(100_000))
    table = read_delimited(f"{names}\n{','.join(['1.5'] * 100_000)}\n{','.join(['2'] * 100_000)}\n", "w.csv")
    assert table.values.shape == (2, 100_000)


def test_svmlight_counts_from_one_unless_the_file_proves_otherwise():
    one = read_svmlight("+1 1:0.5 3:2\n-1 2:1\n", "t.svm")
    assert one.names == ("label", "f1", "f2", "f3")
    np.testing.assert_array_equal(one.values.toarray(), [[1, 0.5, 0, 2], [-1, 0, 1, 0]])
    zero = read_svmlight("+1 0:0.5 2:2\n-1 1:1\n", "t.svm")
    assert zero.names == ("label", "f0", "f1", "f2")
    said = read_svmlight("+1 1:0.5\n", "t.svm", base=0)
    assert said.names == ("label", "f0", "f1")


def test_svmlight_queries_remarks_and_empty_rows():
    text = "# a remark\n3 qid:7 1:1 # here too\n2 qid:7\n\n1 qid:8 2:1e-3\n"
    table = read_svmlight(text, "t.svm")
    assert table.names == ("label", "qid", "f1", "f2") and list(table.lines) == [2, 3, 5]
    np.testing.assert_array_equal(table.values.toarray(), [[3, 7, 1, 0], [2, 7, 0, 0], [1, 8, 0, 1e-3]])


@pytest.mark.parametrize(
    "text", ["1 1:2:3 4\n", "1 1: 2:3\n", "1 :2\n", "1 1:2\n2 qid:1\n", "1 qid:1 1:2\n2\n", "1 ²:3\n"]
)
def test_svmlight_entries_are_not_glued_together(text):
    with pytest.raises(KdslError, match="K511"):
        read_svmlight(text, "t.svm")


rows = st.lists(
    st.tuples(
        st.floats(allow_nan=False, allow_infinity=False),
        st.dictionaries(st.integers(1, 30), st.floats(allow_nan=False, allow_infinity=False), max_size=5),
    ),
    min_size=1,
    max_size=8,
)


@given(rows)
@settings(max_examples=60, deadline=None)
def test_svmlight_keeps_every_number(examples):
    text = "\n".join(f"{label!r} " + " ".join(f"{k}:{v!r}" for k, v in sorted(row.items())) for label, row in examples)
    table = read_svmlight(text, "t.svm")
    dense = table.values.toarray()
    for r, (label, row) in enumerate(examples):
        assert dense[r, 0] == label
        assert {f"f{k}": v for k, v in row.items()} == {
            n: dense[r, table.names.index(n)] for n in (f"f{k}" for k in row)
        }


@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=2, max_size=6)
)
@settings(max_examples=60, deadline=None)
def test_csv_keeps_every_number(values):
    text = "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in values)
    np.testing.assert_array_equal(read_delimited(text, "t.csv").values, values)


def test_arff_dense_sparse_and_keel(tmp_path):
    dense = "% remark\n@RELATION r\n@ATTRIBUTE 'a b' NUMERIC\n@attribute k {x,'y z'}\n@DATA\n% remark\n1.5,x\n?,'y z'\n"
    table = read_table(write(tmp_path / "t.arff", dense))
    assert table.order == ("a b", "k") and list(table.text["k"]) == ["x", "y z"] and list(table.lines) == [7, 8]
    sparse = "@relation r\n@attribute a real\n@attribute b real\n@data\n{1 2.5}\n{0 -1, 1 3}\n"
    np.testing.assert_array_equal(read_table(write(tmp_path / "s.arff", sparse)).values, [[0, 2.5], [-1, 3]])
    keel = "@relation r\n@attribute a real[0,1]\n@attribute y {g, h}\n@inputs a\n@outputs y\n@data\n0.5, g\n"
    assert read_table(write(tmp_path / "k.dat", keel)).order == ("a", "y")


def test_npy_and_npz(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, 2], [3, 4]], dtype=np.int16))
    table = read_table(tmp_path / "a.npy")
    assert table.names == ("x1", "x2") and table.values.dtype == np.float64
    np.savez(tmp_path / "b.npz", X=np.eye(2), y=np.array(["u", "v"]))
    arrays = read_table(tmp_path / "b.npz").arrays
    assert set(arrays) == {"X", "y"} and list(arrays["y"]) == ["u", "v"]
    np.savez(tmp_path / "c.npz", age=np.arange(2), kind=np.array(["u", ""]))
    columns = read_table(tmp_path / "c.npz")
    assert columns.order == ("age", "kind") and list(columns.text["kind"]) == ["u", None]
    sp.save_npz(tmp_path / "d.npz", sp.csr_array(np.eye(3)))
    assert sp.issparse(read_table(tmp_path / "d.npz").values)


def test_structured_and_object_arrays():
    table = read_table(np.array([(1.5, "u"), (2.5, "v")], dtype=[("a", "f8"), ("k", "U1")]))
    assert table.names == ("a",) and list(table.text["k"]) == ["u", "v"]
    mixed = read_table(np.array([[1, "u"], [None, "v"]], dtype=object))
    np.testing.assert_array_equal(mixed.column("x1"), [1, np.nan])
    assert list(mixed.column("x2")) == ["u", "v"]


def test_csr_duplicates_are_summed_and_types_are_floats():
    matrix = sp.coo_array(([1, 2, 5], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    table = read_table(matrix)
    np.testing.assert_array_equal(table.values.toarray(), [[0, 3], [5, 0]])
    assert table.values.dtype == np.float64
    doubled = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert read_table(doubled).values.nnz == 1 and doubled.nnz == 2


def frame_columns():
    return {"age": [30.5, 41.0], "member": [True, False], "kind": ["u", None]}


def check_frame(table):
    assert table.order == ("age", "member", "kind") and table.names == ("age", "member")
    np.testing.assert_array_equal(table.values, [[30.5, 1], [41, 0]])
    assert list(table.text["kind"]) == ["u", None]


def test_pandas_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    check_frame(read_table(pandas.DataFrame(frame_columns())))
    nullable = pandas.DataFrame({"n": pandas.array([1, None], dtype="Int64"), "c": pandas.Categorical(["u", "v"])})
    table = read_table(nullable)
    np.testing.assert_array_equal(table.column("n"), [1, np.nan])
    assert list(table.column("c")) == ["u", "v"]


def test_pandas_columns_that_are_numbers():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(np.arange(6.0).reshape(2, 3))
    table = read_table(frame)
    assert table.order == ("0", "1", "2")
    assert (table.column("1") == [1, 4]).all()


@pytest.mark.parametrize("names", [["a", "b", "a"], ["1", 1, "b"]])
def test_pandas_columns_of_one_name(names):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(KdslError, match="more than once"):
        read_table(pandas.DataFrame(np.ones((2, 3)), columns=names))


def test_polars_frame():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    check_frame(read_table(polars.DataFrame(frame_columns())))


def test_parquet_and_arrow_files(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pq = pytest.importorskip("pyarrow.parquet")
    frame = pa.table(frame_columns())
    pq.write_table(frame, tmp_path / "t.parquet")
    check_frame(read_table(tmp_path / "t.parquet"))
    with pa.ipc.new_file(tmp_path / "t.arrow", frame.schema) as sink:
        sink.write_table(frame)
    check_frame(read_table(tmp_path / "t.arrow"))
    with pa.ipc.new_stream(tmp_path / "s.arrow", frame.schema) as sink:
        sink.write_table(frame)
    check_frame(read_table(tmp_path / "s.arrow"))


def test_row_names_and_empty_columns_are_left_out():
    table = read_delimited(",a,b,\n1,2,3,\n2,4,5,\n", "t.csv")
    assert table.order == ("a", "b")
    np.testing.assert_array_equal(table.values, [[2, 3], [4, 5]])
    assert [note.code for note in table.notes] == ["K546"]
    kept = read_delimited("a,,c\n1,2,3\n", "t.csv")
    assert kept.order == ("a", "V2", "c") and not kept.notes


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_blocks_are_the_table(tmp_path, ending):
    lines = ["a,kind"] + [f'{r},"q{r % 3}\n"' if r % 7 == 0 else f"{r},q{r % 3}" for r in range(700)]
    text = "\n".join(lines).encode()
    path = tmp_path / f"t{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    whole = read_table(path)
    blocks = list(read_blocks(str(path), rows=13))
    assert (
        len(blocks) > 50
        and max(block.rows for block in blocks) <= 13
        and all(block.order == whole.order for block in blocks)
    )
    np.testing.assert_array_equal(np.concatenate([b.column("a") for b in blocks]), whole.column("a"))
    assert [w for b in blocks for w in b.column("kind")] == list(whole.column("kind"))
    assert [n for b in blocks for n in b.lines] == list(whole.lines)


def test_blocks_of_other_formats(tmp_path):
    path = write(tmp_path / "t.svm", "\n".join(f"1 1:{r}" for r in range(1, 8)))
    blocks = list(read_blocks(path, rows=3))
    assert [b.rows for b in blocks] == [3, 3, 1]
    assert blocks[2].values.toarray()[0, 1] == 7 and list(blocks[2].lines) == [7]


def test_a_row_of_missing_values_is_a_row():
    table = read_delimited("a,b\n1,2\n,\n\n3,4\n", "t.csv")
    np.testing.assert_array_equal(table.values, [[1, 2], [np.nan, np.nan], [3, 4]])
    assert list(table.lines) == [2, 3, 5]


def test_blocks_that_change_their_width_are_ragged(tmp_path):
    path = write(tmp_path / "t.csv", "1,2\n" * 300 + "1,2,3\n" * 300)
    with pytest.raises(KdslError, match="K507"):
        list(read_blocks(path, rows=100))


def test_standard_input(monkeypatch):
    class Stream:
        buffer = io.BytesIO(b"a,b\n1,2\n")

    monkeypatch.setattr("sys.stdin", Stream)
    assert read_table("-").order == ("a", "b")


def test_a_disk_that_fails_on_the_way():
    def lines():
        yield "a,b\n"
        raise OSError(5, "Input/output error")

    with pytest.raises(KdslError, match=r"K502: cannot read `new\.csv`"):
        list(text_blocks(lines(), "new.csv", 10, None))
