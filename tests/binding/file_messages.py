"""One failing file for every message about files: K501 to K516."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from binding_models import CLASSES, REGRESSION, L, X, datum, index, model
from message_tools import EYE, cases, data, write

from kdsl.binding.arrays import point_array
from kdsl.binding.numbered import called_as
from kdsl.binding.reading import read_table
from kdsl.binding.streaming import read_blocks
from kdsl.binding.svmlight import read_svmlight
from kdsl.cli.sources import read_source


def k501():
    write("a,y\n1,2\n")
    read_table("trian.csv")


def k501_folder():
    read_table("data/train.csv")


def k501_directory():
    Path("tables").mkdir()
    read_table("tables")


def k501_spec():
    read_source("svm_1nrm")


def k501_spec_directory():
    Path("specs").mkdir()
    read_source("specs")


def k502(monkeypatch):
    write("a,y\n1,2\n")

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    read_table("train.csv")


def k502_disk(monkeypatch):
    def fail(self):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", fail)
    read_table("train.csv")


def k503():
    read_table(3.5)


def k503_lazy():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    read_table(polars.LazyFrame({"a": [1, 2], "y": [0, 1]}))


def k504():
    read_table(write(b"PAR1\x15\x04\x15", "train.csv"))


def k504_named_parquet():
    read_table(write("a,b\n1,2\n", "train.parquet"))


def k504_latin():
    read_table(write("größe,y\n1,2\n".encode("latin1")))


def k504_nul():
    read_table(write(b"a,y\n1,2\n3,\x004\n"))


def k504_json():
    read_table(write('[{"age": 30, "y": 1}]', "train.json"))


def k505():
    whole = gzip.compress(b"a,y\n" + b"".join(b"%d,1\n" % r for r in range(1000)))
    read_table(write(whole[: len(whole) // 2], "train.csv.gz"))


def k505_damaged():
    whole = bytearray(gzip.compress(b"a,y\n1,2\n" * 50))
    whole[-5] ^= 255
    read_table(write(bytes(whole), "train.csv.gz"))


def k506():
    read_table(write(""))


def k506_blank():
    read_table(write("\n  \n"))


def k506_header_only():
    read_table(write("age,income\n"))


def k506_no_rows():
    np.save("train.npy", np.empty((0, 2)))
    list(read_blocks("train.npy"))


def k507():
    read_table(write("age,income,y\n30,1,0\n40,2\n50,3,1\n60,0\n"))


def k507_no_header():
    read_table(write("1,2,3\n4,5,6\n7,8,9,10\n"))


def k508():
    read_table(write("age,income,age\n30,1,0\n"))


def k509(monkeypatch):
    write(b"PAR1rest", "train.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    read_table("train.parquet")


def k510():
    read_table(write('name,y\nann,1\n"bob,2\n' + "eve,3\n" * 40_000))


def k511():
    read_svmlight("+1 1:0.5 2:1\n-1 1:0.25 oops\n", "train.svm")


def k511_label():
    read_svmlight("good 1:0.5\n", "train.svm")


def k511_value():
    read_svmlight("1 1:0.5 2:x\n", "train.svm")


def k511_queries():
    read_svmlight("1 qid:1 1:0.5\n2 1:0.5\n", "train.svm")


def k512():
    read_svmlight("+1 1:0.5 2:1\n-1 3:1 2:4\n", "train.svm")


def k512_twice():
    read_svmlight("+1 1:0.5 1:0.75\n", "train.svm")


def k513():
    read_svmlight("+1 1:0.5\n-1 0:1 2:4\n", "train.svm", base=1)


def k513_model_from_1():
    called_as(("f1", "f2"), read_svmlight("1 0:1 1:2\n", "new.svm"), False)


def k513_model_from_0():
    called_as(("f0", "f1"), read_svmlight("1 1:1 2:2\n", "new.svm"), False)


def k514():
    np.save("train.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    read_table("train.npy")


def k514_cut():
    np.savez("train.npz", X=EYE)
    Path("train.npz").write_bytes(Path("train.npz").read_bytes()[:40])
    read_table("train.npz")


def k515():
    read_table(np.array([[1 + 2j]]))


def k515_deep():
    read_table(np.zeros((2, 3, 4)))


def k515_pairs():
    spec = model([X, datum("z", "input", sets=(L, CLASSES))], [index("i", L), index("k", CLASSES)])
    data(spec, {"x": EYE, "z": np.zeros((3, 4, 2))})


def k515_shape():
    data(REGRESSION, {"x": EYE, "y": EYE})


def k515_text_input():
    data(REGRESSION, {"x": [["a"], ["b"]], "y": [1, 2]})


def k515_objects():
    read_table(np.array([[1, 2], [3, {}]], dtype=object))


def k515_sparse():
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[1] = 7
    read_table(matrix)


def k515_ragged():
    data(REGRESSION, {"x": [[1, 2], [3]], "y": [1, 2]})


def k515_new_text():
    point_array([["a"], ["b"]], "the new points")


def k516():
    read_svmlight("+1 1:0.5 123456789012:1\n", "train.svm")


CASES = cases(globals())
