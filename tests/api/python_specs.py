"""Every shipped specification written in Python, as a reader of docs/python.md would write it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from kdsl.api import (
    Problem,
    absolute,
    argmax,
    eps_insensitive,
    eps_insensitive_squared,
    exp,
    hinge,
    huber,
    huberized_squared_hinge,
    inner,
    linear,
    logistic,
    maximum,
    multinomial,
    norm,
    perceptron,
    phi,
    pinball,
    poly,
    pos,
    rbf,
    sign,
    square,
    squared,
    squared_hinge,
    sum_over,
)
from kdsl.api.expressions import Expression

HALF = Fraction(1, 2)


class Parts:
    """What nearly every classifier and regression declares."""

    def __init__(self, name: str, title: str, labels: bool, kernel: str = "rbf") -> None:
        self.p = p = Problem(name, title)
        self.i = p.index("i", 1, "l")
        self.x = p.data("x", self.i, kind="input")
        self.y: Any = p.data("y", self.i, values=(-1, 1)) if labels else p.data("y", self.i)
        self.k = p.kernel("k", rbf(gamma=0.5) if kernel == "rbf" else linear())
        self.w = p.hilbert("w", self.k)

    def score(self, t: Expression) -> Expression:
        return inner(self.w, phi(t))

    @property
    def energy(self) -> Expression:
        return norm(self.w) ** 2 / 2


def svm_1norm() -> Problem:
    m = Parts("svm_1norm", "1-norm soft margin", True)
    p, i, x, y = m.p, m.i, m.x, m.y
    C = p.param("C", lower=0, open=True, default=1)
    b, xi = p.real("b"), p.real("xi", i, lower=0)
    p.minimize(HALF * norm(m.w) ** 2 + C * sum_over(i)(xi[i]))
    p.subject_to("margin", i, y[i] * (inner(m.w, phi(x[i])) + b) >= 1 - xi[i])
    p.predict("label", lambda t: sign(inner(m.w, phi(t)) + b))
    return p


def svm_weighted() -> Problem:
    m = Parts("svm_weighted", "weighted 1-norm soft margin", True)
    p, i = m.p, m.i
    s = p.data("s", i, lower=0, default=1)
    C = p.param("C", lower=0, open=True, default=1)
    b, xi = p.real("b"), p.real("xi", i, lower=0)
    p.minimize(m.energy + C * sum_over(i)(s[i] * xi[i]))
    p.subject_to("margin", i, m.y[i] * (m.score(m.x[i]) + b) >= 1 - xi[i])
    p.predict("label", lambda t: sign(m.score(t) + b))
    return p


def svm_no_bias() -> Problem:
    m = Parts("svm_no_bias", "1-norm soft margin, fixed bias", True)
    p, i = m.p, m.i
    C, b0 = p.param("C", lower=0, open=True, default=1), p.param("b0", default=0)
    xi = p.real("xi", i, lower=0)
    p.minimize(m.energy + C * sum(sum_over(i)(part) for part in [xi[i]]))
    p.subject_to("margin", i, m.y[i] * (m.score(m.x[i]) + b0) >= 1 - xi[i])
    p.predict("label", lambda t: sign(m.score(t) + b0))
    return p


def svm_2norm() -> Problem:
    m = Parts("svm_2norm", "2-norm soft margin", True)
    p, i = m.p, m.i
    C = p.param("C", lower=0, open=True, default=1)
    b, xi = p.real("b"), p.real("xi", i)
    p.minimize(m.energy + C / 2 * sum_over(i)(xi[i] ** 2))
    p.subject_to("margin", i, m.y[i] * (m.score(m.x[i]) + b) >= 1 - xi[i])
    p.predict("label", lambda t: sign(m.score(t) + b))
    return p


def svm_hard() -> Problem:
    m = Parts("svm_hard", "hard margin, canonical", True, "linear")
    b = m.p.real("b")
    m.p.minimize(m.energy)
    m.p.subject_to("margin", m.i, m.y[m.i] * (m.score(m.x[m.i]) + b) >= 1)
    m.p.predict("label", lambda t: sign(m.score(t) + b))
    return m.p


def svm_hard_unit() -> Problem:
    m = Parts("svm_hard_unit", "hard margin, unit norm", True, "linear")
    b, gamma = m.p.real("b"), m.p.real("gamma")
    m.p.maximize(gamma)
    m.p.subject_to("margin", m.i, m.y[m.i] * (m.score(m.x[m.i]) + b) >= gamma)
    m.p.subject_to("unit", norm(m.w) ** 2 == 1)
    m.p.predict("label", lambda t: sign(m.score(t) + b))
    return m.p


def _unit(name: str, title: str, build: Callable[[Parts, Any], Any], squares: bool, nu: bool = False) -> Problem:
    m = Parts(name, title, True)
    p, i = m.p, m.i
    price = p.param("nu", lower=0, upper=1, open="lower", default=0.5) if nu else None
    price = p.param("C", lower=0, open=True, default=1) if price is None else price
    b, gamma = p.real("b"), p.real("gamma")
    xi = p.real("xi", i) if squares else p.real("xi", i, lower=0)
    p.minimize(-gamma + build(m, price) * sum_over(i)(xi[i] ** 2 if squares else xi[i]))
    p.subject_to("margin", i, m.y[i] * (m.score(m.x[i]) + b) >= gamma - xi[i])
    p.subject_to("unit", norm(m.w) ** 2 == 1)
    p.predict("label", lambda t: sign(m.score(t) + b))
    return p


def svm_1norm_unit() -> Problem:
    return _unit("svm_1norm_unit", "1-norm soft margin, unit norm", lambda m, C: C, False)


def svm_2norm_unit() -> Problem:
    return _unit("svm_2norm_unit", "2-norm soft margin, unit norm", lambda m, C: C, True)


def svm_nu() -> Problem:
    title = "nu support vector machine, unit norm"
    return _unit("svm_nu", title, lambda m, nu: 1 / (nu * m.i.size), False, nu=True)


def svm_nu_sum() -> Problem:
    m = Parts("svm_nu_sum", "nu support vector machine", True)
    p, i = m.p, m.i
    nu = p.param("nu", lower=0, upper=1, open="lower", default=0.5)
    b, rho, xi = p.real("b"), p.real("rho", lower=0), p.real("xi", i, lower=0)
    p.minimize(m.energy - nu * rho + 1 / i.size * sum_over(i)(xi[i]))
    p.subject_to("margin", i, m.y[i] * (m.score(m.x[i]) + b) >= rho - xi[i])
    p.predict("label", lambda t: sign(m.score(t) + b))
    return p


def one_class() -> Problem:
    p = Problem("one_class", "one-class hyperplane")
    i = p.index("i", 1, "l")
    x = p.data("x", i, kind="input")
    nu = p.param("nu", lower=0, upper=1, open="lower", default=0.1)
    w, rho, xi = p.hilbert("w", p.kernel("k", rbf(0.5))), p.real("rho"), p.real("xi", i, lower=0)
    p.minimize(norm(w) ** 2 / 2 - rho + 1 / (nu * i.size) * sum_over(i)(xi[i]))
    p.subject_to("margin", i, inner(w, phi(x[i])) >= rho - xi[i])
    p.predict("novelty", lambda t: rho - inner(w, phi(t)))
    return p


def _sphere(name: str, title: str) -> Problem:
    p = Problem(name, title)
    i = p.index("i", 1, "l")
    x = p.data("x", i, kind="input")
    price: Any = 0
    if name == "sphere_nu":
        price = 1 / (p.param("nu", lower=0, upper=1, open="lower", default=0.1) * i.size)
    elif name == "sphere_soft":
        price = p.param("C", lower=0, open=True, default=1)
    k = p.kernel("k", rbf(gamma=0.5))
    c, r = p.hilbert("c", k), p.real("r", lower=0)
    if name == "sphere_hard":
        p.minimize(r**2)
        p.subject_to("inside", i, norm(phi(x[i]) - c) ** 2 <= r**2)
    else:
        xi = p.real("xi", i, lower=0)
        p.minimize(r**2 + price * sum_over(i)(xi[i]))
        p.subject_to("inside", i, norm(phi(x[i]) - c) ** 2 <= r**2 + xi[i])
    p.predict("novelty", lambda t: norm(phi(t) - c) ** 2 - r**2)
    return p


def sphere_hard() -> Problem:
    return _sphere("sphere_hard", "smallest enclosing hypersphere")


def sphere_soft() -> Problem:
    return _sphere("sphere_soft", "soft minimal hypersphere")


def sphere_nu() -> Problem:
    return _sphere("sphere_nu", "nu-soft minimal hypersphere")


def _ridge(name: str, title: str) -> Problem:
    m = Parts(name, title, False)
    p, i = m.p, m.i
    price = p.param("B" if name == "ridge_ball" else "lambda", lower=0, open=True, default=1)
    b: Any = p.real("b") if name == "ridge_bias" else 0
    xi = p.real("xi", i)
    errors = sum_over(i)(xi[i] ** 2)
    p.minimize(errors if name == "ridge_ball" else price * norm(m.w) ** 2 + errors)
    residual = m.y[i] - m.score(m.x[i])
    p.subject_to("residual", i, (residual - b if name == "ridge_bias" else residual) == xi[i])
    if name == "ridge_ball":
        p.subject_to("unit", norm(m.w) ** 2 <= price**2)
    p.predict("value", lambda t: m.score(t) + b)
    return p


def ridge() -> Problem:
    return _ridge("ridge", "kernel ridge regression")


def ridge_bias() -> Problem:
    return _ridge("ridge_bias", "kernel ridge regression with a bias")


def ridge_ball() -> Problem:
    return _ridge("ridge_ball", "kernel regression in a ball")


def _tube(name: str, title: str) -> Problem:
    m = Parts(name, title, False)
    p, i, y = m.p, m.i, m.y
    C = p.param("C", lower=0, open=True, default=1)
    b = p.real("b")
    lower = None if name == "svr_quadratic_eps" else 0
    eps: Any
    if name == "svr_nu":
        nu, eps = p.param("nu", lower=0, upper=1, open="lower", default=0.5), p.real("eps", lower=0)
    else:
        eps = p.param("eps", lower=0, upper=float("inf"), default=0.1)
    xi, xi_ = p.real("ξ", i, lower=lower), p.real("ξ'", i, lower=lower)
    f = p.let("f", lambda t: inner(m.w, phi(t)) + b)
    if name == "svr_nu":
        p.minimize(m.energy + C * (nu * eps + 1 / i.size * sum_over(i)(xi[i] + xi_[i])))
    elif name == "svr_linear_eps":
        p.minimize(m.energy + C * sum_over(i)(xi[i] + xi_[i]))
    else:
        p.minimize(m.energy + C / 2 * sum_over(i)(xi[i] ** 2 + xi_[i] ** 2))
    p.subject_to("above", i, f(m.x[i]) - y[i] <= eps + xi[i])
    p.subject_to("below", i, y[i] - f(m.x[i]) <= eps + xi_[i])
    p.predict("value", lambda t: f(t))
    return p


def svr_linear_eps() -> Problem:
    return _tube("svr_linear_eps", "linear eps-insensitive regression")


def svr_quadratic_eps() -> Problem:
    return _tube("svr_quadratic_eps", "quadratic eps-insensitive regression")


def svr_nu() -> Problem:
    return _tube("svr_nu", "nu support vector regression")


def monotone_groups() -> Problem:
    p = Problem("monotone_groups", "weights, monotone pairs, a bias for each group")
    i, j, g = p.index("i", 1, "l"), p.index("j", 1, "m"), p.index("g", "groups")
    x, y = p.data("x", i, kind="input"), p.data("y", i, values=(-1, 1))
    s, group = p.data("s", i, lower=0, default=1), p.data("group", i, labels="groups")
    lo, hi = p.data("lo", j, kind="input"), p.data("hi", j, kind="input")
    C = p.param("C", lower=0, open=True, default=1)
    k = p.kernel("k", 0.7 * rbf(gamma=0.5) + linear() * poly(degree=2).on("age", "income"))
    w, b, xi = p.hilbert("w", k), p.real("b", g), p.real("xi", i, lower=0)
    p.minimize(norm(w) ** 2 / 2 + C * sum_over(i)(s[i] * xi[i]))
    p.subject_to("margin", i, y[i] * (inner(w, phi(x[i])) + b[group[i]]) >= 1 - xi[i])
    p.subject_to("mono", j, inner(w, phi(hi[j]) - phi(lo[j])) >= 0)
    p.predict("label", lambda t, g: sign(inner(w, phi(t)) + b[g]))
    return p


def multiclass_delta() -> Problem:
    p = Problem("multiclass_delta", "multiclass with structured costs")
    i, k = p.index("i", 1, "l"), p.index("k", "classes")
    x, y, delta = p.data("x", i, kind="input"), p.data("y", i, labels="classes"), p.data("delta", k, k, lower=0)
    C = p.param("C", lower=0, open=True, default=1)
    q = p.kernel("q", rbf(gamma=0.5))
    w, xi = p.hilbert("w", q, k), p.real("xi", i, lower=0)
    p.minimize(HALF * sum_over(k)(norm(w[k]) ** 2) + C * sum_over(i)(xi[i]))
    right = inner(w[y[i]] - w[k], phi(x[i])) >= delta[y[i], k] - xi[i]
    p.subject_to("margin", i, k, right, where=k != y[i])
    p.predict("class", lambda t: argmax(k)(inner(w[k], phi(t))))
    return p


def rank_pairs() -> Problem:
    p = Problem("rank_pairs", "ranking by pairs")
    i, j = p.indices(("i", "j"), (1, "l"), (1, "l"))
    x, y, q = p.data("x", i, kind="input"), p.data("y", i), p.data("q", i, default=1)
    p.restrict((i, j), q[i] == q[j], y[i] > y[j])
    C = p.param("C", lower=0, open=True, default=1)
    w, xi = p.hilbert("w", p.kernel("k", rbf(gamma=0.5))), p.real("xi", i, j, lower=0)
    p.minimize(norm(w) ** 2 / 2 + C * sum_over(i, j)(xi[i, j]))
    p.subject_to("margin", i, j, inner(w, phi(x[i]) - phi(x[j])) >= 1 - xi[i, j])
    p.predict("score", lambda t: inner(w, phi(t)))
    return p


def _columns(name: str, title: str) -> Problem:
    p = Problem(name, title)
    i, j = p.index("i", 1, "l"), p.index("j", 1, "d")
    x, y = p.data("x", i, j), p.data("y", i)
    lam = p.param("λ", lower=0, open=True, default=1)
    a, b = p.real("a", j), p.real("b")
    errors = sum_over(i)(squared(y[i] - sum_over(j)(a[j] * x[i, j]) - b))
    if name == "lasso":
        p.minimize(errors + lam * sum_over(j)(abs(a[j])))
    else:
        tau = p.param("tau", lower=0, upper=1, open="upper", default=0.5)
        p.minimize(errors + lam * sum_over(j)(tau * abs(a[j]) + (1 - tau) / 2 * a[j] ** 2))
    p.predict("value", lambda t: sum_over(j)(a[j] * t[j]) + b)
    return p


def lasso() -> Problem:
    return _columns("lasso", "least squares with an L1 penalty")


def elastic_net() -> Problem:
    return _columns("elastic_net", "least squares with L1 and L2 penalties")


def _loss(name: str, title: str, build: Callable[[Parts, Expression], Expression], labels: bool) -> Problem:
    """`build` makes the loss of example i from its residual or its margin, declaring what it needs."""
    m = Parts(f"loss_{name}", title, labels)
    p, i = m.p, m.i
    price = p.param("C" if name == "hinge" else "lambda", lower=0, open=True, default=1)
    b = p.real("b")
    f = p.let("f", lambda t: m.score(t) + b)
    term = sum_over(i)(build(m, m.y[i] * f(m.x[i]) if labels else m.y[i] - f(m.x[i])))
    p.minimize(m.energy + price * term if name == "hinge" else term + price / 2 * norm(m.w) ** 2)
    p.predict("label" if labels else "value", lambda t: sign(f(t)) if labels else f(t))
    if name == "logistic":
        p.predict("probability", lambda t: 1 / (1 + exp(-f(t))))
    return p


def _eps(m: Parts) -> Expression:
    return m.p.param("eps", lower=0, upper=float("inf"), default=0.1)


def _asymmetric(m: Parts, r: Expression) -> Expression:
    tau = m.p.param("tau", lower=0, open=True, default=0.5)
    loss = m.p.loss("asymmetric", lambda r, *, tau: maximum(square(pos(r)), -tau * r))
    return loss(r, tau=tau)


LOSSES: dict[str, tuple[str, Callable[[Parts, Expression], Expression], bool]] = {
    "absolute": ("absolute loss", lambda m, r: absolute(r), False),
    "asymmetric": ("a loss of one's own", _asymmetric, False),
    "eps_insensitive": ("eps-insensitive loss", lambda m, r: eps_insensitive(r, _eps(m)), False),
    "eps_insensitive_squared": (
        "squared eps-insensitive loss",
        lambda m, r: eps_insensitive_squared(r, eps=_eps(m)),
        False,
    ),
    "hinge": ("hinge loss", lambda m, r: hinge(r), True),
    "huber": ("Huber loss", lambda m, r: huber(r, m.p.param("c", lower=0, open=True, default=1.345)), False),
    "huberized_squared_hinge": ("Huberised squared hinge loss", lambda m, r: huberized_squared_hinge(r), True),
    "logistic": ("kernel logistic regression", lambda m, r: logistic(r), True),
    "perceptron": ("perceptron loss", lambda m, r: perceptron(r), True),
    "pinball": (
        "pinball loss",
        lambda m, r: pinball(r, tau=m.p.param("tau", lower=0, upper=1, open=True, default=0.5)),
        False,
    ),
    "squared": ("squared loss", lambda m, r: squared(r), False),
    "squared_hinge": ("squared hinge loss", lambda m, r: squared_hinge(r), True),
}


def loss_multinomial() -> Problem:
    p = Problem("loss_multinomial", "multinomial kernel logistic regression")
    i, k, m = p.index("i", 1, "l"), p.index("k", "classes"), p.index("m", "classes")
    x, y = p.data("x", i, kind="input"), p.data("y", i, labels="classes")
    lam = p.param("lambda", lower=0, open=True, default=1)
    w = p.hilbert("w", p.kernel("q", rbf(gamma=0.5)), k)
    energy = lam / 2 * sum_over(k)(norm(w[k]) ** 2)
    p.minimize(sum_over(i)(multinomial(inner(w[k], phi(x[i])), k, y[i])) + energy)
    p.predict("class", lambda t: argmax(k)(inner(w[k], phi(t))))
    p.predict("probability", lambda t, k: exp(inner(w[k], phi(t))) / sum_over(m)(exp(inner(w[m], phi(t)))))
    return p


def _named_loss(name: str) -> Callable[[], Problem]:
    return lambda: _loss(name, *LOSSES[name])


PROBLEMS: dict[str, Callable[[], Problem]] = {
    build.__name__: build
    for build in (
        *(svm_1norm, svm_weighted, svm_no_bias, svm_2norm, svm_hard, svm_hard_unit, svm_1norm_unit, svm_2norm_unit),
        *(svm_nu, svm_nu_sum, one_class, sphere_hard, sphere_soft, sphere_nu, ridge, ridge_bias, ridge_ball),
        *(svr_linear_eps, svr_quadratic_eps, svr_nu, monotone_groups, multiclass_delta, rank_pairs, lasso, elastic_net),
        loss_multinomial,
    )
} | {f"loss_{name}": _named_loss(name) for name in LOSSES}
