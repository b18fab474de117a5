"""Names as they are spelt in a spec, read as letters with their decorations: xi' is a xi with a hat or a prime."""

from __future__ import annotations

from kdsl.render.expr import Expr, Ident

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "eps": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "iota": "ι",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "upsilon": "υ",
    "phi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "Gamma": "Γ",
    "Delta": "Δ",
    "Theta": "Θ",
    "Lambda": "Λ",
    "Xi": "Ξ",
    "Pi": "Π",
    "Sigma": "Σ",
    "Phi": "Φ",
    "Psi": "Ψ",
    "Omega": "Ω",
}


def ident(name: str, subs: tuple[Expr, ...] = (), hats: bool = False) -> Ident:
    """`xi'` -> xi with a hat or a prime, `b0` -> b with the tag 0, `A_w` -> A with the tag w, `alpha^` -> a hat."""
    accent = ""
    stem = name.rstrip("'")
    primes = len(name) - len(stem)
    if stem.endswith("^"):
        stem, accent = stem[:-1], "hat"
    elif primes:
        accent = "hat" if hats and primes == 1 else "'" * primes
    base, tag = stem, ""
    if "_" in stem.strip("_"):
        head, _, rest = stem.partition("_")
        if is_letter(head) and rest:
            base, tag = head, rest
    else:
        head = stem.rstrip("0123456789")
        if head != stem and is_letter(head):
            base, tag = head, stem[len(head) :]
    return Ident(base, subs, accent, tag)


def is_letter(name: str) -> bool:
    """Whether a name is set as one letter, so that it can stand next to another without a space."""
    return len(name) == 1 or name in GREEK
