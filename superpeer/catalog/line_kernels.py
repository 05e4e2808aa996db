"""Lines of N-Triples and N-Quads, cut by compiled loops over their bytes: see `superpeer.catalog.lines`.

Functions named after a term take where it begins and return where it ends, or `NONE` if it is not surely one. They
read up to a byte that cannot be part of the term: a block ends in a line break, and so nothing is read beyond it.

Three guesses spare most of the work. A subject is mostly that of the line before, a predicate mostly the one that
followed the last predicate before, and what stands behind a literal mostly what stood behind the last one of this
predicate: eight bytes are compared at a time, and what is the same was looked at before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superpeer.catalog.octets import same_bytes, word_at
from superpeer.matching.compiling import compiled

URI, LITERAL, BLANK = range(3)
"""Kinds of objects, in the lowest bits of a mark."""
KIND, ESCAPED, BLANK_SUBJECT = 3, 4, 8

NONE = -1

_ALPHA, _DIGIT, _SCHEME, _HOST, _AFTER, _LABEL, _TEXT, _ESCAPE = (1 << i for i in range(8))


def _classes() -> Any:
    letters, digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", b"0123456789"
    found = np.zeros(256, np.uint8)
    for mask, members in (
        (_ALPHA, letters),
        (_DIGIT, digits),
        (_SCHEME, letters + digits + b"+.-"),
        (_HOST, letters + digits + b".-"),
        (_AFTER, letters + digits + b"._~!$&'()*+,;=:@/?-"),
        (_LABEL, letters + digits + b"_-"),
        (_TEXT, b"\t" + bytes(one for one in range(0x20, 0x80) if one not in b'"\\')),
        (_ESCAPE, b"tbnrf\"'\\"),
    ):
        found[list(members)] |= np.uint8(mask)
    return found


_CLASS = _classes()
_NEWLINE, _RETURN, _SPACE, _TAB, _QUOTE, _BACKSLASH, _UNDERSCORE, _COLON, _SLASH, _QUESTION = b'\n\r \t"\\_:/?'
_HASH, _OPEN, _CLOSE, _AT, _CARET, _DOT, _MINUS = b"#<>@^.-"

_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_QUOTES, _BACKSLASHES, _SPACES = (_ONES * np.uint64(one) for one in (_QUOTE, _BACKSLASH, _SPACE))

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@compiled
def split_lines(
    data: Any, has_graphs: bool, terms: Any, codes: Any, marks: Any, undecided: Any, names: Any, tails: Any
) -> tuple[int, int, int, int]:
    """Fills in for each well-formed line where subject and object begin and end (`terms`), the numbers of its predicate
    and of what follows its literal (`codes`), and its mark; for each undecided line where it begins and ends. `names`
    and `tails` give numbers to texts, see `_number_of`. Returns how many of all these there are."""
    size = len(data)
    count = missed = names_count = tails_count = 0
    follows, tail_of = np.zeros(len(names[1]), np.int32), np.zeros(len(names[1]), np.int32)
    subject, subject_size, last = 0, 0, NONE
    line = 0
    while line < size:
        at = line + subject_size
        if not (
            subject_size
            and at < size
            and data[np.uint64(at)] == _SPACE
            and same_bytes(data, line, subject, subject_size)
        ):
            at = _node(data, line)
            subject, subject_size = line, max(at - line, 0)
        name = tail = NONE
        name_start = name_end = tail_start = object_start = object_end = 0
        mark = BLANK_SUBJECT if data[np.uint64(line)] == _UNDERSCORE else 0
        subject_end = at
        if at >= 0 and data[np.uint64(at)] == _SPACE and data[np.uint64(at + 1)] == _OPEN:
            name_start = at + 2
            at = NONE
            if last >= 0:
                guess = follows[last]
                guessed = names[2][guess] - names[1][guess]
                if name_start + guessed < size and same_bytes(data, name_start, names[1][guess], guessed + 1):
                    name, at = guess, name_start + guessed
            if name == NONE:
                at = _iri(data, name_start)
            name_end = at
        else:
            at = NONE
        if at >= 0 and data[np.uint64(at + 1)] == _SPACE:
            at += 2
            if data[np.uint64(at)] == _QUOTE:
                mark |= LITERAL
                object_start = at + 1
                object_end, escaped = _text(data, object_start)
                at = NONE
                if object_end >= 0:
                    mark |= escaped
                    tail_start = object_end + 1
                    if name >= 0 and tail_of[name]:
                        guess = tail_of[name] - 1
                        guessed = tails[2][guess] - tails[1][guess]
                        at = tail_start + guessed
                        if at < size and data[np.uint64(at)] == _SPACE:
                            tail = guess if same_bytes(data, tail_start, tails[1][guess], guessed) else NONE
                    if tail == NONE:
                        at = _tail(data, tail_start)
            else:
                mark |= BLANK if data[np.uint64(at)] == _UNDERSCORE else URI
                object_start = at + (2 if mark & BLANK else 1)
                at = _node(data, at)
                object_end = at if mark & BLANK else at - 1
                tail_start = at
        else:
            at = NONE
        end = _ending(data, at, has_graphs) if at >= 0 else NONE
        if end == NONE:
            end = line
            while data[np.uint64(end)] != _NEWLINE:
                end += 1
            end += 1
            undecided[missed, 0], undecided[missed, 1] = line, end
            missed += 1
            line = end
            continue
        if name == NONE:
            name = _number_of(data, name_start, name_end, names, names_count)
            names_count += name == names_count
            if last >= 0:
                follows[last] = name
        if tail == NONE:
            tail = _number_of(data, tail_start, at, tails, tails_count)
            tails_count += tail == tails_count
            if mark & KIND == LITERAL:
                tail_of[name] = tail + 1
        terms[0, count] = line + (2 if mark & BLANK_SUBJECT else 1)
        terms[1, count] = subject_end - (0 if mark & BLANK_SUBJECT else 1)
        terms[2, count], terms[3, count] = object_start, object_end
        codes[0, count], codes[1, count] = name, tail
        marks[count] = mark
        count += 1
        last = name
        line = end
    return count, missed, names_count, tails_count


@compiled
def _node(data: Any, at: int) -> int:
    """An IRI in its brackets, or a blank node."""
    if data[np.uint64(at)] == _OPEN:
        end = _iri(data, at + 1)
        return end + 1 if end >= 0 else NONE
    if data[np.uint64(at)] != _UNDERSCORE or data[np.uint64(at + 1)] != _COLON:
        return NONE
    at += 2
    if data[np.uint64(at)] == _MINUS or not _CLASS[data[np.uint64(at)]] & _LABEL:
        return NONE
    return _while(data, at, _LABEL)


@compiled
def _while(data: Any, at: int, mask: int) -> int:
    """Past all bytes of a class."""
    while _CLASS[data[np.uint64(at)]] & mask:
        at += 1
    return at


@compiled
def _iri(data: Any, at: int) -> int:
    """From behind the opening bracket to the closing one."""
    if not _CLASS[data[np.uint64(at)]] & _ALPHA:
        return NONE
    at = _while(data, at + 1, _SCHEME)
    if data[np.uint64(at)] != _COLON:
        return NONE
    at += 1
    if data[np.uint64(at)] == _SLASH and data[np.uint64(at + 1)] == _SLASH:
        at = _while(data, at + 2, _HOST)
        if data[np.uint64(at)] == _COLON:
            if not _CLASS[data[np.uint64(at + 1)]] & _DIGIT:
                return NONE
            at = _while(data, at + 1, _DIGIT)
        if data[np.uint64(at)] == _SLASH or data[np.uint64(at)] == _QUESTION:
            at = _while(data, at, _AFTER)
    else:
        at = _while(data, at, _AFTER)
    if data[np.uint64(at)] == _HASH:
        at = _while(data, at + 1, _AFTER)
    return at if data[np.uint64(at)] == _CLOSE else NONE


@compiled
def _text(data: Any, at: int) -> tuple[int, int]:
    """From behind the opening quote to the closing one, and whether there are escapes."""
    size, escaped = len(data), 0
    while True:
        while at + 8 < size:
            word = word_at(data, at)
            quotes, backslashes = word ^ _QUOTES, word ^ _BACKSLASHES
            # A byte has its top bit set here if it is a control character, a quote, a backslash or not of ASCII. One
            # that stands above such a byte may have it, too, and is looked at in vain.
            odd = (word - _SPACES) & ~word | (quotes - _ONES) & ~quotes | (backslashes - _ONES) & ~backslashes | word
            if odd & _TOPS:
                break
            at += 8
        byte = data[np.uint64(at)]
        if _CLASS[byte] & _TEXT:
            at += 1
        elif byte >= 0x80:
            at = _character(data, at)
            if at < 0:
                return NONE, 0
        elif byte == _BACKSLASH and _CLASS[data[np.uint64(at + 1)]] & _ESCAPE:
            escaped = ESCAPED
            at += 2
        else:
            return (at if byte == _QUOTE else NONE), escaped


@compiled
def _character(data: Any, at: int) -> int:
    """A character of several bytes in UTF-8. Neither halves of surrogate pairs are any, nor what is written longer than
    it need be."""
    first, second = data[np.uint64(at)], data[np.uint64(at + 1)]
    if first < 0xC2 or first > 0xF4:
        return NONE
    low, high = 0x80, 0xBF
    if first == 0xE0:
        low = 0xA0
    elif first == 0xED:
        high = 0x9F
    elif first == 0xF0:
        low = 0x90
    elif first == 0xF4:
        high = 0x8F
    if second < low or second > high:
        return NONE
    more = 0 if first < 0xE0 else 1 if first < 0xF0 else 2
    for i in range(more):
        if data[np.uint64(at + 2 + i)] & 0xC0 != 0x80:
            return NONE
    return at + 2 + more


@compiled
def _tail(data: Any, at: int) -> int:
    """What may follow a literal: a language or a datatype, or nothing."""
    if data[np.uint64(at)] == _AT:
        return _language(data, at + 1)
    if data[np.uint64(at)] != _CARET:
        return at
    if data[np.uint64(at + 1)] != _CARET or data[np.uint64(at + 2)] != _OPEN:
        return NONE
    end = _iri(data, at + 3)
    return end + 1 if end >= 0 else NONE


@compiled
def _language(data: Any, at: int) -> int:
    """Two or three letters, a script of four, a region of two letters or three digits."""
    end = _while(data, at, _ALPHA)
    if not 2 <= end - at <= 3:
        return NONE
    at = end
    if data[np.uint64(at)] == _MINUS and _while(data, at + 1, _ALPHA) == at + 5:
        at += 5
    if data[np.uint64(at)] != _MINUS:
        return at
    if _while(data, at + 1, _ALPHA) == at + 3:
        return at + 3
    return at + 4 if _while(data, at + 1, _DIGIT) == at + 4 else NONE


@compiled
def _ending(data: Any, at: int, has_graphs: bool) -> int:
    """From behind the object to the next line."""
    if data[np.uint64(at)] != _SPACE:
        return NONE
    at += 1
    if has_graphs and data[np.uint64(at)] != _DOT:
        at = _node(data, at)
        if at < 0 or data[np.uint64(at)] != _SPACE:
            return NONE
        at += 1
    if data[np.uint64(at)] != _DOT:
        return NONE
    at += 2 if data[np.uint64(at + 1)] == _RETURN else 1
    return at + 1 if data[np.uint64(at)] == _NEWLINE else NONE


@compiled
def _number_of(data: Any, start: int, end: int, known: Any, count: int) -> int:
    """The number of a text among those that came before, or the next one, `count`. `known` is a table of numbers, from
    1, by hash, and where the first of each begins and ends."""
    table, starts, ends = known
    size = end - start
    mixed = np.uint64(size)
    at = start
    while at + 8 <= end:
        mixed = (mixed ^ word_at(data, at)) * _PRIME
        mixed ^= mixed >> _HALF
        at += 8
    while at < end:
        mixed = (mixed ^ np.uint64(data[np.uint64(at)])) * _PRIME
        at += 1
    place = (mixed ^ mixed >> _HALF) & np.uint64(len(table) - 1)
    while table[place]:
        number: int = table[place] - 1
        if ends[number] - starts[number] == size and same_bytes(data, starts[number], start, size):
            return number
        place = (place + np.uint64(1)) & np.uint64(len(table) - 1)
    table[place] = count + 1
    starts[count], ends[count] = start, end
    return count
