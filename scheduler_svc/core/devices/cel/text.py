"""Texts as Go writes them in its errors."""

from typing import Final

_SHORT: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
# What Python calls printable and Go does not, is left out of both: they agree on what is in use.
_LAST_BYTE, _LAST_SHORT = 0x7F, 0xFFFF


def quoted(text: str) -> str:
    """Quote a text as strconv.Quote does. A byte that was no text is a lone surrogate."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(letter: str) -> str:
    code = ord(letter)
    if letter in _SHORT:
        return _SHORT[letter]
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if letter.isprintable():
        return letter
    if code < 0x20 or code == _LAST_BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LAST_SHORT else f"\\U{code:08x}"
