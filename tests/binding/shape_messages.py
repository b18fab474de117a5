"""One failing table for every message about names and shapes: K520 to K529."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from binding_models import BINARY, COSTS, MULTICLASS, NOVELTY, PAIRS, REGRESSION, WEIGHTED, X, datum
from message_tools import EYE, POINT, cases, data, table, write

from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.reading import read_table
from kdsl.pipeline import parse_spec
from kdsl.solving.api import prepare


def k520():
    table("age,income,y\n30,1,0\n40,2,1\n", target="incone")


def k520_feature():
    table("age,income,y\n30,1,0\n40,2,1\n", features=["age", "incme"])


def k520_without_header():
    table("30,1,0\n40,2,1\n", target="income")


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


def k521_without_header():
    table("30,1,0\n40,2,1\n")


def k521_costs():
    costs = datum("delta", sets=(MULTICLASS.indices[1].sets[0],) * 2)
    table("age,y\n30,a\n40,b\n", MULTICLASS._replace(data=(*MULTICLASS.data, costs)))


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


def k525_empty():
    table("age,y\n30,0\n40,1\n", features=[])


def k526():
    table("age,job,y\n30,nurse,0\n40,cook,1\n")


def k526_typo():
    table("age,income,y\n30,1.5,0\n40,l.5,1\n")


def k526_new_points():
    bound = bind(BINARY, {"": write("age,y\n30,0\n40,1\n")})
    bound.feature_maps["x"].apply(read_table(write("age\n30\nabc\n", "new.csv")))


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


def k527_numbers():
    fitted = bind(BINARY, {"": write("age,income,y\n1,2,0\n3,4,1\n")}).feature_maps["x"]
    fitted.apply(read_table(write("1 1:2 2:3 3:4\n", "new.svm")))


def k527_unseen():
    fitted = bind(BINARY, {"": write("1 1:2 2:1\n-1 1:1 2:2\n", "train.svm")}).feature_maps["x"]
    replace(fitted, precomputed=True).apply(read_table(write("1 1:3 2:4 3:2\n", "new.svm")))


def k527_clause():
    text = """index  i in 1..l
data   x[i] : input, z[i] : input, y[i] : {-1, 1}
kernel k = rbf(gamma = 0.5), q = linear
var    f : H(k), g : H(q)
minimize 1/2 ||f||^2 + 1/2 ||g||^2 + sum[i] hinge(y[i] * (<f, phi(x[i])> + <g, phi(z[i])>))
predict label(t) = sign(<f, phi(t)> + <g, phi(t)>)
"""
    prepare(parse_spec(text), {"x": EYE[:, :2], "z": EYE, "y": [0, 1, 1]})


def k528():
    table("age,y\n30,1.5\n40,high\n", REGRESSION)


def k529():
    table("age,income,y\n30,1,0\n40,2,1\n", features=["age", "y"], target="y")


def k529_feature():
    table("age,income,y\n30,1,0\n40,2,1\n", features=["age", "income", "age"])


def k529_target():
    table("age,income,y\n30,1,0\n40,2,1\n", target="y", bindings={"y": "income"})


CASES = cases(globals())
