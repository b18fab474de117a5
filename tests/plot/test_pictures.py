"""Pictures show the numbers of the solution: as many marks as there are support vectors, the margins where they are."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_problems import CLASSIFIERS, NOVELTIES, REGRESSIONS, SIZE, censored, curve, data_for, privileged, solved
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

from kdsl import plot
from kdsl.language.diagnostics import KdslError
from kdsl.models.model_file import load_model
from kdsl.models.solution import Solution
from kdsl.pipeline import parse_spec
from kdsl.plot.fits import fit_of
from kdsl.plot.laws import laws_of
from kdsl.plot.multipliers import plane_of
from kdsl.solving.api import prepare, solve
from kdsl.solving.backends.interface import Options

Artists = dict[str, Any]


def named(axes: Axes) -> Artists:
    """The artists of the axes by their gid."""
    return {str(artist.get_gid()): artist for artist in axes.get_children() if artist.get_gid() is not None}


def marks(figure: Figure) -> dict[str, int]:
    """How many marks each scatter of the first axes has."""
    return {
        gid: len(artist.get_offsets())
        for gid, artist in named(figure.axes[0]).items()
        if isinstance(artist, PathCollection)
    }


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


# ------------------------------------------------------------- what is shown


@pytest.mark.parametrize("name", (*CLASSIFIERS, *REGRESSIONS, *NOVELTIES, "loss_logistic"))
def test_laws_agree_with_the_solution(name: str) -> None:
    """Every support vector is found, at its bound or free, and an optimal point lies where KKT permits."""
    solution = solved(name)
    found = laws_of(fit_of(solution))
    counted = (int(found.active.sum()), int(found.at_bound.sum()), int((found.active & ~found.at_bound).sum()))
    assert counted == (solution.support.total, solution.support.bound, solution.support.free)
    assert plane_of(fit_of(solution), found).violation.max() < 2e-3


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_decision_marks_every_example_once(name: str) -> None:
    solution = solved(name)
    found = marks(plot.decision(solution))
    supporting = found["support vectors of class -1"] + found["support vectors of class 1"]
    assert supporting == solution.support.total
    assert supporting + found["others of class -1"] + found["others of class 1"] == SIZE


def test_decision_rings_free_support_vectors_and_crosses_margin_errors() -> None:
    solution = solved("svm_1norm")
    found = marks(plot.decision(solution))
    assert 0 < found["free"] == solution.support.free
    assert 0 < found["margin errors"] == int((solution.slacks["xi"] > 1e-3).sum())
    squared = marks(plot.decision(solved("loss_squared_hinge")))
    assert squared["free"] == 0 and squared["margin errors"] == solved("loss_squared_hinge").support.total


def test_decision_draws_the_margin_where_the_solution_has_it() -> None:
    solution = solved("svm_nu")
    assert f"$f = \\pm{solution.scalars['gamma']:.3g}$" in legend(plot.decision(solution))
    assert not any("pm" in text for text in legend(plot.decision(solved("loss_logistic"))))


def test_decision_is_shaded_where_the_prediction_is_positive() -> None:
    solution = solved("svm_1norm")
    axes = plot.decision(solution).axes[0]
    (shaded,) = [
        c for c in axes.collections if c.get_gid() is None and len(c.get_paths()) == 1 and c.get_alpha() is None
    ][:1]
    x0, x1 = axes.get_xlim()
    y0, y1 = axes.get_ylim()
    tried = np.random.default_rng(5).uniform((x0, y0), (x1, y1), size=(60, 2))
    tried = tried[np.abs(solution.decision(tried)) > 0.05]
    inside = [shaded.get_paths()[0].contains_point(p) for p in tried]
    assert inside == list(solution.predict(tried) > 0)


def test_frame_holds_all_points_and_axes_have_the_names_of_features() -> None:
    axes = plot.decision(solved("svm_1norm")).axes[0]
    raw = fit_of(solved("svm_1norm")).raw_points()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x1", "x2")
    assert axes.get_xlim()[0] < raw[:, 0].min() and raw[:, 0].max() < axes.get_xlim()[1]
    assert axes.get_ylim()[0] < raw[:, 1].min() and raw[:, 1].max() < axes.get_ylim()[1]


def test_a_pair_of_many_features_is_a_slice_at_the_medians() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(SIZE, 4)) * [1, 10, 100, 1] + [0, 5, 0, 0]
    y = np.where(x[:, 0] + x[:, 1] / 10 > 0.5, 1.0, -1.0)
    solution = solve("svm_1norm", {"x": x, "y": y}, scale="standard")
    figure = plot.decision(solution, ("x2", "x1"))
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x2", "x1")
    assert axes.get_title(loc="left") == "the other 2 features at their medians"
    offsets = np.concatenate([c.get_offsets() for g, c in named(axes).items() if "class" in g])
    assert {tuple(row) for row in np.round(offsets, 6)} == {tuple(row) for row in np.round(x[:, [1, 0]], 6)}


def test_labels_are_spelt_as_the_data_spell_them() -> None:
    data = data_for("svm_1norm")
    words = np.where(data["y"] > 0, "cash$", "card$")
    figure = plot.decision(solve("svm_1norm", {"x": data["x"], "y": words}))
    assert [text for text in legend(figure) if text.startswith("y")] == [r"y = card\$", r"y = cash\$"]


def test_decision_of_several_classes_shows_who_wins() -> None:
    random = np.random.default_rng(4)
    codes = np.arange(60) % 3
    x = random.normal(size=(60, 2)) + 2.5 * np.array([[0, 0], [2, 0], [1, 2]])[codes]
    words = np.array(["ash", "beech", "oak"])[codes]
    solution = solve("multiclass_delta", {"x": x, "y": words, "delta": 1.0 - np.eye(3)})
    figure = plot.decision(solution)
    found = marks(figure)
    carrying = np.abs(solution.multipliers["margin"]).max(axis=1) > 1e-8
    for code, word in enumerate(("ash", "beech", "oak")):
        assert found[f"support vectors of class {word}"] == int(carrying[codes == code].sum()) > 0
        assert found[f"others of class {word}"] == int((~carrying)[codes == code].sum()) > 0
    grounds = [c for c in figure.axes[0].collections if c.get_gid() is None and len(c.get_facecolor())]
    tried = random.uniform(x.min(axis=0), x.max(axis=0), size=(80, 2))
    best = np.sort(solution.decision(tried), axis=1)
    tried = tried[best[:, 2] - best[:, 1] > 0.05]
    for point, word in zip(tried, solution.predict(tried), strict=True):
        holds = [bool(ground.get_paths()[0].contains_point(point)) for ground in grounds]
        assert holds == [word == name for name in ("ash", "beech", "oak")]
    assert {"ash", "beech", "oak"} < set(legend(figure))


def test_legends_of_long_names_stay_on_the_sheet() -> None:
    data = data_for("svm_1norm")
    words = np.where(data["y"] > 0, "a rather long name of a class", "another name that is no shorter")
    figure = plot.decision(solve("svm_1norm", {"x": data["x"], "y": words}))
    figure.canvas.draw()
    assert figure.legends[0].get_window_extent().width <= figure.bbox.width


def test_a_group_has_its_own_surface_and_shows_its_own_examples() -> None:
    random = np.random.default_rng(6)
    x, group = random.normal(size=(80, 2)), np.array(["north", "south"])[np.arange(80) % 2]
    shift = np.where(group == "north", 1.0, -1.0)
    data = {"x": x, "y": np.where(x[:, 0] + 0.3 * x[:, 1] > shift, 1.0, -1.0), "group": group}
    solution = solve(
        "monotone_groups", {**data, "lo": x[:1], "hi": x[:1] + np.array([[1.0, 0.0]])}, kernels={"k": "linear"}
    )
    assert solution.status == "optimal"
    crossings = {}
    for label in ("north", "south"):
        figure = plot.decision(solution, at={"g": label})
        axes = figure.axes[0]
        assert axes.get_title(loc="left") == f"group = {label}"
        shown = np.concatenate([c.get_offsets() for gid, c in named(axes).items() if "of class" in gid])
        assert sorted(map(tuple, shown)) == sorted(map(tuple, x[group == label]))
        zero = [c for c in axes.collections if c.get_gid() is None][-1].get_paths()[0].vertices
        assert solution.decision(zero, {"g": [label] * len(zero)}) == pytest.approx(0.0, abs=1e-6)
        crossings[label] = zero[:, 0].mean()
    assert crossings["north"] > crossings["south"] + 0.5
    assert plot.margins(solution).axes[0].get_title(loc="left").startswith("no example breaks KKT")


def test_a_surface_needs_no_common_margin() -> None:
    """Slacks that depend on a second input: no margin for each example, but a decision and support vectors."""
    solution = privileged()
    found = marks(plot.decision(solution))
    carrying = np.maximum(solution.multipliers["margin"], solution.multipliers["slack"]) > 1e-8
    assert found["support vectors of class -1"] + found["support vectors of class 1"] == int(carrying.sum())
    assert found["free"] == found["margin errors"] == 0


def test_responses_known_between_two_numbers_are_joined() -> None:
    axes = plot.tube(censored()).axes[0]
    (joined,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    ends = np.array([segment[:, 1] for segment in joined.get_segments()])
    assert ends == pytest.approx(np.stack([censored().bound.arrays["low"], censored().bound.arrays["high"]], axis=1))
    assert axes.get_ylabel() == "low, high"


def test_a_score_without_responses_has_its_examples_on_the_curve() -> None:
    x = np.linspace(0, 6, SIZE)[:, None]
    solution = solve("rank_pairs", {"x": x, "y": np.round(2 * np.sin(x[:, 0]))})
    axes = plot.tube(solution).axes[0]
    shown = np.concatenate([np.asarray(c.get_offsets()) for c in axes.collections])
    assert len(shown) == SIZE
    assert solution.decision(shown[:, :1]) == pytest.approx(shown[:, 1])
    pairs = np.abs(solution.multipliers["margin"])
    carrying = np.maximum(pairs.max(axis=0), pairs.max(axis=1)) > 1e-8
    assert marks(plot.tube(solution))["free"] == int(carrying.sum())


def test_large_numbers_are_drawn_like_small_ones() -> None:
    data = data_for("svr_linear_eps")
    large = solve("svr_linear_eps", {"x": data["x"], "y": 1e8 * data["y"]}, {"eps": 1e7, "C": 1e7})
    axes = plot.margins(large).axes[0]
    shaded = [c for c in axes.patches if c.get_gid() == "costs"]
    assert next(c.get_x() + c.get_width() for c in shaded) == pytest.approx(-1e7)


def test_legends_name_nothing_that_is_not_there() -> None:
    x = data_for("svm_1norm")["x"]
    alone = plot.decision(solve("svm_1norm", {"x": x, "y": np.ones(SIZE)}))
    assert legend(alone) == ["y = 1", "not an SV"]
    point = plot.novelty(solve("sphere_nu", {"x": np.ones((6, 2))}))
    assert "novelty 0" not in legend(point)


TWO_SLACKS = """model two_slacks
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real, xi[i] : real >= 0, eta[i] : real
minimize 1/2 ||w||^2 + sum[i] xi[i] + sum[i] eta[i]^2
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i] - eta[i]
predict label(t) = sign(<w, phi(t)> + b)
"""
OUTLIERS = """model outliers
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
kernel k = rbf(gamma = 0.5)
var    w : H(k), rho : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 - rho + 1/10 * sum[i] xi[i]
subject to
  normal[i] where y[i] = 1:  <w, phi(x[i])> >= rho - xi[i]
  other[i] where y[i] = -1: <w, phi(x[i])> <= rho + xi[i]
predict novelty(t) = rho - <w, phi(t)>
"""


@pytest.mark.parametrize(("text", "picture"), [(TWO_SLACKS, plot.decision), (OUTLIERS, plot.novelty)])
def test_no_law_is_guessed(text: str, picture: Callable[[Solution], Figure]) -> None:
    """Where a margin has two slacks, or examples obey different conditions, the surface is drawn and no band is."""
    solution = solve(parse_spec(text), data_for("svm_1norm"))
    assert solution.status == "optimal"
    assert sum(marks(picture(solution)).values()) >= SIZE
    with pytest.raises(KdslError, match="K663"):
        plot.margins(solution)


def test_margins_need_no_coordinates() -> None:
    data = data_for("svm_1norm")
    gram = data["x"] @ data["x"].T
    own = solve("svm_1norm", {"x": gram, "y": data["y"]}, kernels={"k": "precomputed"})
    linear = solve("svm_1norm", data, kernels={"k": "linear"})
    heights = [plane_of(fit_of(s), laws_of(fit_of(s))) for s in (own, linear)]
    assert heights[0].u == pytest.approx(heights[1].u, abs=1e-4)
    assert heights[0].violation.max() < 2e-3


def test_margins_name_who_breaks_kkt() -> None:
    solution = solved("svm_1norm")
    assert marks(plot.margins(solution))["violators"] == 0
    alpha = np.array(solution.multipliers["margin"])
    u = laws_of(fit_of(solution)).u
    far, short = int(np.argmax(u)), int(np.argmin(u))
    alpha[far], alpha[short] = 0.5, 0.25
    broken = replace(solution, multipliers={**solution.multipliers, "margin": alpha})
    figure = plot.margins(broken)
    assert marks(figure)["violators"] == 2
    names = {text.get_text() for text in figure.axes[0].texts if text.get_gid() == "violator"}
    assert names == {str(far + 1), str(short + 1)}
    assert figure.axes[0].get_title(loc="left").startswith("2 examples break KKT by more than 1 %")


def test_margins_shade_where_multipliers_are_at_their_bound() -> None:
    axes = plot.margins(solved("svm_1norm")).axes[0]
    shaded = named(axes)["costs"].get_extents().transformed(axes.transData.inverted())
    assert shaded.x1 == pytest.approx(1.0)
    assert axes.texts[0].get_text() == r"$\alpha_i = 1$"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("svm_1norm", (r"functional margin $y_i f(x_i)$", r"$\alpha_i$")),
        ("svr_linear_eps", (r"residual $y_i - f(x_i)$", r"$\hat{\alpha}_i-\alpha_i$")),
        ("loss_eps_insensitive", (r"residual $y_i - f(x_i)$", r"$\beta_i$")),
        ("sphere_nu", (r"novelty of $x_i$", r"$\alpha_i$")),
    ],
)
def test_margins_say_what_their_axes_measure(name: str, words: tuple[str, str]) -> None:
    axes = plot.margins(solved(name)).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == words


def test_weighted_examples_are_drawn_in_units_of_their_bounds() -> None:
    data = data_for("svm_weighted")
    weights = 1.0 + np.arange(SIZE) % 4
    solution = solve("svm_weighted", {**data, "s": weights}, {"C": 2.0})
    figure = plot.margins(solution)
    assert figure.axes[0].get_ylabel() == r"$\alpha_i / C_i$"
    heights = np.concatenate([np.asarray(c.get_offsets())[:, 1] for c in figure.axes[0].collections if c.get_gid()])
    assert np.sort(heights) == pytest.approx(np.sort(solution.multipliers["margin"] / (2.0 * weights)))


def test_tube_has_the_width_of_the_problem() -> None:
    figure = plot.tube(curve())
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time", "level")
    assert marks(figure)["free"] + marks(figure)["bound"] == curve().support.total
    middle = named(axes)["curve"]
    edges = [line for line in axes.lines if line is not middle]
    assert len(edges) == 2
    for line, width in zip(edges, (-0.2, 0.2), strict=True):
        assert np.asarray(line.get_ydata()) - np.asarray(middle.get_ydata()) == pytest.approx(width)
    at = np.asarray(middle.get_xdata())
    assert np.asarray(middle.get_ydata()) == pytest.approx(curve().decision(at[:, None]))


def test_a_loss_without_a_tube_has_none() -> None:
    axes = plot.tube(solved("ridge"), "x1").axes[0]
    assert len(axes.lines) == 1 and "tube" not in named(axes)


@pytest.mark.parametrize("name", NOVELTIES)
def test_novelty_marks_support_vectors(name: str) -> None:
    found = marks(plot.novelty(solved(name)))
    support = solved(name).support
    assert (found["free"], found["bound"]) == (support.free, support.bound)


def test_novelty_encloses_what_it_calls_normal() -> None:
    solution = solved("sphere_nu")
    axes = plot.novelty(solution).axes[0]
    shaded = axes.collections[0].get_paths()[0]
    raw = fit_of(solution).raw_points()
    values = solution.decision(raw)
    clear = np.abs(values) > 0.01
    assert clear.sum() > 10
    assert [bool(shaded.contains_point(p)) for p in raw[clear]] == list(values[clear] < 0)


def test_gap_falls_from_report_to_report() -> None:
    prepared = prepare("svm_1norm", data_for("svm_1norm"))
    seen: list[int] = []
    record = plot.Record(lambda iterations, gap: seen.append(iterations))
    solution = prepared.solve(Options(tol=1e-10), "reference", record)
    assert [m.iterations for m in record.moments] == seen
    axes = plot.gap(record, solution).axes[0]
    line = named(axes)["reported"]
    assert axes.get_yscale() == "log"
    assert list(line.get_ydata()) == [m.gap for m in record.moments if 0 < m.gap < math.inf]
    assert list(line.get_xdata()) == sorted(line.get_xdata())


def test_iterations_count_on_over_restarts() -> None:
    moments = [plot.Moment(0.1 * k, n, 1.0 / (k + 1)) for k, n in enumerate([10, 900, 50, 400], 1)]
    (above,) = plot.gap(moments).axes[0].child_axes
    assert [text.get_text() for text in above.get_xticklabels()] == ["10", "900", "950", "1.3k"]


# ------------------------------------------------------------------ the losses


def test_conjugate_is_the_greatest_distance_from_lines() -> None:
    """l*(u) = max over t of u t - l(t), on the curves that are drawn."""
    for name in ("loss_hinge", "loss_eps_insensitive", "loss_pinball", "loss_asymmetric", "loss_huber"):
        left, right = plot.loss(name).axes
        t, value = (np.asarray(d) for d in named(left)["function"].get_data())
        u, conjugate = (np.asarray(d) for d in named(right)["function"].get_data())
        t = np.linspace(20 * t[0], 20 * t[-1], 40_001) if name == "loss_hinge" else t
        value = np.maximum(0, 1 - t) if name == "loss_hinge" else value
        largest = np.max(u[:, None] * t[None, :] - value[None, :], axis=1)
        assert largest == pytest.approx(conjugate, abs=2e-3), name


def test_walls_stand_at_the_bounds_of_the_multiplier() -> None:
    right = plot.loss("loss_pinball", {"tau": 0.3}).axes[1]
    walls = sorted(line.get_xdata()[0] for line in right.lines if line.get_gid() == "wall")
    assert walls == pytest.approx([-0.7, 0.3])
    assert plot.loss("loss_pinball", {"tau": 0.3}).axes[0].get_title(loc="left") == "pinball,\ntau = 0.3"


def test_a_loss_that_divides_by_a_difference_is_drawn() -> None:
    text = """index i in 1..l
data x[i] : input, y[i] : real
param tau : in (0, 1) = 0.75
kernel k = linear
var w : H(k)
loss steep(r; tau) = square(pos(r))/(1 - tau) + square(pos(-r))
minimize 1/2 ||w||^2 + sum[i] steep(y[i] - <w, phi(x[i])>; tau)
predict value(t) = <w, phi(t)>
"""
    t, value = (np.asarray(d) for d in named(plot.loss(parse_spec(text)).axes[0])["function"].get_data())
    assert value == pytest.approx(np.where(t > 0, 4.0, 1.0) * t**2)


def test_logistic_has_the_entropy_for_its_conjugate() -> None:
    right = plot.loss("loss_logistic").axes[1]
    u, conjugate = (np.asarray(d) for d in named(right)["function"].get_data())
    middle = np.argmin(np.abs(u + 0.5))
    assert conjugate[[0, middle, -1]] == pytest.approx([0.0, -np.log(2), 0.0])


# ------------------------------------------------------------- sheets and files

PICTURES: dict[str, Callable[[int], Figure]] = {
    "decision": lambda columns: plot.decision(solved("svm_1norm"), columns=columns),
    "margins": lambda columns: plot.margins(solved("svm_1norm"), columns=columns),
    "tube": lambda columns: plot.tube(curve(), columns=columns),
    "novelty": lambda columns: plot.novelty(solved("sphere_nu"), columns=columns),
    "gap": lambda columns: plot.gap([plot.Moment(k, k, 1 / k) for k in (1, 2, 3)], columns=columns),
    "loss": lambda columns: plot.loss("loss_huber", columns=columns),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_sheets_have_the_width_of_columns_and_the_type_of_print(kind: str) -> None:
    assert PICTURES[kind](1).get_size_inches()[0] == 3.3
    figure = PICTURES[kind](2)
    assert figure.get_size_inches()[0] == 6.9
    for axes in figure.axes:
        assert axes.xaxis.label.get_fontsize() == axes.yaxis.label.get_fontsize() == 8.0
        assert axes.xaxis.label.get_fontname() == "STIXGeneral"


@pytest.mark.parametrize("kind", PICTURES)
def test_nothing_is_cut_off(kind: str) -> None:
    """Legends, names and remarks end inside the sheet."""
    for columns in (1, 2):
        figure = PICTURES[kind](columns)
        figure.canvas.draw()
        whole, drawn = figure.bbox, figure.get_tightbbox().transformed(figure.dpi_scale_trans)
        assert drawn.x0 >= whole.x0 - 1 and drawn.x1 <= whole.x1 + 1
        assert drawn.y0 >= whole.y0 - 1 and drawn.y1 <= whole.y1 + 1


@pytest.mark.parametrize("kind", PICTURES)
def test_the_same_picture_is_the_same_file(kind: str, tmp_path: Path) -> None:
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
        plot.save(PICTURES[kind](1), first)
        plot.save(PICTURES[kind](1), second)
        assert first.read_bytes() == second.read_bytes()
        assert first.read_bytes().startswith(magic)
        assert b"<dc:date>" not in first.read_bytes() and b"CreationDate" not in first.read_bytes()


def test_no_state_of_pyplot_is_touched() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot.decision(solved("svm_1norm"))
    assert dict(matplotlib.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_a_saved_model_gives_the_same_picture(tmp_path: Path) -> None:
    solution = solved("svm_1norm")
    solution.save(tmp_path / "model.kdsl")
    fit = plot.with_data(load_model(tmp_path / "model.kdsl"), data_for("svm_1norm"))
    for draw in (plot.decision, plot.margins):
        drawn: list[bytes] = []
        for solved_problem in (solution, fit):
            plot.save(draw(solved_problem), tmp_path / "picture.svg")
            drawn.append((tmp_path / "picture.svg").read_bytes())
        assert drawn[0] == drawn[1]


def test_importing_the_package_loads_no_matplotlib() -> None:
    import subprocess

    code = "import kdsl.plot, sys; kdsl.plot.decision, kdsl.plot.loss; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"


def test_real_mixture_looks_as_it_is_known(shared: Path) -> None:
    """The 200 points of the mixture: 116 support vectors at C = 1, 87 of them at the bound."""
    table = {"": str(shared / "data" / "esl_mixture_train.csv.gz")}
    solution: Solution = solve("svm_1norm", table, {"C": 1.0}, {"k": "rbf(gamma = 1)"}, target="y")
    found = marks(plot.decision(solution))
    assert found["support vectors of class -1"] + found["support vectors of class 1"] == 116
    assert found["free"] == 29
