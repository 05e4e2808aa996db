"""How SPARQL computes the views of a literal from its lexical form: regular expressions and casts.

Patterns keep to what XPath 2.0 has: no `(?:`, no look-ahead, no `\\d` (which means all digits of Unicode). A value
without a view gives the cast an empty string, which is an error, so that the view stays unbound.

Date views are compared as text. With the time zone cut off and one way to write the rest, texts sort like the starts
of the spans that they name; a year before 0 starts with "-", which sorts before all digits, and one after 9999 is
written ":", which sorts after them. The span of v ends by the instant e iff v + "~" sorts before the shortest text for
e: "~" sorts after all that could follow v, so this is so iff each instant whose text starts with v sorts before e.
"""

from __future__ import annotations

import re

from qel.dates import write_instant, year_start
from qel.errors import QelUnsupported
from qel.text import Chain, Gap
from qel.values import View

MAX_GAPS = 100
"""The sum of a chain's bounds: engines compile them to memory, and refuse patterns that need much of it."""

NOT_BEFORE_ALL = ":"
"""How the date view writes years of more than four digits, all of which start at or after the year 10000."""
AFTER_ALL = "~"

_SPACE = "[ \t\r\n]*"
_ZONE = "([Zz]|[+-][0-9]{2}:[0-9]{2})"
_TIME = "[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?"
_LONG_MONTH = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT_MONTH = "(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY = "02-(0[1-9]|1[0-9]|2[0-8])"
_LEAP_YEAR = (
    "([0-9]{2,7}(0[48]|[2468][048]|[13579][26])"  # a multiple of 4 that does not end a century
    "|[0-9]{0,5}([02468][048]|[13579][26])00)"
)
_DAY = f"([0-9]{{4,9}}-({_LONG_MONTH}|{_SHORT_MONTH}|{_FEBRUARY})|{_LEAP_YEAR}-02-29)"
_DATE = f"(-?[0-9]{{4}}|[+-]?[0-9]{{4,9}}-(0[1-9]|1[0-2])|[+-]?{_DAY}({_TIME})?){_ZONE}?"

INTEGER_FORM = f"^{_SPACE}([+-]?[0-9]+|{_DATE}){_SPACE}$"
NUMBER_FORM = f"^{_SPACE}[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{{1,9}})?{_SPACE}$"
DATE_FORM = f"^{_SPACE}{_DATE}{_SPACE}$"

# Each is applied to what the forms above have admitted, so that they need not be strict themselves.
_TO_INTEGER = (f"^{_SPACE}([+-]?[0-9]+)[0-9TtZz:., \t\r\n+-]*$", "$1")
_TRIM = (f"^{_SPACE}([^ \t\r\n]+){_SPACE}$", "$1")
_TO_DATE = (
    (
        f"^{_SPACE}([+]|(-))?0*([0-9]{{4,9}}(-[0-9]{{2}}(-[0-9]{{2}}([Tt ][0-9:.,]+)?)?)?){_ZONE}?{_SPACE}$",
        "$2$3",
    ),
    ("^-0000", "0000"),
    ("^[1-9][0-9]{4,8}", NOT_BEFORE_ALL),
    ("[t ]", "T"),
    (",", "."),
)

# A word, as `qel.text` has it, is a run of letters and digits. Chains are looked for among words with one space between
# them: were the classes of letters repeated in the pattern, engines would compile it to megabytes.
_BETWEEN_WORDS = (r"[^\p{L}\p{N}]+", " ")
_CHAIN_START, _CHAIN_END = "(^| )", "( |$)"

_STEP = re.compile(r" ?(?:\(\[\^ \]\+ \)\{(?P<least>[0-9]{1,9}),(?P<most>[0-9]{0,9})\})?(?P<word>[^\W_]+)")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def view_expression(view: View, name: str) -> str:
    """What computes a view of a variable. `from_sparql` knows it again by its shape."""
    text = f"STR(?{name})"
    match view:
        case View.INTEGER:
            return f"xsd:integer({_if_form(name, INTEGER_FORM, _replace(text, *_TO_INTEGER))})"
        case View.DECIMAL:
            return f"xsd:double({_if_form(name, NUMBER_FORM, _replace(text, *_TRIM))})"
        case View.DATE:
            # An empty text needs no cast to fail every test: it sorts before all dates, and with "~" after them.
            normal = text
            for pattern, replacement in _TO_DATE:
                normal = _replace(normal, pattern, replacement)
            return _if_form(name, DATE_FORM, normal)
        case View.STRING:
            return text


def words_expression(name: str) -> str:
    """The words of a variable, one space between them."""
    return _replace(f"STR(?{name})", *_BETWEEN_WORDS)


def chain_pattern(chain: Chain) -> str:
    """A pattern for the words among which a chain occurs."""
    counted = sum(max(gap.least, gap.most or 0) for gap in chain.gaps)
    if counted > MAX_GAPS:
        raise QelUnsupported(
            f"in SPARQL, at most {MAX_GAPS} words can be counted between those of a chain, and this one has {counted:,}"
        )
    pattern = _CHAIN_START + chain.words[0]
    for gap, word in zip(chain.gaps, chain.words[1:], strict=True):
        between = "" if gap.most == 0 else f"([^ ]+ ){{{gap.least},{'' if gap.most is None else gap.most}}}"
        pattern += f" {between}{word}"
    return pattern + _CHAIN_END


def read_chain(pattern: str) -> Chain | None:
    """The chain that such a pattern looks for."""
    inner = pattern.removeprefix(_CHAIN_START).removesuffix(_CHAIN_END)
    words, gaps = [], []
    for step in _STEP.finditer(inner):
        words.append(step["word"])
        if len(words) > 1:
            most = step["most"] if step["least"] else "0"
            gaps.append(Gap(int(step["least"] or 0), int(most) if most else None))
    chain = Chain(tuple(words), tuple(gaps)) if words else None
    return chain if chain is not None and chain_pattern(chain) == pattern else None


def write_string(text: str) -> str:
    """A string of SPARQL that stands for exactly this text."""
    written = []
    for before, character in zip(f" {text}", text, strict=False):
        # Some engines expand escapes of code points before all else, also where the backslash is itself escaped. So
        # a "u" behind a backslash is written as such an escape itself.
        if before == "\\" and character in "uU":
            written.append(_code_point(character))
        else:
            written.append(_ESCAPES.get(character) or _escape(character))
    return f'"{"".join(written)}"'


def instant_text(instant: int) -> str:
    """The shortest date view that starts at an instant."""
    if not year_start(0) <= instant <= year_start(10_000):
        raise QelUnsupported("in SPARQL, dates are compared between the years 0 and 9999")
    return NOT_BEFORE_ALL if instant == year_start(10_000) else write_instant(instant)


def _if_form(name: str, form: str, expression: str) -> str:
    return f'IF(isLiteral(?{name}) && REGEX(STR(?{name}), {write_string(form)}), {expression}, "")'


def _replace(text: str, pattern: str, replacement: str) -> str:
    return f"REPLACE({text}, {write_string(pattern)}, {write_string(replacement)})"


def _escape(character: str) -> str:
    return character if character.isprintable() else _code_point(character)


def _code_point(character: str) -> str:
    """With eight digits: rdflib takes up to eight behind a small u, too."""
    return f"\\U{ord(character):08X}"
