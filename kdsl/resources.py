"""Finds what kdsl ships beside its code: specs, templates, examples and the pages of `kdsl explain`."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_CHECKOUT = os.path.dirname(_PACKAGE)

SPEC_SUFFIX = ".kspec"
PAGE_SUFFIX = ".md"


def specs_directory() -> str:
    """The folder of the shipped specs."""
    return _folder("specs", os.path.join(_CHECKOUT, "specs"))


def explanations_directory() -> str:
    """The folder with one page for each diagnostic code."""
    return _folder("explanations", os.path.join(_CHECKOUT, "docs", "diagnostics"))


def spec_names() -> tuple[str, ...]:
    """The names of the shipped specs, sorted."""
    return _stems(specs_directory(), SPEC_SUFFIX)


def spec_path(name: str) -> str | None:
    """The file of the shipped spec `name`, or None where there is none of that name."""
    path = os.path.join(specs_directory(), name + SPEC_SUFFIX)
    return path if name == os.path.basename(name) and os.path.isfile(path) else None


def templates_directory() -> str:
    """The folder of the specs that `kdsl init` starts from."""
    return _folder("templates", os.path.join(_CHECKOUT, "templates"))


def template_names() -> tuple[str, ...]:
    """The names of the templates, sorted."""
    return _stems(templates_directory(), SPEC_SUFFIX)


def template(name: str) -> str:
    """The text of a template."""
    with open(os.path.join(templates_directory(), name + SPEC_SUFFIX), encoding="utf-8") as file:
        return file.read()


def example_path(name: str) -> str:
    """The file of the shipped data `name`, as short as can be said from here."""
    path = os.path.join(_folder("examples", os.path.join(_CHECKOUT, "examples")), name)
    nearer = os.path.join("examples", name)
    return nearer if os.path.isfile(nearer) else path


def explained_codes() -> tuple[str, ...]:
    """The diagnostic codes that have a page, sorted."""
    return _stems(explanations_directory(), PAGE_SUFFIX)


def explanation(code: str) -> str | None:
    """The page about the diagnostic `code`, or None where there is none."""
    if code not in explained_codes():
        return None
    with open(os.path.join(explanations_directory(), code + PAGE_SUFFIX), encoding="utf-8") as page:
        return page.read()


def _folder(installed: str, in_checkout: str) -> str:
    """The folder inside the package where a wheel put it; in an editable install, the checkout's own."""
    path = os.path.join(_PACKAGE, installed)
    return path if os.path.isdir(path) else in_checkout


def _stems(folder: str, suffix: str) -> tuple[str, ...]:
    try:
        entries = os.listdir(folder)
    except FileNotFoundError:
        return ()
    return tuple(sorted(entry.removesuffix(suffix) for entry in entries if entry.endswith(suffix)))
