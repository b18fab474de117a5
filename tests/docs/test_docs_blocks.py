"""Every page is run as a reader would copy it, README too; KDSL_UPDATE_GOLDEN=1 rewrites what they show."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest
from doc_blocks import blocks, same
from doc_runner import Reader, reader, run_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "gallery").rglob("*.md"))]
UPDATE = bool(os.environ.get("KDSL_UPDATE_GOLDEN"))

__all__ = ["reader"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_block_does_what_the_page_says(path: Path, reader: Reader) -> None:
    written = path.read_text(encoding="utf-8")
    ought = run_page(written, reader)
    if UPDATE and ought != written:
        assert path.read_text(encoding="utf-8") == written, "the page was changed while it was run"
        path.write_text(ought, encoding="utf-8")
        return
    differences = difflib.unified_diff(written.splitlines(), ought.splitlines(), "shown", "printed", lineterm="", n=1)
    assert ought == written, "\n".join(differences)


def test_what_varies_is_not_compared_and_the_rest_is() -> None:
    assert same(["effort  102 iterations, 0.068 s (read 0.002, lower 0.003, solve 0.01, certify 0.06)"], [
        "effort  7 iterations, 1.2 s (read 1, lower 2.5, solve 3e-05, certify 4)"
    ])  # fmt: skip
    assert same(["value  57.9843", "sv_gap 3.1e-05"], ["value 57.98431", "sv_gap 4e-06"])
    assert same(["gap  0.0011 (relative 2e-05)"], ["gap  0.012 (relative 2e-04)"])
    assert same(["primal_residual    0             0"], ["primal_residual    0  1.110223e-16"])
    assert same(["a", "residual  1e-06 in margin at [3]", "b"], ["a", "b"])
    assert same(["a", "...", "z"], ["a", "b", "c", "z"]) and same(["a", "..."], ["a"])
    assert not same(["value  57.9843"], ["value  57.8"])
    assert not same(["sv_gap 3.1e-05"], ["sv_gap 0.02"])
    assert not same(["support  42 nonzero"], ["support  43 nonzero"])
    assert not same(["    1/2 x"], ["  1/2 x"])
    assert not same(["a", "...", "z"], ["a", "b", "c"])
    assert not same(["a"], ["a", "b"])


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("```sh\nfalse\n```\n", "exit code 1"),
        ("```sh\nkdsl chek x\n```\n", "unknown verb"),
        ("```python\nprint(1)\n```\n\nand\n\n```text\n1\n```\n", "what prints this text"),
        ("```ruby\n1\n```\n", "no block of `ruby`"),
        ("```toml\na = 1\n```\n", "needs a title"),
        ("- a list\n\n    ```sh\n    true\n    ```\n", "indented"),
        ("```sh\ntrue\n", "does not end"),
    ],
)
def test_a_page_that_is_wrong_fails(page: str, reason: str, reader: Reader) -> None:
    with pytest.raises(AssertionError, match=reason):
        run_page(page, reader)


def test_a_spec_that_is_wrong_fails(reader: Reader) -> None:
    from kdsl import KdslError

    with pytest.raises(KdslError):
        run_page("```kspec\nindex i in\n```\n", reader)
    with pytest.raises(KdslError):
        run_page("```kspec\nvar w : H(k)\nminimize ||w||^2\n```\n", reader)


def test_output_that_differs_is_put_right(reader: Reader) -> None:
    page = "```console\n$ echo one\ntwo\n$ cat <<E\n> three\n> E\nfour\n```\n\n"
    page += "```python\nprint(5)\n```\n\n```text\n6\n```\n"
    ought = page.replace("two", "one").replace("four", "three").replace("6", "5")
    assert run_page(page, reader) == ought
    assert run_page(ought, reader) == ought
    hidden = "```python\nprint(7)\n```\n"
    assert run_page(hidden, reader) == hidden + "\n```text\n7\n```\n"


def test_the_shell_keeps_its_place_its_variables_and_its_status(reader: Reader) -> None:
    reader.shell("mkdir a && cd a && export WHERE=there\nfalse")
    assert reader.shell("echo $? $WHERE $(basename $PWD)") == "1 there a\n"
    assert reader.python("import os\nprint(os.path.basename(os.getcwd()))\n") == "a\n"


def test_blocks_are_found_where_they_stand() -> None:
    page = 'x\n<!-- not run: it installs -->\n```sh\na\n```\n\n```kspec title="b.kspec"\nc\n```\n'
    first, second = blocks(page)
    assert (first.exempt, first.line, second.exempt, second.title, second.text) == (True, 3, False, "b.kspec", "c\n")
