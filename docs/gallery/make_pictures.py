"""Draws the picture of every page of the gallery by the page's own commands, reduced to 48 shades for the web."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
COMMANDS = re.compile(r"^\$ (kdsl solve .*|kdsl plot .*|python picture\.py)$", re.MULTILINE)


def draw(folder: Path) -> None:
    """One page's picture, in a copy of its folder."""
    page = (folder / f"{folder.name}.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(folder, Path(scratch) / folder.name)
        for command in COMMANDS.findall(page):
            subprocess.run(command, shell=True, check=True, cwd=copy, stdout=subprocess.DEVNULL)
        picture = Image.open(copy / f"{folder.name}.png").convert("RGB")
        reduced = picture.quantize(48, dither=Image.Dither.NONE)
        reduced.save(folder / f"{folder.name}.png", optimize=True)


if __name__ == "__main__":
    chosen = sys.argv[1:] or sorted(path.parent.name for path in HERE.glob("*/*.kspec"))
    for name in chosen:
        draw(HERE / name)
