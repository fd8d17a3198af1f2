"""The text of Python files: in UTF-8 internally, and on disk in the encoding that their first lines name (PEP 263)."""

from __future__ import annotations

import codecs
import re
from encodings import normalize_encoding
from encodings.aliases import aliases
from pathlib import Path

from meshlens.foreign_files import NOTEBOOK, SOURCE, Unread, read_bytes

_TEXT_ENCODINGS = frozenset(
    "ascii big5 big5hkscs cp1006 cp1125 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp437 cp720 "
    "cp737 cp775 cp850 cp852 cp855 cp856 cp857 cp858 cp860 cp861 cp862 cp863 cp864 cp865 cp866 cp869 cp874 cp932 cp949 "
    "cp950 euc_jis_2004 euc_jisx0213 euc_jp euc_kr gb18030 gb2312 gbk hp_roman8 iso2022_jp iso2022_jp_1 iso2022_jp_2 "
    "iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext iso2022_kr iso8859_1 iso8859_10 iso8859_11 iso8859_13 iso8859_14 "
    "iso8859_15 iso8859_16 iso8859_2 iso8859_3 iso8859_4 iso8859_5 iso8859_6 iso8859_7 iso8859_8 iso8859_9 johab "
    "koi8_r koi8_t koi8_u kz1048 latin_1 mac_arabic mac_croatian mac_cyrillic mac_farsi mac_greek mac_iceland "
    "mac_latin2 mac_roman mac_romanian mac_turkish ptcp154 shift_jis shift_jis_2004 shift_jisx0213 tis_620 utf_8 "
    "utf_8_sig".split()
)
"""Python's own text encodings that are compatible with ASCII in letters, digits and brackets.

Others are not looked up: a lookup would import a module whose name comes from the file, and some of them do not encode
text.
"""

_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_COMMENT_OR_BLANK = re.compile(rb"[ \t\f]*(?:[#\r\n]|\Z)")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")
_UTF_8 = ("utf_8", "utf_8_sig")
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LONGEST_NAME = 40


def read_source(path: Path, most: int | None = None) -> bytes | Unread:
    """Returns the text of a Python file as UTF-8, or the bytes of a notebook.

    Args:
        path: the file.
        most: the maximum number of bytes, if not the default.
    """
    is_notebook = path.suffix == ".ipynb"
    raw = read_bytes(path, most if most is not None else NOTEBOOK if is_notebook else SOURCE)
    if isinstance(raw, Unread):
        return raw
    return raw if is_notebook else as_utf8(raw)


def as_utf8(raw: bytes) -> bytes | Unread:
    """Returns the text of a Python file as UTF-8.

    Args:
        raw: its bytes on disk.
    """
    encoding = _encoding_of(raw)
    if isinstance(encoding, Unread):
        return encoding
    if encoding in _UTF_8:
        return utf8(raw)
    try:
        return raw.decode(encoding).encode("utf-8")
    except UnicodeDecodeError as error:
        return _undecodable(raw, encoding, error.start)
    except ValueError:
        return _undecodable(raw, encoding, 0)


def utf8(raw: bytes) -> bytes | Unread:
    """Returns the bytes of a source text if they are UTF-8, ignoring its encoding line, since editors send UTF-8."""
    try:
        if not raw.isascii():
            raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return _undecodable(raw, "utf_8", error.start)
    return raw


def as_on_disk(text: bytes, before: bytes) -> bytes | Unread:
    """Returns a changed text in the encoding of its file.

    Args:
        text: the changed text, as UTF-8.
        before: the bytes of the file before the change.
    """
    encoding = _encoding_of(before)
    if isinstance(encoding, Unread) or encoding in _UTF_8:
        return encoding if isinstance(encoding, Unread) else text
    said = encoding.replace("_", "-")
    try:
        if before.decode(encoding).encode(encoding) != before:
            return Unread(f"cannot be changed: {said} can encode this text in more than one way; save it as UTF-8")
        changed = text.decode("utf-8").encode(encoding)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        return Unread(f'cannot be changed: its encoding, {said}, has no "{character}"; save it as UTF-8')
    except ValueError:
        return Unread(
            f"cannot be changed: its first lines declare {said}, but it is not valid {said}; save it as UTF-8"
        )
    if as_utf8(changed) != text:
        return Unread("cannot be changed: the change would move the line that declares its encoding; save it as UTF-8")
    return changed


def as_its_lines_say(text: bytes) -> bytes:
    """Returns a text in the encoding that its first lines name, or unchanged if the encoding cannot represent it.

    Args:
        text: the text of a Python file, as UTF-8.
    """
    encoding = _encoding_of(text)
    if isinstance(encoding, Unread) or encoding in _UTF_8:
        return text
    try:
        return text.decode("utf-8").encode(encoding)
    except ValueError:
        return text


def _encoding_of(raw: bytes) -> str | Unread:
    """Returns the name of the Python codec module that decodes a source text."""
    has_mark = raw.startswith(codecs.BOM_UTF8)
    cookie = _cookie(raw[len(codecs.BOM_UTF8) :] if has_mark else raw)
    if cookie is None:
        return "utf_8"
    spelled = cookie[: _LONGEST_NAME + 1].decode("ascii", "replace")
    encoding = _known(spelled)
    if encoding is None:
        shown = spelled if len(spelled) <= _LONGEST_NAME else f"{spelled[:_LONGEST_NAME]}…"
        return Unread(f'declares the encoding "{shown}", which is not usable for Python code; save it as UTF-8')
    if has_mark and encoding not in _UTF_8:
        return Unread(
            f'begins with a UTF-8 byte order mark but declares the encoding "{spelled}"; remove one of the two'
        )
    return encoding


def _cookie(raw: bytes) -> bytes | None:
    """Returns the encoding in the first two lines, as spelled there."""
    start = 0
    for _ in range(2):
        line = _LINE.match(raw, start)
        if line is None:
            return None
        if b"coding" in line[0] and (found := _COOKIE.match(line[0])) is not None:
            return found[1]
        if _COMMENT_OR_BLANK.match(line[0]) is None:
            return None
        start = line.end()
    return None


def _known(spelled: str) -> str | None:
    """Looks up the codec module of an encoding in a table; accepts Emacs' line-ending suffixes, as Python does."""
    name = spelled.lower().replace("_", "-")
    if name == "utf-8" or name.startswith("utf-8-"):
        return "utf_8"
    for one in ("latin-1", "iso-8859-1", "iso-latin-1"):
        if name == one or name.startswith(f"{one}-"):
            return "latin_1"
    key = normalize_encoding(name).lower()
    module = aliases.get(key) or aliases.get(key.replace(".", "_")) or key
    return module if module in _TEXT_ENCODINGS else None


def _undecodable(raw: bytes, encoding: str, start: int) -> Unread:
    if raw.startswith(_WIDE_MARKS):
        return Unread("saved as UTF-16, which Python cannot read; save it as UTF-8")
    if encoding in _UTF_8:
        return Unread(f"not UTF-8 at byte {start}; save it as UTF-8, or declare its encoding in the first line")
    said = encoding.replace("_", "-")
    return Unread(f"not {said} at byte {start}, although its first lines declare that encoding; save it as UTF-8")
