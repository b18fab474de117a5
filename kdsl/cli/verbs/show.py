"""Show what a saved model holds."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from kdsl.cli.terminal import Console
from kdsl.language.diagnostics import KdslError

if TYPE_CHECKING:
    from kdsl.models.model_file import LoadedModel


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("model", help="a file that `kdsl solve -o` wrote")
    parser.add_argument("--spec", action="store_true", help="print the spec that it was solved from, and nothing else")
    parser.add_argument("--json", action="store_true", help="print the header of the file")


def run(arguments: Namespace, console: Console) -> int:
    from kdsl.models.model_file import read_container, restore

    container = read_container(arguments.model)
    if container.damage:
        raise KdslError(container.damage)
    if arguments.json:
        import json

        console.out_file(json.dumps(container.header, indent=2, ensure_ascii=False) + "\n")
        return 0
    loaded = restore(container, arguments.model)
    console.out_file(loaded.header["spec"]) if arguments.spec else console.out(_text(loaded))
    return 0


def _text(loaded: LoadedModel) -> str:
    from kdsl.models.report import aligned, certificate_lines, figure
    from kdsl.models.voting import Voting

    header, fitted = loaded.header, loaded.fitted
    lines = [("model", f"{loaded.model.name}{_title(loaded)}")]
    if header["data"]["hash"]:
        sizes = f"{_sizes(header)}; " if header["data"]["sizes"] else ""
        lines.append(("data", f"{sizes}SHA-256 {header['data']['hash']}"))
    for name, feature_map in fitted.feature_maps.items():
        scaled = "" if feature_map.scaling.kind == "none" else f", scaled ({feature_map.scaling.kind})"
        lines.append(("features", f"{name}: {_list(feature_map.names)}{scaled}"))
    lines += [("labels", f"{name}: {m.describe()}") for name, m in fitted.label_maps.items()]
    lines += [("labels", f"{name}: {_list(m.names)}") for name, m in fitted.label_sets.items()]
    if isinstance(fitted, Voting):
        lines.append(("labels", f"the vote of {len(fitted.machines):,} pairs of {_list(fitted.classes.names)}"))
    lines += [("kernel", f"{name} = {kernel.description}") for name, kernel in fitted.predictor.kernels.items()]
    if fitted.predictor.parameters:
        values = fitted.predictor.parameters.items()
        lines.append(("parameters", ", ".join(f"{name} {_value(value)}" for name, value in values)))
    lines.append(("route", header["reason"]))
    lines.append(("status", loaded.status))
    if loaded.certificate is None:
        lines.append(("certificate", f"none: {header['message']}"))
    else:
        lines += certificate_lines(loaded.certificate)
        support = header["support"]
        lines.append(
            ("support", f"{support['total']:,} nonzero: {support['free']:,} free, {support['bound']:,} at a bound")
        )
    lines += [("points", f"{points.shape[0]:,} of {name} kept") for name, points in fitted.predictor.support.items()]
    lines += [(name, figure(value)) for name, value in loaded.scalars.items()]
    lines += [(name, figure(float(value))) for name, value in header["quantities"].items()]
    lines.append(("written by", ", ".join(f"{name} {number}" for name, number in header["versions"].items())))
    return aligned(lines)


def _value(value: float) -> str:
    return "unknown" if value != value else f"= {value:.6g}"


def _title(loaded: LoadedModel) -> str:
    return f" ({loaded.model.title})" if loaded.model.title else ""


def _sizes(header: Any) -> str:
    return ", ".join(f"{name} = {size:,}" for name, size in header["data"]["sizes"].items())


def _list(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
