"""Random damage to small tables of every format: whatever is done to a file, it binds or it is refused with a message.

As a script: `python tests/binding/table_mutants.py SEED SECONDS` runs for that long and prints what broke.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from binding_models import BINARY

from kdsl.binding.binder import bind
from kdsl.binding.reading import read_table
from kdsl.binding.streaming import read_blocks
from kdsl.language.diagnostics import KdslError

PEOPLE = b'age,"in come",y,kind\n30,1.5,yes,"a, b"\n41,NA,no,c\n50,2,yes,d\n'
PIECES = [
    *(c.encode() for c in ',"\n\t;:0-{% #\r'),
    b"1e999",
    b"nan",
    b"inf",
    b"qid:",
    b"@data\n",
    b"\0",
    b"\xff",
    b"9" * 30,
]


def saved(save: Callable[..., object], *arguments: object, **named: object) -> bytes:
    sink = io.BytesIO()
    save(sink, *arguments, **named)
    return sink.getvalue()


def seeds() -> dict[str, bytes]:
    """One small good file of each format that can be written here."""
    files = {
        "a.csv": PEOPLE,
        "b.csv": b"age;inc;y\n30,5;2;a\n41,1;?;c\n",
        "c.dat": b"1.5 2 3\n2 3 4\n5 6 7\n",
        "d.svm": b"+1 1:0.5 3:2 # x\n-1 2:1\n+1 1:1e-3\n",
        "e.svm": b"3 qid:1 1:0.5 3:2\n1 qid:1 2:1\n2 qid:2\n",
        "f.arff": b"@relation r\n@attribute 'a b' numeric\n@attribute y {u,v}\n@data\n1,u\n2,v\n?,u\n",
        "g.csv.gz": gzip.compress(PEOPLE, mtime=0),
        "h.npz": saved(np.savez, X=np.eye(3), y=np.array([1, 2, 1])),
        "i.npy": saved(np.save, np.eye(3)),
        "j.npz": saved(sp.save_npz, sp.csr_array(np.eye(3))),
    }
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return files
    frame = pa.table({"age": [1.0, 2.0], "y": ["a", "b"]})
    files["k.parquet"] = saved(lambda sink: pq.write_table(frame, sink))
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, frame.schema) as writer:
        writer.write_table(frame)
    files["l.arrow"] = sink.getvalue()
    return files


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Cut off, overwritten, added to or shortened, up to five times."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        at, other = sorted((chance.randrange(len(content) + 1), chance.randrange(len(content) + 1)))
        how = chance.randrange(4)
        if how == 0:
            content = content[:at]
        elif how == 1:
            content = content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]
        elif how == 2:
            content = content[:at] + chance.choice(PIECES) + content[at:]
        else:
            content = content[:at] + content[other:]
    return content


def failure(name: str, chance: random.Random) -> str:
    """Reads and binds the file; "" when all went well or was refused, else the traceback."""
    options = {
        "onehot": chance.random() < 0.5,
        "drop_missing": chance.random() < 0.5,
        "scale": chance.choice(("none", "standard", "minmax")),
    }
    for use in (read_table, lambda path: list(read_blocks(path, 2)), lambda path: bind(BINARY, {"": path}, **options)):
        try:
            use(name)
        except KdslError as error:
            assert all(diagnostic.message for diagnostic in error.diagnostics)
        except Exception:
            return traceback.format_exc()
    return ""


def broken(seed: int, enough: Callable[[int], bool]) -> tuple[int, list[str]]:
    """How many mutants were tried in the current folder until `enough`, and what broke."""
    chance = random.Random(seed)
    files = seeds()
    found: list[str] = []
    tried = 0
    while not enough(tried):
        name = chance.choice(sorted(files))
        content = damaged(files[name], chance)
        Path(name).write_bytes(content)
        tried += 1
        said = failure(name, chance)
        if said:
            found.append(f"{name} {content!r}\n{said}")
    return tried, found


def main() -> int:
    seed, seconds = int(sys.argv[1]), float(sys.argv[2])
    os.chdir(tempfile.mkdtemp())
    end = time.monotonic() + seconds
    tried, found = broken(seed, lambda _: time.monotonic() > end)
    print("\n".join(found))
    print(f"{tried:,} damaged tables, {len(found)} not refused with a message")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
