"""The exact step against the textbooks' own: Platt's clipped pair, the quadrants of regression, brute force."""

from __future__ import annotations

import numpy as np
import pytest
from engine_problems import pieces, separable_value

from kdsl.solving.backends.reference import Dense, exact_step, steepest


def random_gram(rng):
    A = rng.normal(size=(2, 3))
    return A @ A.T


@pytest.mark.parametrize("seed", range(40))
def test_classification_is_platts_step(seed):
    """SV theorem 7.12: alpha_2 moves by y_2 (E_1 - E_2) / kappa and is clipped to [U, V]; alpha_1 keeps the row."""
    rng = np.random.default_rng(seed)
    K, y, C = random_gram(rng), rng.choice([-1.0, 1.0], 2), 2.0
    alpha = rng.uniform(0, C, 2)
    other = rng.normal(size=2)  # what the multipliers that are held contribute to f
    E = K @ (y * alpha) + other - y
    kappa = K[0, 0] + K[1, 1] - 2 * K[0, 1]
    if y[0] != y[1]:
        U, V = max(0.0, alpha[1] - alpha[0]), min(C, C - alpha[0] + alpha[1])
    else:
        U, V = max(0.0, alpha[0] + alpha[1] - C), min(C, alpha[0] + alpha[1])
    second = np.clip(alpha[1] + y[1] * (E[0] - E[1]) / kappa, U, V)
    expected = np.array([alpha[0] + y[0] * y[1] * (alpha[1] - second), second])

    h = pieces(*[[(0, C, 0, -1)]] * 2)
    gradient = y * (E + y)  # of 1/2 alpha'G alpha; the -1 of each alpha is in h
    speed = np.array([y[0], -y[1]]) * np.sign(E[1] - E[0])
    curvature = float(speed @ (K * np.outer(y, y)) @ speed)
    got = exact_step(h, alpha, [0, 1], speed, float(gradient @ speed), curvature)
    np.testing.assert_allclose(got.value, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("even", [False, True])
def test_platts_two_heuristics_choose_that_pair(even, seed):
    """The first takes an example that violates the conditions, the second the one with the largest |E_1 - E_2|.

    The reference's first example violates them, and by most of those on its side. Where all pairs have one curvature
    its second is the heuristic's; else it weighs |E_1 - E_2| by the step that this stands for: (E_1 - E_2)^2 / kappa.
    """
    rng = np.random.default_rng(seed)
    n, C = 12, 2.0
    K = 3.0 * np.eye(n) if even else (lambda A: A @ A.T)(rng.normal(size=(n, 4)))
    y = rng.choice([-1.0, 1.0], n)
    alpha = np.where(rng.random(n) < 0.5, rng.uniform(0, C, n), rng.choice([0.0, C], n))
    E = K @ (y * alpha) - y  # f(x) - y, but for a bias that cancels in E_1 - E_2
    rises = np.where(y > 0, alpha < C, alpha > 0)  # y alpha may
    falls = np.where(y > 0, alpha > 0, alpha < C)
    # one example in one class: up and down are the derivatives of the objective where a move is possible
    up, down = np.where(rises, E, np.inf), np.where(falls, E, -np.inf)
    gram = K * np.outer(y, y)
    dense = Dense(gram, np.zeros(n), pieces(*[[(0, C, 0, -1)]] * n), y[None, :], np.zeros(1))
    rise, fall = np.where(y > 0, up, -down), np.where(y > 0, down, -up)  # in alpha: y alpha = v
    touched, speed, gap = steepest(rise, fall, dense)
    if not speed.any():
        assert up.min() >= down.max()  # no example violates the conditions
        return
    first, second = touched
    assert E[first] == up.min() and gap == pytest.approx(down.max() - up.min())
    # Platt's condition with a bias between the extremes: y_1 (f(x_1) + b) < 1 and alpha_1 < C, or > 1 and alpha_1 > 0
    b = -0.5 * (up.min() + down.max())
    assert (y[first] * (E[first] + b) < 0 and alpha[first] < C) or (y[first] * (E[first] + b) > 0 and alpha[first] > 0)
    kappa = np.diag(K)[first] + np.diag(K) - 2 * K[first]
    able = falls & (E[first] < E)
    assert able[second]
    gain = np.abs(E - E[first]) if even else (E - E[first]) ** 2 / np.where(kappa > 0, kappa, np.inf)
    assert gain[second] == pytest.approx(gain[able].max(), rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_regression_is_the_best_of_the_four_quadrants(seed):
    """SV theorem 7.18: along beta_1 + beta_2 = constant the objective is quadratic in each quadrant of the signs."""
    rng = np.random.default_rng(seed)
    K, target, C, eps = random_gram(rng), rng.normal(size=2), 1.5, 0.3
    beta = rng.uniform(-C, C, 2)
    total, other = beta.sum(), rng.normal(size=2)

    def value(b):
        return 0.5 * b @ K @ b + other @ b - target @ b + eps * np.abs(b).sum()

    kappa = K[0, 0] + K[1, 1] - 2 * K[0, 1]
    best = None
    for signs in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
        low, high = (0.0 if signs[0] > 0 else -C), (C if signs[0] > 0 else 0.0)
        other_low, other_high = (0.0 if signs[1] > 0 else -C), (C if signs[1] > 0 else 0.0)
        low, high = max(low, total - other_high), min(high, total - other_low)
        if low > high:
            continue
        slope = (K @ beta + other - target + eps * np.array(signs)) @ [1.0, -1.0]
        first = np.clip(beta[0] - slope / kappa, low, high)
        candidate = np.array([first, total - first])
        if best is None or value(candidate) < value(best):
            best = candidate

    h = pieces(*[[(-C, 0, 0, -t - eps), (0, C, 0, -t + eps)] for t in target])
    gradient = K @ beta + other
    for way in (1.0, -1.0):
        speed = np.array([way, -way])
        got = exact_step(h, beta, [0, 1], speed, float(gradient @ speed), kappa)
        if not np.allclose(got.value, beta):
            break
    np.testing.assert_allclose(value(got.value), value(best), atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_three_coordinates_against_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    h = pieces(
        *[[(-2.0, -0.5, 0.3, -1.0), (-0.5, 0.7, 0.0, -0.5), (0.7, 2.0, 1.0, 0.2 - 0.7 + rng.uniform(0, 0.5))]] * 3
    )
    t = rng.uniform(-2, 2, 3)
    speed = rng.normal(size=3)
    slope, curvature = -abs(rng.normal()) * 3, abs(rng.normal())
    got = exact_step(h, t, [0, 1, 2], speed, slope, curvature)

    def along(tau):
        return tau * slope + 0.5 * tau**2 * curvature + separable_value(h, t + tau * speed)

    room = np.min(np.where(speed > 0, (2 - t) / speed, (-2 - t) / speed))
    reached = (got.value - t) @ speed / (speed @ speed)
    assert along(reached) <= min(along(tau) for tau in np.linspace(0, room * (1 - 1e-12), 2001)) + 1e-9
