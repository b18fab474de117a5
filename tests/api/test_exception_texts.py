"""What is wrong with the data or the parameters of a solve, as the text of its Python exception."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from python_specs import PROBLEMS

import kdsl
from kdsl.language.diagnostics import Diagnostic
from kdsl.language.python_words import worded

SCORES = np.arange(4.0)[:, None]
TABLE = {"score": [0.0, 1.0, 2.0, 3.0], "y": ["low", "low", "upper", "upper"]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"positive": "uper"}, "K535: no example has the label `uper`. did you mean `upper`?"),
        ({"target": "Y2"}, "did you mean `y`?"),
        ({"params": {"c": 2.0}}, "K551: the model `svm_1norm` has no parameter `c`. did you mean `C`?"),
        ({"params": {"C": -1.0}}, "the spec declares C : in (0, inf). choose another value"),
        ({"data": {"x": SCORES}}, "K521: nothing is bound to `y`. given are `x`. give a table or an array for it"),
        ({"data": pd.DataFrame({**TABLE, "y": list("abcd")})}, "bind another column with `target=`"),
        ({"data": pd.DataFrame(TABLE).rename(columns={"y": "kind"})}, "say which one it is: `target=...`"),
        ({"kernels": {"k": "sigmoid(gamma = 1, coef0 = -1)"}}, "`psd='clip'`, `psd='shift'` or `psd='accept'`"),
    ],
)
def test_the_text_has_the_reason_and_the_remedy(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(kdsl.KdslError) as caught:
        kdsl.solve("svm_1norm", **{"data": pd.DataFrame(TABLE), **arguments})
    assert words in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("C", "solve(...) has no argument `C`: it is a parameter of `svm_1norm`, so write params={'C': ...}"),
        ("k", "it is a kernel of `svm_1norm`, so write kernels={'k': ...}"),
        ("y", "it is a datum of `svm_1norm`, so write data={'y': ...}"),
        ("tolerance", "did you mean `tol`?"),
        ("kernel", "did you mean `kernels`?"),
        ("feature", "did you mean `features`?"),
    ],
)
def test_a_keyword_that_a_solve_does_not_take(word: str, words: str) -> None:
    problem = PROBLEMS["svm_1norm"]()
    for solve in (lambda data, **given: kdsl.solve("svm_1norm", data, **given), problem.solve):
        with pytest.raises(TypeError) as caught:
            solve(pd.DataFrame(TABLE), **{word: 2})
        assert words in str(caught.value)


def test_a_problem_without_a_solution_says_why_in_another_process_too() -> None:
    with pytest.raises(kdsl.KdslError) as caught:
        kdsl.solve("svm_hard", {"x": SCORES, "y": [1, -1, 1, -1]}, kernels={"k": "linear"})
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.witness == caught.value.witness  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("option", "keyword"),
    [
        ("`-D C=...`", "`params={'C': ...}`"),
        ("`--bind s=weight`", "`bindings={'s': 'weight'}`"),
        ("`--data j:pairs.csv`", "`data={'j': 'pairs.csv'}`"),
        ("`--tol 1e-05`", "`tol=1e-05`"),
        ("`--drop-missing`", "`drop_missing=True`"),
        ("`--features`", "`features=`"),
        ("`kdsl derive --verify`", "`kdsl derive --verify`"),
        ("the domain that ends at `-B`", "the domain that ends at `-B`"),
    ],
)
def test_options_become_keywords(option: str, keyword: str) -> None:
    assert worded(Diagnostic("K500", "it fails", help=f"say {option}")) == f"K500: it fails. say {keyword}"
