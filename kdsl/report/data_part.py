"""What a report says of the data: which columns became what, labels and how many of each, ranges, scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from kdsl.binding.faults import count
from kdsl.binding.points import column_moments, column_ranges
from kdsl.report.parts import Html, code, described, figure, joined, paragraph, safe, section, tabulated, together

if TYPE_CHECKING:
    from kdsl.binding.bound import Bound
    from kdsl.binding.points import FeatureMap, Points, Scaling
    from kdsl.binding.table import Array
    from kdsl.language.model import Datum
    from kdsl.numerics.arrays import Matrix
    from kdsl.report.account import Account

FEATURES = 40  # features that the table names
LABELS = 12  # labels whose examples are counted one by one

SCALINGS = {
    "standard": "moved and stretched to mean 0 and standard deviation 1",
    "minmax": "moved and stretched to the interval from 0 to 1",
}


def data_section(account: Account) -> Html:
    model, bound = account.derivation.model, account.bound
    sizes = joined(f"{name} = {size:,}" for name, size in bound.sizes.items())
    general: list[tuple[str, str]] = [("sizes", sizes)] if bound.sizes else []
    general += [("rows left out", f"{rows:,} of {name} with missing values") for name, rows in bound.dropped.items()]
    if bound.feature_maps:
        general.append(("scaling", _scaling_words(bound.scaling)))
    general.append(("hash", code(f"SHA-256 {bound.data_hash}")))
    rows = [_datum(datum, bound) for datum in model.data]
    heads = ("datum", "from", "what it holds")
    blocks: list[str] = [tabulated("What each datum of the spec is bound to", heads, rows)] if rows else []
    blocks.append(described(general))
    shown: set[tuple[str, ...]] = set()
    for name, feature_map in bound.feature_maps.items():
        points = bound.points.get(name)
        values = bound.arrays[name] if points is None else points.features
        blocks += _features(name, feature_map, values, again=feature_map.names in shown)
        shown.add(feature_map.names)
    return section("data", "The data", *blocks)


def _datum(datum: Datum, bound: Bound) -> tuple[str, str, str]:
    source = bound.sources.get(datum.name, "")
    if datum.name in bound.points:
        return code(datum.name), safe(source), _points_words(bound.points[datum.name], bound.feature_maps[datum.name])
    return code(datum.name), safe(source), _array_words(datum, bound.arrays[datum.name], bound)


def _points_words(points: Points, feature_map: FeatureMap) -> str:
    if feature_map.precomputed:
        return f"{count(points.size, 'point')}, given by the values of the kernel"
    stored = ""
    if sp.issparse(points.features):
        share = sp.csr_array(points.features).nnz / max(1, points.size * points.dimension)
        stored = f", sparse: {100 * share:.3g} % are not 0"
    return f"{count(points.size, 'point')} of {count(points.dimension, 'feature')}{stored}"


def _array_words(datum: Datum, values: Array, bound: Bound) -> Html:
    """The labels with the examples that have each, or the range of the numbers."""
    if datum.labels is not None:
        names = bound.label_sets[datum.labels.size].names
        counts = np.bincount(values.ravel().astype(np.int64), minlength=len(names))
        return _counted(list(zip(names, counts.tolist(), strict=True)))
    label_map = bound.label_maps.get(datum.name)
    if label_map is not None:
        below = int(np.count_nonzero(values == label_map.low))
        pairs = ((label_map.negative, label_map.low, below), (label_map.positive, label_map.high, values.size - below))
        return joined(
            (
                together(code(name), " → ", figure(value), f" ({count(examples, 'example')})")
                for name, value, examples in pairs
            )
        )
    if values.size == 0:
        return Html("nothing")
    if datum.kind == "finite":
        found, counts = np.unique(values, return_counts=True)
        return _counted([(f"{value:g}", int(n)) for value, n in zip(found, counts, strict=True)])
    numbers = f"{' × '.join(str(n) for n in values.shape)} numbers" if values.ndim > 1 else count(values.size, "number")
    low, high = float(values.min()), float(values.max())
    if low == high:
        return together(f"{numbers}, all ", figure(low, 6))
    mean = float(values.mean())
    return together(f"{numbers} from ", figure(low, 6), " to ", figure(high, 6), ", mean ", figure(mean, 6))


def _counted(pairs: list[tuple[str, int]]) -> Html:
    words = [together(code(name), f" ({count(examples, 'example')})") for name, examples in pairs[:LABELS]]
    more = [f"and {len(pairs) - LABELS:,} labels more"] if len(pairs) > LABELS else []
    return joined([*words, *more])


def _scaling_words(scaling: Scaling) -> str:
    if scaling.kind == "none":
        return "none: the numbers are used as they are in the data"
    return (
        f"{scaling.kind}: every feature is {SCALINGS[scaling.kind]}; value, dual, residuals and the parameters of "
        "kernels are in these units, the ranges below in those of the data"
    )


def _features(name: str, feature_map: FeatureMap, values: Matrix, again: bool) -> list[str]:
    """The range of every feature in the units of the data."""
    if again or feature_map.precomputed or not values.shape[0] or not feature_map.names:
        return []
    scaling = feature_map.scaling
    low, high = (column / scaling.factor + scaling.offset for column in column_ranges(values))
    mean, spread = column_moments(values)
    mean, spread = mean / scaling.factor + scaling.offset, spread / scaling.factor
    header = ["feature", "least", "greatest", "mean", "deviation"]
    scaled = scaling.kind != "none"
    header += ["offset", "factor"] if scaled else []
    rows = []
    for k, feature in enumerate(feature_map.names[:FEATURES]):
        numbers = [low[k], high[k], mean[k], spread[k]] + ([scaling.offset[k], scaling.factor[k]] if scaled else [])
        rows.append([code(feature), *(figure(float(number), 5) for number in numbers)])
    caption = f"The features of {name}, in the units of the data"
    caption += "; what is used is (value − offset) × factor" if scaled else ""
    blocks: list[str] = [tabulated(caption, header, rows, frozenset(range(1, len(header))))]
    if len(feature_map.names) > FEATURES:
        left = len(feature_map.names) - FEATURES
        blocks.append(paragraph(f"{count(left, 'feature')} more than the table shows."))
    return blocks
