"""Random well-typed models: penalties, scores, losses or slacks, biases, weights and index structures put together."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

HEADER = "index  i in 1..l, j in 1..m, g in groups"
DATA = (
    "data   x[i] : input, z[i] : input, y[i] : {y}, s[i] : in (0, inf), group[i] : groups, lo[j] : input, hi[j] : input"
)
PARAMS = (
    "param  C : in (0, inf) = 1, D : in (0, inf) = 2, eps : in [0, inf) = 0.1, tau : in (0, 1) = 0.3, nu : in (0, 1]"
)
KERNELS = "kernel k = rbf(gamma = 0.5), q = linear"

PENALTIES = {
    "half": "1/2 ||w||^2",
    "priced": "D * ||w||^2",
    "two": "1/2 ||w||^2 + D/2 * ||v||^2",
    "tasks": "1/2 ||w||^2 + D * sum[g] ||u[g]||^2",
    "centred": "1/2 ||w||^2 + D * sum[g] ||u[g] - w||^2",
    "norm": "D * ||w||",
}
SCORES = {
    "half": "<w, phi(x[i])>",
    "priced": "<w, phi(x[i])>",
    "two": "<w, phi(x[i])> + <v, phi(x[i])>",
    "tasks": "<w, phi(x[i])> + <u[group[i]], phi(x[i])>",
    "centred": "<u[group[i]], phi(x[i])>",
    "norm": "<w, phi(x[i])>",
}
VECTORS = {
    "two": "w : H(k), v : H(q)",
    "tasks": "w : H(k), u[g] : H(k)",
    "centred": "w : H(k), u[g] : H(k)",
}
BIASES = {  # name -> (declaration, term in the score, term in the objective)
    "none": ("", "", ""),
    "free": ("b : real", " + b", ""),
    "squared": ("b : real", " + b", " + D/2 * b^2"),
    "signed": ("b : real >= 0", " + b", ""),
    "groups": ("b[g] : real", " + b[group[i]]", ""),
    "priced groups": ("b[g] : real", " + b[group[i]]", " + sum[g] b[g]^2"),
}
MARGIN_LOSSES = (
    "hinge",
    "squared_hinge",
    "huberized_squared_hinge",
    "max(0, 1 - 2 * {m})",
    "pos(1 - {m}) + 1/2 * pos(-{m})",
)
RESIDUAL_LOSSES = (
    "squared({r})",
    "absolute({r})",
    "eps_insensitive({r}; eps)",
    "eps_insensitive_squared({r}; eps)",
    "huber({r}; 2)",
    "pinball({r}; tau)",
    "max({r}, -2 * {r}, 2 * {r} - 1)",
    "square({r}) + abs({r})",
    "max(square({r}), D * abs({r}))",
)
SLACKS = ("xi[i]", "xi[i]^2", "xi[i] + D * xi[i]^2")
WEIGHTS = ("C", "C * s[i]", "1/l", "1/(nu * l)")
EXTRAS = (  # further constraints that any score allows
    "mono[j]: <w, phi(hi[j]) - phi(lo[j])> >= 0",
    "mean: sum[i] s[i] * <w, phi(z[i])> <= 1",
    "fair: abs(1/l * sum[i] <w, phi(z[i])>) <= eps + 1",
    "ball: ||w||^2 <= 4",
    "held: b <= 3",
)


class RandomModel(NamedTuple):
    text: str

    def __repr__(self) -> str:  # what hypothesis prints of a counterexample
        return "\n" + self.text


@st.composite
def models(draw: st.DrawFn) -> RandomModel:
    penalty = draw(st.sampled_from(sorted(PENALTIES)))
    bias = draw(st.sampled_from(sorted(BIASES)))
    weight = draw(st.sampled_from(WEIGHTS))
    declared, in_score, in_objective = BIASES[bias]
    score = SCORES[penalty] + in_score
    variables = [VECTORS.get(penalty, "w : H(k)"), *([declared] if declared else [])]
    classification = draw(st.booleans())
    constraints: list[str] = []
    if draw(st.booleans()):
        slack = draw(st.sampled_from(SLACKS))
        positive = " >= 0" if slack == "xi[i]" or draw(st.booleans()) else ""
        variables.append(f"xi[i] : real{positive}")
        cost = f"sum[i] {weight} * ({slack})"
        if classification:
            constraints.append(f"margin[i]: y[i] * ({score}) >= 1 - xi[i]")
        else:
            other = draw(st.booleans())
            variables += [f"eta[i] : real{positive}"] if other else []
            cost += f" + sum[i] {weight} * ({slack.replace('xi', 'eta')})" if other else ""
            constraints.append(f"above[i]: {score} - y[i] <= eps + xi[i]")
            constraints.append(f"below[i]: y[i] - ({score}) <= eps + {'eta' if other else 'xi'}[i]")
    else:
        if classification:
            form = draw(st.sampled_from(MARGIN_LOSSES))
            argument = f"(y[i] * ({score}))"
        else:
            form = draw(st.sampled_from(RESIDUAL_LOSSES))
            argument = f"(y[i] - ({score}))"
        call = form.format(m=argument, r=argument) if "{" in form else f"{form}{argument}"
        cost = f"sum[i] {weight} * ({call})"
    extras = [e for e in EXTRAS if not (e.startswith("held") and bias not in ("free", "squared", "signed"))]
    if penalty == "norm":
        extras = [e for e in extras if not e.startswith("ball")]
    constraints += draw(st.lists(st.sampled_from(extras), unique=True, max_size=2))
    objective = f"{PENALTIES[penalty]} + {cost}{in_objective}"
    sense = "minimize"
    if draw(st.booleans()):
        sense, objective = "maximize", f"-({objective})"
    lines = [
        "model random",
        HEADER,
        DATA.format(y="{-1, 1}" if classification else "real"),
        PARAMS,
        KERNELS,
        f"var    {', '.join(variables)}",
        f"{sense} {objective}",
    ]
    if constraints:
        lines += ["subject to", *(f"  {c}" for c in constraints)]
    return RandomModel("\n".join([*lines, "predict value(t) = <w, phi(t)>", ""]))


@st.composite
def spheres(draw: st.DrawFn) -> RandomModel:
    """Minimal spheres: the radius squared, free or with a sign; slacks of every price, shared or not."""
    radius = draw(st.sampled_from(("squared", "signed", "free")))
    declared = "r : real >= 0" if radius == "signed" else "r : real"
    shown = "r^2" if radius == "squared" else "r"
    slack = draw(st.sampled_from(("", "linear", "square", "shared")))
    weight = draw(st.sampled_from(WEIGHTS))
    variables, cost = ["c : H(k)", declared], ""
    if slack:
        variables.append(f"xi[i] : real{'' if slack == 'square' else ' >= 0'}")
        cost = f" + sum[i] {weight} * xi[i]{'^2' if slack == 'square' else ''}"
    over = " + xi[i]" if slack else ""
    index = "i, g" if slack == "shared" else "i"
    inside = f"inside[{index}]: ||phi(x[i]) - c||^2 <= {shown}{over}"
    lines = ["model random", HEADER, DATA.format(y="{-1, 1}"), PARAMS, KERNELS, f"var    {', '.join(variables)}"]
    lines += [
        f"minimize {shown}{cost}",
        "subject to",
        f"  {inside}",
        f"predict novelty(t) = ||phi(t) - c||^2 - {shown}",
    ]
    return RandomModel("\n".join([*lines, ""]))


@st.composite
def class_models(draw: st.DrawFn) -> RandomModel:
    """Several classes, or pairs to rank: one function for each class, slacks for examples or for pairs."""
    pairs = draw(st.booleans())
    bias = "" if pairs else draw(st.sampled_from(("", "free", "balanced")))
    slack = draw(st.sampled_from(("example", "pair", "square", "hinge")))
    weight = draw(st.sampled_from(WEIGHTS))
    variables = ["w : H(q)"] if pairs else ["w[k] : H(q)", *(["b[k] : real"] if bias else [])]
    if pairs:
        index, kept = "i, j", "y[i] > y[j]"
        score = "<w, phi(x[i]) - phi(x[j])>"
    else:
        index, kept = "i, k", "k != c[i]"
        score = "<w[c[i]] - w[k], phi(x[i])>" + (" + b[c[i]] - b[k]" if bias else "")
    constraints = ["balance: sum[k] b[k] = 0"] if bias == "balanced" else []
    if slack == "hinge":
        cost = f"sum[{index} where {kept}] {weight} * hinge({score})"
    else:
        at = "i" if slack == "example" else index
        family = "eta[i]" if slack == "example" else f"eta[{at}]"
        variables.append(f"{family} : real{'' if slack == 'square' else ' >= 0'}")
        where = "" if slack == "example" else f" where {kept}"
        cost = f"sum[{at}{where}] {weight} * {family}{'^2' if slack == 'square' else ''}"
        constraints.append(f"margin[{index}] where {kept}: {score} >= 1 - {family}")
    penalty = "1/2 ||w||^2" if pairs else "1/2 sum[k] ||w[k]||^2"
    lines = [
        "model random",
        "index  i in 1..l, j in 1..l, k in classes",
        "data   x[i] : input, y[i] : real, s[i] : in (0, inf), c[i] : classes",
        PARAMS,
        "kernel q = rbf(gamma = 0.5)",
        f"var    {', '.join(variables)}",
        f"minimize {penalty} + {cost}",
    ]
    lines += ["subject to", *(f"  {c}" for c in constraints)] if constraints else []
    return RandomModel("\n".join([*lines, ""]))
