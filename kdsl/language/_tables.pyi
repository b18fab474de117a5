"""The types of the parser's tables, which grammars/make_tables.py makes when the package is built."""

GRAMMAR_SHA256: str
STARTS: dict[str, int]
ENDS: dict[str, int]
RULES: tuple[tuple[str, int, str], ...]
ACTIONS: tuple[dict[str, int], ...]
GOTOS: tuple[dict[str, int], ...]
