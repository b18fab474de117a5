"""List the specs that come with kdsl; with a name, print that spec."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kdsl import resources
from kdsl.cli.sources import Source, read_source
from kdsl.cli.terminal import Console


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="print this spec")
    parser.add_argument("--json", action="store_true", help="names, titles and paths as JSON; with a name, its text")


def run(arguments: Namespace, console: Console) -> int:
    if arguments.name is not None:
        source = read_source(arguments.name)
        console.out_file(_object(source) if arguments.json else source.text)
        return 0
    shipped = [(name, resources.spec_path(name) or "") for name in resources.spec_names()]
    rows = [(name, _title(path), path) for name, path in shipped]
    if arguments.json:
        import json

        listing = [{"name": name, "title": title, "path": path} for name, title, path in rows]
        console.out_file(json.dumps({"schema": 1, "specs": listing}, indent=2, ensure_ascii=False) + "\n")
        return 0
    width = max((len(name) for name, _, _ in rows), default=0)
    console.out("".join(f"{name:<{width}}  {title}".rstrip() + "\n" for name, title, _ in rows))
    return 0


def _object(source: Source) -> str:
    """One spec as JSON."""
    import json

    shown = {"schema": 1, "name": source.stem, "path": source.filename, "text": source.text}
    return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"


def _title(path: str) -> str:
    """What stands in quotes on the spec's `model` line."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("model "):
                return line.partition('"')[2].rpartition('"')[0]
    return ""
