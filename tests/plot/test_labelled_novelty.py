"""A sphere with labelled outliers: its conditions are known through the shifted radius, the outliers are marked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kdsl
from kdsl.models.solution import Solution
from kdsl.plot import margins, novelty
from kdsl.plot.fits import fit_of
from kdsl.plot.laws import laws_of

SPEC = Path(__file__).resolve().parents[1] / "algebra" / "models" / "one_class_labelled.kspec"


def solved() -> Solution:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(30, 2)), rng.normal(3.0, 0.5, size=(4, 2))])
    return kdsl.solve(str(SPEC), {"x": points, "y": np.repeat([1.0, -1.0], [30, 4])}, {"C": 0.05}, tol=1e-8)


def test_the_law_of_every_example_is_known() -> None:
    solution = solved()
    found = laws_of(fit_of(solution))
    assert (found.kind, found.target) == ("novelty", "y")
    inside, outside = found.u < -1e-4, found.u > 1e-4
    assert not found.active[inside].any()
    assert found.at_bound[outside].all() and outside.any()


def test_outliers_have_a_mark_of_their_own() -> None:
    figure = novelty(solved())
    marked = [artist for artist in figure.axes[0].collections if str(artist.get_gid()).endswith("outliers")]
    assert sum(len(artist.get_offsets()) for artist in marked) == 4
    (legend,) = figure.legends
    assert any(text.get_text() == "y = \N{MINUS SIGN}1" for text in legend.get_texts())


def test_multipliers_are_drawn_against_the_labelled_novelty() -> None:
    figure = margins(solved())
    assert figure.axes[0].get_xlabel() == "$y_i$ times the novelty of $x_i$"
