"""Sources in any encoding that Python reads (PEP 263): checked, fixed and shown correctly."""

from __future__ import annotations

import codecs
import io
import subprocess
import sys
import tokenize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import depth
from command_line import meshlens, write
from meshlens.foreign_files import Unread
from meshlens.project.disk.python_text import _TEXT_ENCODINGS, as_on_disk, as_utf8
from raw_client import PULLS, served

WRONG = """\
# -*- coding: {encoding} -*-
import jax

NAME = "{letters}"; step = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")  # {letters}
"""
LETTERS = [
    ("latin-1", "éàß"),
    ("iso-8859-15", "é€œ"),
    ("cp1252", "é€“"),
    ("cp1251", "жук"),
    ("koi8-r", "жук"),
    ("euc-jp", "日本"),
    ("shift_jis", "日本"),
    ("gbk", "中文"),
    ("big5", "中文"),
    ("gb18030", "中文😀"),
    ("euc_kr", "한국"),
    ("utf-8", "é日😀"),
]


@pytest.mark.parametrize(("encoding", "letters"), LETTERS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_fix_keeps_the_encoding_and_the_line_ends(tmp_path, encoding, letters, newline):
    text = WRONG.format(encoding=encoding, letters=letters).replace("\n", newline)
    write(tmp_path, {"a.py": text.encode(encoding)})
    found = meshlens("check", "--output-format", "concise", "--no-cache", cwd=tmp_path)
    column = text.split(newline)[3].index('"bacth"') + 1
    assert found.out.splitlines()[0].startswith(f"a.py:4:{column}: AX101 "), found
    shown = meshlens("check", "--output-format", "full", "--no-cache", cwd=tmp_path)
    assert f'NAME = "{letters}"; step' in shown.out
    fixed = meshlens("check", "--fix", "--no-cache", cwd=tmp_path)
    assert (fixed.code, fixed.err) == (0, "")
    assert (tmp_path / "a.py").read_bytes() == text.replace("bacth", "batch").encode(encoding)


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "letters"), depth.some(LETTERS, 5))
def test_a_patch_applies_to_a_file_of_any_encoding(tmp_path, encoding, letters):
    text = WRONG.format(encoding=encoding, letters=letters)
    write(tmp_path, {"a.py": text.encode(encoding)})
    package = "import sys; from meshlens.cli.main import main; main(['check', '--diff', 'a.py'])"
    patch = subprocess.run([sys.executable, "-c", package], cwd=tmp_path, capture_output=True, timeout=120).stdout
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True, timeout=120)
    assert (tmp_path / "a.py").read_bytes() == text.replace("bacth", "batch").encode(encoding)


def test_a_fix_of_a_text_on_stdin_keeps_its_encoding(tmp_path):
    text = WRONG.format(encoding="latin-1", letters="éàß")
    package = "import sys; from meshlens.cli.main import main; main(['check', '--fix', '-'])"
    ran = subprocess.run(
        [sys.executable, "-c", package], cwd=tmp_path, input=text.encode("latin-1"), capture_output=True, timeout=120
    )
    assert ran.stdout == text.replace("bacth", "batch").encode("latin-1"), ran.stderr


def test_a_character_that_the_encoding_lacks_is_not_written(tmp_path):
    axis = (
        '# -*- coding: latin-1 -*-\nimport jax\n\n\ndef total(x):\n    """é"""\n    return jax.lax.psum(x, "price")\n'
    )
    call = 'import jax\nfrom total import total\n\nprint(jax.pmap(total, axis_name="price€")(jax.numpy.ones((1, 2))))\n'
    write(tmp_path, {"total.py": axis.encode("latin-1"), "main.py": call})
    before = (tmp_path / "total.py").read_bytes()
    ran = meshlens("check", "--fix", "--unsafe-fixes", "--no-cache", cwd=tmp_path)
    assert ran.code == 2
    path = tmp_path / "total.py"
    sentence = 'cannot be changed: its encoding, latin-1, has no "€"; save it as UTF-8; nothing was written'
    assert ran.err == f"meshlens: {path}: {sentence}\n"
    assert path.read_bytes() == before


def test_converting_keeps_the_encoding(tmp_path):
    text = '# coding: latin-1\nimport jax\n\n\n@jax.pmap\ndef double(x):\n    """é"""\n    return 2 * x\n'
    write(tmp_path, {"a.py": text.encode("latin-1")})
    ran = meshlens("convert", "--to", "vmap", "--write", "a.py::double", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert (tmp_path / "a.py").read_bytes() == text.replace("@jax.pmap", "@jax.jit\n@jax.vmap").encode("latin-1")


NO_TEXT = (
    "rot13 hex zlib bz2 base64 uu quopri unicode_escape raw_unicode_escape idna punycode utf-7 utf-16 utf-32 undefined "
    "cp037 mbcs os this antigravity __main__ encodings.rot_13 ..os no-such-codec charmap"
).split()


@pytest.mark.parametrize("name", NO_TEXT)
def test_an_encoding_that_no_source_can_have(tmp_path, name):
    write(tmp_path, {"a.py": f"# -*- coding: {name} -*-\nimport jax\n", "b.py": "x = 1\n"})
    ran = meshlens("check", "--no-cache", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err == (
        f'meshlens: a.py: declares the encoding "{name}", which is not usable for Python code; save it as UTF-8\n'
    )


def test_an_encoding_of_5000_letters_is_cut():
    found = as_utf8(b"# coding: " + b"x" * 5000 + b"\n")
    assert isinstance(found, Unread)
    assert len(found.message) < 150


def test_a_name_of_an_encoding_imports_nothing(tmp_path):
    write(tmp_path, {"encodings/planted.py": "print('ran')\n", "planted.py": "print('ran')\n"})
    asked = "\n".join(
        [
            "import sys",
            "from meshlens.project.disk.python_text import as_utf8",
            "before = set(sys.modules)",
            "for name in ('planted', 'this', 'antigravity', 'encodings.rot_13', 'rot13', 'zlib', 'x' * 5000):",
            "    as_utf8(b'# coding: ' + name.encode() + b'\\n')",
            "print(sorted(set(sys.modules) - before))",
        ]
    )
    ran = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "[]\n", ran.stderr


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("x = 1\n".encode("utf-16"), "saved as UTF-16, which Python cannot read; save it as UTF-8"),
        (codecs.BOM_UTF16_BE + "x = 1\n".encode("utf-16-be"), "saved as UTF-16, which Python cannot read"),
        (b"x = '\xe9'\n", "not UTF-8 at byte 5; save it as UTF-8, or declare its encoding in the first line"),
        (b"# coding: ascii\nx = '\xe9'\n", "not ascii at byte 21, although its first lines declare that encoding"),
        (b"# coding: cp1252\nx = '\x81'\n", "not cp1252 at byte 22, although its first lines declare that encoding"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "begins with a UTF-8 byte order mark but declares"),
    ],
)
def test_bytes_that_are_not_what_they_say(tmp_path, raw, said):
    ran = meshlens("check", "--no-cache", cwd=write(tmp_path, {"a.py": raw, "b.py": "x = 1\n"}))
    assert ran.code == 2
    assert ran.err.startswith(f"meshlens: a.py: {said}")
    assert len(ran.err.splitlines()) == 1


def test_every_encoding_is_one_of_pythons_in_which_ascii_is_what_it_is():
    ascii_text = "".join(map(chr, range(32, 127))) + "\t\n"
    other = {"cp864", "shift_jis_2004", "shift_jisx0213"}
    for name in sorted(_TEXT_ENCODINGS):
        codec = codecs.lookup(name)
        assert codec._is_text_encoding, name
        assert name in other or ascii_text.encode("ascii").decode(name) == ascii_text, name


WORDS = """# coding : = latin-1 utf-8 utf-8-unix cp1252 -*- x=1 fileencoding Latin_1 iso-8859-1-unix UTF8 l9 koi8-r
rot13 ascii iso8859_15 \\ é""".split()
BYTES = [b" ", b"\t", b"\x0c", b"\n", b"\r\n", codecs.BOM_UTF8, b"\xe9", b'"""', *(word.encode() for word in WORDS)]
HEADS = st.lists(st.sampled_from(BYTES), max_size=12).map(b"".join)


@given(HEADS)
@example(b"\n# coding: latin-1\n\xe9")
@example(b"x = 1\n# coding: latin-1\n")
@example(b"#\n#\n# coding: latin-1\n")
def test_the_encoding_is_the_one_that_python_takes(raw):
    found = as_utf8(raw)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode("utf-8" if encoding == "utf-8-sig" else encoding)
    except (SyntaxError, ValueError, LookupError):
        assert isinstance(found, Unread)
    else:
        assert found == text.encode()


@given(st.binary(max_size=200), st.sampled_from(["", *sorted(_TEXT_ENCODINGS)]))
def test_any_bytes_are_a_text_or_a_sentence(raw, encoding):
    raw = f"# coding: {encoding}\n".encode() * bool(encoding) + raw
    found = as_utf8(raw)
    if isinstance(found, Unread):
        return
    found.decode("utf-8")
    again = as_on_disk(found, raw)
    assert again == raw or isinstance(again, Unread)


def test_the_server_follows_names_into_other_encodings(tmp_path):
    names = '# coding: latin-1\n"""é"""\nAXIS = "bacth"\n\n\ndef größe(x):\n    return x\n'
    text = 'import jax\nfrom names import AXIS\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, AXIS), axis_name="batch")\n'
    root = write(tmp_path, {"names.py": names.encode("latin-1"), "pyproject.toml": ""})
    with served(root, PULLS) as server:
        uri = (root / "train.py").as_uri()
        server.open(uri, text)
        assert [one["code"] for one in server.findings(uri)] == ["AX101"]
        changed = names.replace("bacth", "batch")
        (root / "names.py").write_bytes(changed.encode("latin-1"))
        change = {"uri": (root / "names.py").as_uri(), "type": 2}
        server.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
        assert server.findings(uri) == []
        # The editor sends the text as UTF-8, whatever its first line says.
        server.open((root / "names.py").as_uri(), changed.replace('"batch"', '"é"'))
        assert [one["message"].split('"')[1] for one in server.findings(uri)] == ["é"]
        assert "Traceback" not in server.log


def test_the_server_names_places_in_other_encodings_at_the_right_columns(tmp_path):
    inner = '# coding: latin-1\nimport jax\n\n\ndef total(x):\n    é = 1; return jax.lax.psum(x, "batch")\n'
    root = write(tmp_path, {"total.py": inner.encode("latin-1"), "pyproject.toml": ""})
    call = 'import jax\nfrom total import total\n\nprint(jax.pmap(total, axis_name="batch")(jax.numpy.ones((1, 2))))\n'
    with served(root, PULLS) as server:
        uri = (root / "main.py").as_uri()
        server.open(uri, call)
        at = {"line": 3, "character": call.split("\n")[3].index('"batch"')}
        asked = {"textDocument": {"uri": uri}, "position": at, "context": {"includeDeclaration": True}}
        found = server.request("textDocument/references", asked)
        (inside,) = [one["range"]["start"] for one in found if one["uri"] == (root / "total.py").as_uri()]
        assert inside == {"line": 5, "character": inner.split("\n")[5].index('"batch"')}
