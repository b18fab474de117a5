"""The proposed name is the nearest one, and letters that look alike are recognised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdsl.language.suggestions import edit_distance, look_alike, nearest

WORDS = st.text(alphabet="abc", max_size=6)


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ("", "", 0),
        ("gamma", "gama", 1),
        ("gamma", "gmama", 1),
        ("rho", "roh", 1),
        ("kernel", "colonel", 4),
        ("", "ab", 2),
    ],
)
def test_edit_distance(left: str, right: str, distance: int) -> None:
    assert edit_distance(left, right) == distance


@given(WORDS, WORDS)
def test_edit_distance_is_symmetric_and_bounded(left: str, right: str) -> None:
    distance = edit_distance(left, right)
    assert distance == edit_distance(right, left)
    assert abs(len(left) - len(right)) <= distance <= max(len(left), len(right))
    assert (distance == 0) == (left == right)


@given(WORDS, st.integers(0, 5), st.sampled_from("abc"))
def test_one_insertion_is_at_distance_one(word: str, at: int, letter: str) -> None:
    assert edit_distance(word, word[:at] + letter + word[at:]) == 1


def test_nearest() -> None:
    assert nearest("gama", ["gamma", "lambda"]) == "gamma"
    assert nearest("c", ["C", "b"]) == "C"
    assert nearest("offset", ["b", "xi", "w"]) == ""
    assert nearest("x", ["y", "b"]) == ""
    assert nearest("ab", []) == ""


def test_look_alikes_in_both_directions() -> None:
    assert look_alike("v", ["nu", "C"]) == "nu"
    assert look_alike("nu", ["v", "C"]) == "v"
    assert look_alike("rho", ["p"]) == "p"
    assert look_alike("v", ["C"]) == ""
