"""Random well-typed models print in every format, within the page and without changing what the formulas mean."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from random_models import RandomModel, models
from test_formulas_mean_their_polynomials import check_formulas, check_lagrangian

from kdsl.algebra.derivation import derive
from kdsl.pipeline import parse_spec
from kdsl.render import html, json_, latex, text
from kdsl.render.plain import width


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(models())
def test_a_random_model_prints(model: RandomModel) -> None:
    derivation = derive(parse_spec(model.text, "random"))
    check_formulas(derivation)
    check_lagrangian(derivation)
    assert all(width(line) <= text.WIDTH for line in text.render(derivation).splitlines())
    assert text.render(derivation, ascii=True).isascii()
    assert latex.render(derivation).endswith("\\end{document}\n")
    assert html.render(derivation).endswith("</html>\n")
    assert json.loads(json_.render(derivation))["schema"] == json_.SCHEMA
