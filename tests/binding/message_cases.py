"""One small failing situation for every K5xx message; the text each must give is on its page in docs/diagnostics.

Each case is a function that is run in an empty folder and returns nothing; the error it raises, or the
warnings that it returns, are the message.
"""

from __future__ import annotations

import gzip
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from binding_models import (
    BINARY,
    COSTS,
    LASSO,
    MULTICLASS,
    NOVELTY,
    PAIRS,
    REGRESSION,
    WEIGHTED,
    X,
    datum,
    model,
    parameter,
)

from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.clauses import unpredictable
from kdsl.binding.composed import Normalized, Sum
from kdsl.binding.gram import DenseGram
from kdsl.binding.kernel_builder import build_kernel
from kdsl.binding.kernel_values import check_values
from kdsl.binding.kernels import Linear, Polynomial, Sigmoid
from kdsl.binding.parameters import bind_parameters
from kdsl.binding.points import Points
from kdsl.binding.precomputed import Precomputed, test_points, training_points
from kdsl.binding.psd import audit_psd, repair
from kdsl.binding.python_kernel import PythonKernel
from kdsl.binding.reading import read_table
from kdsl.binding.records import record_kernel, restore_kernel
from kdsl.binding.svmlight import read_svmlight
from kdsl.language.model import Interval, Prediction
from kdsl.language.syntax import NOWHERE, KernelCall, KernelOn, KernelProduct, Name, Number

test_points.__test__ = False

C_AND_NU = model(
    [X],
    parameters=(
        parameter("C", Interval(Fraction(0), None, True), 1),
        parameter("nu", Interval(Fraction(0), Fraction(1), True), Fraction(1, 2)),
        parameter("eps", Interval(Fraction(0), None)),
    ),
)
EYE = np.eye(3)
POINT = BINARY._replace(data=(*BINARY.data, datum("z", "input", sets=())))
SHIFTED = POINT._replace(predictions=(Prediction("value", ("t",), Name("z"), NOWHERE),))


def write(text, name="train.csv"):
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def table(text, spec=BINARY, name="train.csv", **options):
    return bind(spec, {"": write(text, name)}, **options).warnings


def data(spec, values, **options):
    return bind(spec, tables_from_data(spec, values), **options).warnings


def call(name, **arguments):
    return KernelCall(Name(name), tuple((Name(word), value) for word, value in arguments.items()))


def kernel(expression, points=EYE, parameters=None, **others):
    build_kernel(expression, parameters or {}, points, ("age", "income", "job"), **others)


# ------------------------------------------------------------------- files


def k501():
    write("a,y\n1,2\n")
    read_table("trian.csv")


def k501_folder():
    read_table("data/train.csv")


def k501_directory():
    Path("tables").mkdir()
    read_table("tables")


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


def k516():
    read_svmlight("+1 1:0.5 123456789012:1\n", "train.svm")


# --------------------------------------------------------- names and shapes


def k520():
    table("age,income,y\n30,1,0\n40,2,1\n", target="incone")


def k520_feature():
    table("age,income,y\n30,1,0\n40,2,1\n", features=["age", "incme"])


def k521():
    table("age,income,kind\n30,1,a\n40,2,b\n")


def k521_weight():
    data(PAIRS, {"x": EYE, "y": [0, 1, 1], "group": ["u", "v", "u"]})


def k521_classes():
    spec = MULTICLASS._replace(data=(X,))
    data(spec, {"x": EYE})


def k521_point():
    data(POINT, {"x": EYE, "y": [0, 1, 1]})


def k521_number():
    data(BINARY._replace(data=(X, datum("s", sets=()))), {"x": EYE})


def k522():
    data(BINARY, {"x": EYE, "y": [1, -1]})


def k522_labels():
    costs = datum("delta", sets=(MULTICLASS.indices[1].sets[0],) * 2)
    spec = MULTICLASS._replace(data=(*MULTICLASS.data, costs))
    data(spec, {"x": EYE, "y": [1, 2, 3], "delta": np.eye(2)})


def k522_product():
    spec = PAIRS._replace(data=(X, PAIRS.data[3], datum("z", "input", sets=(X.sets[0], PAIRS.data[3].sets[0]))))
    spec = spec._replace(indices=spec.indices[:2])
    data(spec, {"x": EYE, "lo": np.eye(2, 3), "z": np.ones((5, 3))})


def k522_point():
    data(POINT, {"x": EYE, "y": [0, 1, 1], "z": np.eye(2, 3)})


def k522_names():
    write("a,b,d\n0,1,1\n1,0,1\n1,1,0\n", "costs.csv")
    data(COSTS, {"x": EYE, "y": ["a", "b", "c"], "delta": "costs.csv"})


def k523():
    write("age,y\n1,0\n2,1\n")
    bind(PAIRS, {"": "train.csv", "jj": "train.csv"})


def k523_twice():
    write("age,y\n1,0\n2,1\n")
    bind(PAIRS, {"": "train.csv", "i": "train.csv"})


def k524():
    table("age,w,y\n30,1,0\n40,2,1\n", WEIGHTED, bindings={"weight": "w"})


def k524_target():
    table("age,w\n30,1\n40,2\n", NOVELTY, target="w")


def k524_array():
    data(BINARY, {"x": EYE, "label": [1, -1, 1]})


def k525():
    table("y\n0\n1\n")


def k525_array():
    data(BINARY, {"x": np.empty((3, 0)), "y": [0, 1, 1]})


def k526():
    table("age,job,y\n30,nurse,0\n40,cook,1\n")


def k526_typo():
    table("age,income,y\n30,1.5,0\n40,l.5,1\n")


def k527():
    write("age,income,y,group\n1,2,0,u\n3,4,1,v\n")
    write("lo.age,hi.age\n1,2\n", "pairs.csv")
    bind(PAIRS, {"": "train.csv", "j": "pairs.csv"})


def k527_shared():
    write("age,y,group\n1,0,u\n3,1,v\n")
    write("age,income\n1,2\n", "pairs.csv")
    bind(PAIRS, {"": "train.csv", "j": "pairs.csv"})


def k527_new_array():
    bound = bind(BINARY, tables_from_data(BINARY, {"x": EYE, "y": [0, 1, 1]}))
    bound.feature_maps["x"].apply_array(np.eye(2), "the new array")


def k528():
    table("age,y\n30,1.5\n40,high\n", REGRESSION)


def k529():
    table("age,income,y\n30,1,0\n40,2,1\n", features=["age", "y"], target="y")


def k529_feature():
    table("age,income,y\n30,1,0\n40,2,1\n", features=["age", "income", "age"])


def k529_target():
    table("age,income,y\n30,1,0\n40,2,1\n", target="y", bindings={"y": "income"})


# --------------------------------------------------------------- the values


def k530():
    table("age,income,y\n30,1,0\n40,NA,1\n50,,0\n")


def k530_label():
    table("age,y\n30,yes\n40,\n50,no\n")


def k530_sparse():
    values = sp.csr_array(np.array([[0, 1.0], [np.nan, 0], [0, 2.0]]))
    data(BINARY, {"x": values, "y": [0, 1, 1]})


def k530_expanded():
    table("job,y\ncook,0\n,1\nsmith,1\n?,0\n", onehot=True)


def k530_new():
    bound = bind(BINARY, {"": write("age,y\n30,0\n40,1\n")})
    bound.feature_maps["x"].apply(read_table(write("age\nNA\n", "new.csv")))


def k531():
    table("age,y\n30,1.5\ninf,2\n", REGRESSION)


def k531_large():
    table("age,y\n30,1.5\n4e200,2\n", REGRESSION)


def k531_response():
    data(REGRESSION, {"x": EYE, "y": [1, -np.inf, 2]})


def k532():
    table("age,weight,y\n30,1,0\n40,-0.5,1\n", WEIGHTED, bindings={"s": "weight"})


def k532_finite():
    data(model([X, datum("y", "finite", values=(1, 2, 3))]), {"x": EYE, "y": [1, 4, 2]})


def k533():
    table("age,y\n30,a\n40,b\n50,c\n60,a\n")


def k534():
    table("age,y\n30,a\n40,a\n")


def k534_classes():
    data(MULTICLASS, {"x": EYE, "y": ["a", "a", "a"]})


def k535():
    table("age,y\n30,yes\n40,no\n", positive="yess")


def k535_without_labels():
    table("age,y\n30,1\n40,2\n", REGRESSION, positive="yes")


def k536():
    table("age,income,y\n30,1,0\n", REGRESSION)


def k536_dropped():
    table("age,income,y\n,1,0\n,2,1\n", REGRESSION, drop_missing=True)


def k537():
    table("age,weight,y\n30,0,0\n40,0,1\n", WEIGHTED, bindings={"s": "weight"})


def k538():
    write("job,y\nnurse,0\ncook,1\n")
    bound = bind(BINARY, {"": "train.csv"}, onehot=True)
    bound.feature_maps["x"].apply(read_table(write("job\ncook\npilot\n", "new.csv")))


# ----------------------------------------------------------------- warnings


def k540():
    return table("age,income,y\n30,10000,0\n40,90000,1\n55,20000,0\n")


def k540_coefficients():
    return data(LASSO, {"x": np.array([[1.0, 1000], [2, 3000], [4, 2000]]), "y": [0, 1, 1]})


def k541():
    return table("age,unit,y\n30,1,0\n40,1,1\n")


def k541_coefficient():
    return data(LASSO, {"x": np.array([[1.0, 1], [2, 1], [4, 1]]), "y": [0, 1, 1]})


def k542():
    return data(BINARY, {"x": EYE, "y": [1, 1, 1]})


def k543():
    return table("age,y\n30,0\n40,1\n,1\n", drop_missing=True)


def k544():
    return data(WEIGHTED, {"x": EYE, "y": [1, -1, 1], "s": [1, 0, 2]})


def k545():
    return table("age,y\n30,0\n40,1\n", WEIGHTED, features=["age"], bindings={"s": "age"})


def k545_array():
    return data(WEIGHTED, {"x": EYE, "y": [1, 1, 2]}, bindings={"s": "y"})


def k546():
    return table(",age,y\n1,30,0\n2,40,1\n")


def k547():
    table("age,y\n30,0\n40,1\n", scale="zscore")


def k548():
    return data(SHIFTED, {"x": EYE, "y": [0, 1, 1], "z": [0, 0, 1]})


def k548_predicting():
    raise unpredictable(SHIFTED, SHIFTED.predictions[0])


def k549():
    spec = BINARY._replace(kernels=(BINARY.kernels[0]._replace(expression=call("precomputed")),))
    return data(spec, {"x": EYE, "y": [0, 1, 1]}, scale="standard")


# --------------------------------------------------- parameters and kernels


def k550():
    bind_parameters(C_AND_NU, {"nu": 1.5, "eps": 0.1})


def k551():
    bind_parameters(C_AND_NU, {"D": 1.5, "eps": 0.1})


def k552():
    bind_parameters(C_AND_NU, {})


def k560():
    kernel(call("gausian"))


def k560_round():
    kernel(call("q"), declared={"q": KernelProduct((call("r"), call("linear"))), "r": call("q")})


def k561():
    kernel(call("rbf", gama=Number("1")))


def k561_two():
    kernel(call("rbf", gamma=Number("1"), sigma=Number("2")))


def k561_name():
    kernel(call("rbf", gamma=Name("scal")))


def k561_normalized():
    kernel(call("normalized"))


def k562():
    kernel(call("rbf", gamma=Name("g")), parameters={"g": -2.0})


def k562_degree():
    kernel(call("poly", degree=Number("2.5")))


def k562_factor():
    kernel(KernelProduct((call("t"), call("linear"))), parameters={"t": -1.0})


def k562_width():
    kernel(call("rbf", sigma=Number("1e-200")))


def k563():
    kernel(call("mine"), functions={"mine": lambda a, b: a @ b.T}, allow_python=False)


def k564():
    PythonKernel(lambda a, b: np.where((a @ b.T) == 0, np.nan, 1.0), "mine").block(EYE, EYE)


def k564_shape():
    PythonKernel(lambda a, b: np.ones(3), "mine").block(EYE, EYE)


def k565():
    kernel(KernelOn(call("linear"), (Name("incom"),)))


def k566():
    training_points(np.array([[1.0, 0.5], [0.4, 1.0]]), "`gram.csv`")


def k566_square():
    training_points(np.ones((2, 3)), "`gram.csv`")


def k566_new():
    test_points(np.ones((4, 2)), 3, None, "`cross.csv`")


def k566_diagonal():
    Precomputed().diagonal(test_points(np.ones((4, 3)), 3, None, "`cross.csv`"))


def k566_pair():
    new = test_points(np.ones((4, 3)), 3, None, "`cross.csv`")
    Precomputed().block(new, new)


def k567():
    Normalized(Sigmoid(1.0, -2.0)).block(EYE, EYE)


def k568():
    kernel(call("rbf", gamma=Name("scale")), np.ones((4, 3)))


def k568_median():
    kernel(call("rbf", gamma=Name("median")), np.ones((4, 3)))


def k569():
    record = record_kernel(Sum((Linear(), PythonKernel(lambda a, b: a @ b.T, "mine"))))
    restore_kernel(record).block(EYE, EYE)


# ---------------------------------------------------------------- the audit

INDEFINITE = DenseGram(np.array([[1.0, 2.0], [2.0, 1.0]]))


def k570():
    repair(INDEFINITE, audit_psd(INDEFINITE))


def k571():
    matrix = DenseGram(np.kron(np.eye(8), INDEFINITE.matrix))
    repair(matrix, audit_psd(matrix, limit=4), "clip")


def k572():
    return repair(INDEFINITE, audit_psd(INDEFINITE), "accept").warnings


def k573():
    repair(INDEFINITE, audit_psd(INDEFINITE), "flip")


def k574():
    return repair(INDEFINITE, audit_psd(INDEFINITE), "clip").warnings


def k574_shift():
    return repair(INDEFINITE, audit_psd(INDEFINITE), "shift").warnings


def k575():
    points = np.random.default_rng(0).normal(size=(12, 3))
    matrix = DenseGram(Linear().block(points, points) + 0.5 * np.eye(12))
    return repair(matrix, audit_psd(matrix, limit=4)).warnings


def k576():
    check_values(Polynomial(degree=400), Points(np.array([[1.0, 2], [3, 4]]), ("a", "b"), "train.csv"), "k")


def k577():
    spec = BINARY._replace(kernels=(BINARY.kernels[0]._replace(expression=call("linear")),))
    return table("time,y\n1700000000,0\n1700000600,1\n1700000300,0\n", spec)


CASES = {name: case for name, case in dict(globals()).items() if name[0] == "k" and name[1:4].isdigit()}
