"""One failing table for every message about values, and for every warning: K530 to K549."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from binding_models import BINARY, LASSO, MULTICLASS, REGRESSION, WEIGHTED, X, datum, model
from message_tools import EYE, call, cases, data, table, write

from kdsl.binding.binder import bind
from kdsl.binding.reading import read_table
from kdsl.pipeline import parse_spec
from kdsl.solving.api import prepare

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


def k539():
    data(MULTICLASS, {"x": EYE, "y": [2**60, 2**60 + 1, 3]})


def k539_category():
    table("job,age,y\n1,30,0\n9007199254740993,40,1\n", onehot=["job"])


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
    text = """index  i in 1..l
data   x[i] : input, z : input, y[i] : {-1, 1}
kernel k = linear
var    w : H(k)
minimize 1/2 ||w||^2 + sum[i] hinge(y[i] * <w, phi(x[i])>)
predict value(t) = <w, phi(t) - phi(z)>
"""
    prepare(parse_spec(text), {"x": EYE, "y": [0, 1, 1], "z": [0, 0, 1]})


def k549():
    spec = BINARY._replace(kernels=(BINARY.kernels[0]._replace(expression=call("precomputed")),))
    return data(spec, {"x": EYE, "y": [0, 1, 1]}, scale="standard")


CASES = cases(globals())
