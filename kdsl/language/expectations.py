"""Says in words what could stand where the parser stopped."""

from __future__ import annotations

from kdsl.language import _tables
from kdsl.language.lexer import Token

# Terminals in the order in which they are mentioned, with the words for each.
_WORDS: dict[str, str] = {
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "INNER_CLOSE": "`>`",
    "NORM_CLOSE": "`||`",
    "COLON": "`:`",
    "IN": "`in`",
    "EQUAL": "`=`",
    "DOTDOT": "`..`",
    "CROSS": "`x`",
    "LSQB": "`[`",
    "LPAR": "`(`",
    "SEMI": "`;`",
    "COMMA": "a comma",
    "DECL_COMMA": "a comma",
    "WHERE": "`where`",
    "NAME": "a name",
    "STRING": "a title in quotes",
    "NEWLINE": "the end of the line",
    "$END": "the end of the text",
}
_OPERANDS = frozenset({"NAME", "NUMBER", "LPAR", "INNER_OPEN", "NORM_OPEN", "SUM", "ARGMAX", "MINUS"})
_ORDERS = frozenset({"LESS_EQUAL", "GREATER_EQUAL", "LESS", "GREATER"})
_AFTER_OPERAND = frozenset({"STAR", "SLASH", "PLUS", "POWER"})
_MENTIONED = 4

_EXAMPLES: dict[str, str] = {
    "MODEL": 'a model line reads `model svm_1norm "1-norm soft margin"`',
    "INDEX": "an index line reads `index i in 1..l, g in groups`",
    "DATA": "a data line reads `data x[i] : input, y[i] : {-1, 1}`",
    "PARAM": "a param line reads `param C : in (0, inf) = 1`",
    "KERNEL": "a kernel line reads `kernel k = 0.5 * rbf(gamma = 1) + linear on age, income`",
    "VAR": "a var line reads `var w : H(k), b : real, xi[i] : real >= 0`",
    "LET": "a let line reads `let f(t) = <w, phi(t)> + b`",
    "LOSS": "a loss line reads `loss pinball(r; tau) = max(tau * r, (tau - 1) * r)`",
    "CONSTRAINT": "a constraint reads `margin[i]: y[i] * f(x[i]) >= 1 - xi[i]`",
    "MINIMIZE": "an objective reads `minimize 1/2 ||w||^2 + C * sum[i] xi[i]`",
    "MAXIMIZE": "an objective reads `maximize gamma`",
    "PREDICT": "a predict line reads `predict label(t) = sign(f(t))`",
}


def acceptable(before: list[Token], start: str) -> frozenset[str]:
    """The terminals that can follow the tokens of a logical line (or of an expression or kernel)."""
    states = [_tables.STARTS[start]]
    if start == "spec":
        states.append(_tables.GOTOS[states[0]]["lines"])
    for token in before:
        while (action := _tables.ACTIONS[states[-1]][token.type]) < 0:
            left, length, _ = _tables.RULES[-1 - action]
            if length:
                del states[-length:]
            states.append(_tables.GOTOS[states[-1]][left])
        states.append(action)
    return frozenset(terminal for terminal in _tables.ACTIONS[states[-1]] if _shifts(states, terminal))


def _shifts(states: list[int], terminal: str) -> bool:
    """Whether `terminal` is shifted after the reductions it asks for; the stack is left as it is."""
    kept = len(states)
    pushed: list[int] = []
    while True:
        state = pushed[-1] if pushed else states[kept - 1]
        action = _tables.ACTIONS[state].get(terminal)
        if action is None:
            return terminal == "$END" and state in _tables.ENDS.values()
        if action >= 0:
            return True
        left, length, _ = _tables.RULES[-1 - action]
        drop = min(length, len(pushed))
        del pushed[len(pushed) - drop :]
        kept -= length - drop
        state = pushed[-1] if pushed else states[kept - 1]
        pushed.append(_tables.GOTOS[state][left])


def expected_words(accepted: frozenset[str], kind: str) -> str:
    """`a relation such as <= after the left-hand side`, `` `)` or a comma``, ..."""
    rest = set(accepted)
    words: list[str] = []
    if "STAR" in rest and not {"LESS_EQUAL"} <= rest:
        rest -= _OPERANDS | {"LSQB"}
    if {"NAME", "NORM_OPEN", "LPAR"} <= rest and "STAR" not in rest:
        words.append("an expression")
        rest -= _OPERANDS
    elif {"REAL", "INPUT"} <= rest:
        words.append("a domain (real, real >= 0, input, {-1, 1}, in (0, inf), H(k) or a named set)")
        rest -= {"REAL", "INPUT", "HILBERT", "NAME", "LBRACE", "IN"}
    elif kind == "KERNEL" and {"NAME", "NUMBER"} <= rest:
        words.append("a kernel such as rbf(gamma = 0.5)")
        rest -= _OPERANDS
    elif kind == "INDEX" and {"NAME", "NUMBER"} <= rest:
        words.append("a set such as 1..l or groups")
        rest -= {"NAME", "NUMBER"}
    elif "SUBJECT_TO" in rest:
        words.append("a statement")
        rest.clear()
    if rest >= _ORDERS:
        if "NOT_EQUAL" in rest:
            side = " after the left-hand side" if kind == "CONSTRAINT" else ""
            return f"a relation such as <={side}"
        words.append("a bound such as >= 0")
    words += [word for terminal, word in _WORDS.items() if terminal in rest]
    if "STAR" in rest and len(words) < _MENTIONED:
        words.insert(0, "an operator")
    words = list(dict.fromkeys(words))[:_MENTIONED] or ["something else"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def found_words(token: Token) -> str:
    """The token as the reader sees it."""
    if token.type == "NEWLINE":
        return "the end of the line"
    if token.type == "$END":
        return "the end of the text"
    return f"`{token.text}`" if len(token.text) <= 40 else f"`{token.text[:40]}...`"


def example(kind: str) -> str:
    """What a statement of this kind looks like."""
    return _EXAMPLES.get(kind, "")
