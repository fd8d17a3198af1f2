"""The contents and size of the packaged extension, and that a Python with nothing installed runs its server."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from command_line import write
from packaged import PYTHONS, bare_pythons, unpack, vsix, without_network
from raw_client import Server
from real_editors import FILES

pytestmark = pytest.mark.editors
LARGEST = 8_000_000
LIBRARIES = """attr attrs cattr cattrs click exceptiongroup jedi lsprotocol meshlens packaging parso platformdirs pygls
ruamel ruamel_yaml tomli tree_sitter tree_sitter_python typing_extensions""".split()
ALLOWED = (
    r"\[Content_Types\]\.xml",
    r"extension\.vsixmanifest",
    r"extension/(LICENSE\.txt|changelog\.md|package(\.nls(\.[\w-]+)?)?\.json|readme\.md|SUPPORT\.md)",
    r"extension/dist/(extension|protocolClient)\.js",
    r"extension/images/[\w-]+\.(png|svg)",
    r"extension/walkthrough/[\w-]+\.md",
    r"extension/docs/meshlens\.schema\.json",
    r"extension/docs/tour/[\w/]+\.(md|py|svg|toml)",
    r"extension/bundled/run\.py",
    rf"extension/bundled/libs/({'|'.join(LIBRARIES)})/.+\.(py|pyi|typed|md|toml|scm|json|code-snippets|txt|txtpb)",
    r"extension/bundled/libs/typing_extensions\.py",
    r"extension/bundled/libs/jedi/third_party/typeshed/(LICENSE|stdlib/VERSIONS)",
    rf"extension/bundled/libs/({'|'.join(LIBRARIES)})-[\d.]+\.dist-info/(METADATA|entry_points\.txt|.*LICEN[CS]E.*)",
    r"extension/bundled/libs/tree_sitter/_binding\.(cpython-3\d+-[\w-]+\.so|cp3\d+-win_\w+\.pyd)",
    r"extension/bundled/libs/tree_sitter_python/_binding\.(abi3\.so|pyd)",
)


@pytest.fixture(scope="module")
def names() -> list[str]:
    with zipfile.ZipFile(vsix()) as archive:
        return archive.namelist()


def test_nothing_is_in_it_that_is_not_wanted(names):
    assert [name for name in names if not any(re.fullmatch(pattern, name) for pattern in ALLOWED)] == []


def test_what_its_manifest_names_is_in_it(names):
    with zipfile.ZipFile(vsix()) as archive:
        manifest = json.loads(archive.read("extension/package.json"))
    contributed = manifest["contributes"]
    steps = [step for walkthrough in contributed["walkthroughs"] for step in walkthrough["steps"]]
    named = [manifest["main"], manifest["icon"], *(one["url"] for one in contributed["tomlValidation"])]
    named += [path for step in steps for path in step["media"].values()]
    assert len(named) > 6
    assert [path for path in named if f"extension/{path.removeprefix('./')}" not in names] == []


def test_it_is_small():
    assert vsix().stat().st_size < LARGEST


def test_it_has_a_parser_for_every_python(names):
    parsers = [name for name in names if "/tree_sitter/_binding." in name and not name.endswith(".pyi")]
    assert sorted(re.findall(r"cp(?:ython-)?(3\d+)-", " ".join(parsers))) == [v.replace(".", "") for v in PYTHONS]


def test_its_server_runs_on_bare_pythons_without_a_network(tmp_path: Path):
    extension = unpack(vsix(), tmp_path / "unpacked")
    root = write(tmp_path / "project", FILES)
    pythons = bare_pythons(tmp_path / "environments")
    assert pythons, "no Python that the extension is for"
    for version, python in pythons.items():
        bare = [python, "-I", "-c", "import pygls"]
        assert b"No module named 'pygls'" in subprocess.run(bare, capture_output=True, check=False).stderr
        program, *arguments = [*without_network(), str(python), str(extension / "bundled" / "run.py"), "server"]
        server = Server(root, arguments, program, PYTHONPATH="", PYTHONDONTWRITEBYTECODE="1")
        try:
            name = server.initialize(root)["serverInfo"]["name"]
            uri = (root / "train.py").as_uri()
            server.open(uri, FILES["train.py"])
            found = [(one["code"], one["message"].split(";")[0]) for one in server.findings(uri)]
        finally:
            server.stop()
        assert name == "meshlens", version
        assert found == [("AX101", 'axis "bacth" is not bound here (bound: "batch")')], version
        tag = f"cpython-{version.replace('.', '')}"
        # Bytecode is kept whatever the user's environment says, so that no start compiles the server again.
        assert list(extension.glob(f"bundled/libs/meshlens/lsp/__pycache__/server.{tag}.pyc")), version


def test_it_says_who_it_is_for(names):
    with zipfile.ZipFile(vsix()) as archive:
        manifest = json.loads(archive.read("extension/package.json"))
        described = archive.read("extension.vsixmanifest").decode()
    target = re.search(r'TargetPlatform="([\w-]+)"', described)
    assert target
    assert target[1] in vsix().name
    assert manifest["version"] in vsix().name
