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
