"""Replaces the derivation printed in README.md by what `kdsl derive svm_1norm` prints now."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def main() -> None:
    command = [sys.executable, "-m", "kdsl", "derive", "svm_1norm"]
    unicode = {**os.environ, "LC_ALL": "C.UTF-8"}
    derivation = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=unicode).stdout
    text = README.read_text(encoding="utf-8")
    block = f"```text\n{derivation}```\n"
    README.write_text(re.sub(r"^```text\n.*?^```\n", lambda _: block, text, flags=re.M | re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
