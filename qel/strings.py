"""What conjunctions of `contains` and `like` say: the strings that matter, and the shortest text that meets them."""

from __future__ import annotations


def longer_prefix(a: str, b: str) -> str | None:
    """Of two strings the one that starts with the other."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    return longer if longer.startswith(shorter) else None


def longest_parts(parts: set[str], prefix: str, suffix: str) -> tuple[str, ...]:
    """Without those that lie within another constant."""
    kept: list[str] = []
    for part in sorted(parts, key=lambda text: (-len(text), text)):
        if part not in prefix and part not in suffix and not any(part in longer for longer in kept):
            kept.append(part)
    return tuple(sorted(kept))


def needed_length(least: int, prefix: str, suffix: str) -> int:
    return least if least and least > shortest_with(prefix, suffix) else 0


def shortest_with(prefix: str, suffix: str) -> int:
    """The length of the shortest text that starts and ends so: the two overlap as far as they can."""
    if not prefix or not suffix:
        return max(len(prefix), len(suffix))
    return len(prefix) + len(suffix) - _overlap(prefix, suffix)


def _overlap(prefix: str, suffix: str) -> int:
    """How many characters at the end of one are the start of the other (Knuth, Morris, Pratt)."""
    fallback = [0] * len(suffix)
    matched = 0
    for i in range(1, len(suffix)):
        while matched and suffix[i] != suffix[matched]:
            matched = fallback[matched - 1]
        matched += suffix[i] == suffix[matched]
        fallback[i] = matched
    matched = 0
    for character in prefix:
        while matched and (matched == len(suffix) or character != suffix[matched]):
            matched = fallback[matched - 1]
        matched += character == suffix[matched]
    return matched
