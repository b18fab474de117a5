"""What a misspelt name was probably meant to be: edit distance, and letters that look alike."""

from __future__ import annotations

from collections.abc import Iterable

from kdsl.language.lexer import GREEK as LETTERS

# ASCII letters that a reader takes for a Greek one, with the spelling that the Greek one has here.
LOOK_ALIKES: dict[str, str] = {
    "a": "alpha",
    "B": "beta",
    "y": "gamma",
    "e": "eps",
    "n": "eta",
    "i": "iota",
    "k": "kappa",
    "u": "mu",
    "v": "nu",
    "o": "omicron",
    "p": "rho",
    "r": "rho",
    "s": "sigma",
    "t": "tau",
    "w": "omega",
    "x": "chi",
}

# The Greek letter of each spelled-out name.
GREEK: dict[str, str] = {
    name: letter for letter, name in reversed(LETTERS.items()) if len(name) > 1 and letter.isalpha() and letter != "ℝ"
}


def edit_distance(left: str, right: str) -> int:
    """Insertions, deletions, substitutions and swaps of two neighbouring letters count one each."""
    two_back: list[int] = []
    back: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        two_back, back, row = back, row, [i]
        for j, b in enumerate(right, 1):
            best = min(back[j] + 1, row[j - 1] + 1, back[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                best = min(best, two_back[j - 2] + 1)
            row.append(best)
    return row[-1]


def look_alike(name: str, known: Iterable[str]) -> str:
    """The known name whose printed form is easily taken for `name` (`v` for `nu`), or ""."""
    names = set(known)
    if LOOK_ALIKES.get(name, "") in names:
        return LOOK_ALIKES[name]
    return next((latin for latin, greek in LOOK_ALIKES.items() if greek == name and latin in names), "")


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that `name` most likely misspells, or "" where none is near enough."""
    if len(name) > 40:
        return ""
    best, best_distance = "", len(name) // 3 + (1 if len(name) > 1 else 0)
    for candidate in sorted(set(known)):
        if abs(len(candidate) - len(name)) > best_distance or (len(candidate) == 1 and len(name) > 1):
            continue
        if candidate.lower() == name.lower():
            return candidate
        distance = edit_distance(name, candidate)
        if distance < best_distance or (distance == best_distance and not best):
            best, best_distance = candidate, distance
    return best


def greek(name: str) -> str:
    """`nu` as `nu (ν)`; other names as they are."""
    return f"`{name}` ({GREEK[name]})" if name in GREEK else f"`{name}`"
