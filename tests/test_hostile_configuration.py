"""Hostile configuration and metadata: each value is understood, ignored, or reported in a sentence; every run ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import depth
from command_line import TYPO, meshlens, start, write
from depth import examples
from meshlens.devices.interpreters import Wishes, choose_interpreter, find_interpreters
from meshlens.devices.topology import BadTopology, parse_topology
from meshlens.devices.trust import interpreter_leads_into
from meshlens.project.disk.discover import python_files
from meshlens.project.disk.patterns import matches
from meshlens.project.disk.toml_text import parse_toml
from meshlens.project.settings.configuration import OWN_FILE, SHARED_FILE, read_configuration
from meshlens.project.settings.jax_locks import LOCKS
from meshlens.project.settings.jax_version import find_jax_version
from meshlens.settings import BadSetting, Settings, keys, parse, shown
from raw_client import PULLS, served

SECONDS = 60
DIGITS = "1" * 5000
MANY = "'a'," * 10_001


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


def _checked(root: Path, *arguments: str) -> tuple[int, str, str]:
    """Runs a check in a separate process, as these tests could otherwise hang."""
    process = start("check", "--output-format", "concise", "--no-cache", *arguments, cwd=root)
    try:
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(
    ("line", "said"),
    depth.some(
        [
            (f'exclude = ["{"a" * 5000}"]', '"exclude": expected patterns of at most 4,096 characters, not ["aaa'),
            (f"exclude = [{MANY}]", '"exclude": expected at most 10,000 patterns, not ["a"'),
            (f"per-file-ignores = {{ {'a' * 5000} = [] }}", '"per-file-ignores": expected patterns of at most 4,096'),
            (f"select = [{MANY}]", '"select": expected at most 1,000 rules, each of at most 100 characters, not ["a"'),
            (
                f'ignore = ["{"a" * 5000}"]',
                '"ignore": expected at most 1,000 rules, each of at',
            ),
            ("exclude = " + "[" * 3000, "its values are nested too deeply; use fewer nested brackets"),
            (f"devices = {DIGITS}", "a number in it has too many digits; use a smaller one"),
            (f'devices = "{DIGITS}"', '"devices": expected a number of devices (8), a shape'),
            (
                f"devices = 0x{'f' * 5000}",
                '"devices": expected at most 1,000,000 devices, not a number with more than 60',
            ),
            (
                f"exclude = 0x{'f' * 5000}",
                '"exclude": expected a list of strings, not a number with more than 60 digits',
            ),
            (f'jax-version = "{DIGITS}"', '"jax-version": expected a version of JAX, such as "0.4.30", not "1111'),
            ('interpreter = "a\\u0000b"', '"interpreter": expected a path, not "a'),
            (f"{'a.' * 3000}a = 1", "a key has more than 100 parts; use fewer nested tables"),
            (f"exclude = {'[' * 300}{']' * 300}", '"exclude": expected a list of strings, not [[[[ … ]]]]'),
            (f"{'a' * 5000} = 1", 'unknown key "aaaa'),
            ("exclude = 2020-99-99", "invalid"),
        ],
        4,
    ),
    ids=lambda value: str(value)[:30],
)
def test_a_setting_that_makes_no_sense_is_one_sentence(tmp_path, line, said):
    code, out, err = _checked(write(tmp_path, {"a.py": TYPO, OWN_FILE: line + "\n"}))
    assert code == 2
    assert "AX101" not in out
    assert len(err.splitlines()) == 1
    assert len(err) < 300
    assert err.startswith(("meshlens: meshlens.toml: ", "meshlens: meshlens.toml:1: "))
    assert said in err or said == "invalid"


def test_a_thousand_wrong_keys_are_not_a_thousand_lines(tmp_path):
    lines = "".join(f"key{number} = 1\n" for number in range(1000))
    ran = meshlens("check", "--no-cache", cwd=write(tmp_path, {"a.py": TYPO, OWN_FILE: lines}))
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 21
    assert ran.err.endswith("the other keys were not checked; fix these errors first\n")


def test_a_thousand_rules_that_there_are_not_are_not_a_thousand_lines(tmp_path):
    names = ", ".join(f'"none-{number}"' for number in range(1000))
    files = {"a.py": TYPO, OWN_FILE: f"select = [{names}]\n"}
    ran = meshlens("check", "--no-cache", cwd=write(tmp_path, files))
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 20


METADATA = {
    "blank lines": {"pyproject.toml": "\n" * 100_000 + "jax"},
    "blank lines of poetry": {"pyproject.toml": "[tool.poetry.dependencies]\njax = '*'\n" + "\n" * 200_000},
    "names in a lock": {"uv.lock": 'name = "jax"\n' * 60_000},
    "tables in a lock": {"uv.lock": '[[package]]\nname = "jax"\n' * 60_000},
    "lines in pixi.lock": {"pixi.lock": "name: jax" + "\n" * 200_000},
    "digits": {"requirements.txt": f"jax=={DIGITS}\njax<={DIGITS}\njax~={DIGITS}\n"},
    "digits of conda": {"environment.yml": f"dependencies:\n  - jax={DIGITS}\n"},
    "digits of poetry": {"pyproject.toml": f"[tool.poetry.dependencies]\njax = '^{DIGITS}'\n"},
    "digits of a lock": {"uv.lock": f'[[package]]\nname = "jax"\nversion = "{DIGITS}"\n'},
    "digits of a number": {"pyproject.toml": f"[project]\ndependencies = ['jax']\nx = {DIGITS}\n"},
    "digits of its own": {"jax/version.py": f'_version = "{DIGITS}"\n', "jax/lax/__init__.py": ""},
    "strings for tables": {"pyproject.toml": "project = 'jax==1'\ntool = 'jax==1'\ndependency-groups = 'jax==1'\n"},
    "numbers for lists": {"pyproject.toml": "[project]\nname = 'jax'\ndependencies = 3\noptional-dependencies = 4\n"},
    "brackets": {"pyproject.toml": "jax = " + "[" * 3000},
    "brackets of a lock": {"uv.lock": '[[package]]\nname = "jax"\nversion = ' + "[" * 3000},
    "braces of pipenv": {"Pipfile.lock": '{"jax":' * 100_000},
    "strings for tables of pipenv": {"Pipfile.lock": '{"default": "jax", "develop": {"jax": 3}}'},
    "tables below tables": {"pyproject.toml": f"[tool{'.x' * 90}]\njax = '==0.4.1'\n"},
    "extras without end": {"requirements.txt": "jax[" * 100_000},
    "bounds without end": {"requirements.txt": "jax" + "<1," * 100_000},
    "distinct bounds": {"requirements.txt": "".join(f"jax>0.{number}\n" for number in range(50_000))},
    "quotes": {"setup.py": "'\"" * 200_000},
    "an old pyvenv.cfg": {".venv/bin/python": "", ".venv/pyvenv.cfg": "\n" * 60_000},
}


@pytest.mark.slow
@pytest.mark.parametrize("files", depth.some([*METADATA.values()], 4), ids=METADATA)
def test_metadata_says_nothing_rather_than_ends_the_run(tmp_path, files):
    code, out, err = _checked(write(tmp_path, {"a.py": TYPO, **files}))
    assert (code, err) == (1, "")
    assert "AX101" in out


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"requirements.txt": "jax!=0.11.0,<0.11.1\n"}, (0, 10, 2)),
        ({"requirements.txt": "jax>=0.4.30,!=0.4.38,<0.5\n"}, (0, 4, 37)),
        ({"requirements.txt": "jax<=0.4.100\n"}, (0, 4, 38)),
        ({"requirements.txt": "jax (>=0.4, <0.5)\n"}, (0, 4, 38)),
        ({"requirements.txt": "jax==0.4.26 \\\n    --hash=sha256:00\n"}, (0, 4, 26)),
        ({"requirements.txt": "jax==0.4.26 --hash=sha256:00\n"}, (0, 4, 26)),
        ({"requirements.txt": "jax===0.4.26\n"}, (0, 4, 26)),
        ({"requirements.txt": "jax==0.4.26+cuda\n"}, (0, 4, 26)),
        ({"requirements.txt": "jax @ https://example.org/jax-0.4.26.whl\n"}, None),
        ({"requirements.txt": "jax==${VERSION}\n"}, None),
        ({"pyproject.toml": '[project.optional-dependencies]\ncpu = ["jax==0.4.30"]\n'}, (0, 4, 30)),
        ({"pyproject.toml": '[dependency-groups]\ndev = ["jax==0.4.30"]\n'}, (0, 4, 30)),
        ({"pyproject.toml": '[tool.pixi.pypi-dependencies]\njax = { version = ">=0.4.30,<0.6" }\n'}, (0, 5, 3)),
        ({"pyproject.toml": '[tool.poetry.dependencies]\njax = "~0.4.20"\n'}, (0, 4, 38)),
        ({"pyproject.toml": '[tool.poetry.dependencies]\njax = "^0.4"\n'}, (0, 4, 38)),
        ({"pyproject.toml": '[project]\ndescription = "jax==0.4.30"\n'}, None),
        ({"Pipfile.lock": json.dumps({"default": {"jax": {"version": "==0.4.31"}}})}, (0, 4, 31)),
        ({"pylock.toml": '[[packages]]\nname = "jax"\nversion = "0.6.1"\n'}, (0, 6, 1)),
        ({"uv.lock": '[[package]]\r\nname = "jax"\r\nversion = "0.6.1"\r\n'}, (0, 6, 1)),
        ({"uv.lock": '[[package]]\nname = "jax"\n\n[[package]]\nname = "x"\nversion = "9.9.9"\n'}, None),
        ({"environment.yml": "dependencies:\n  - jax=0.4.5\n  - pip:\n"}, (0, 4, 5)),
    ],
)
def test_what_requirements_mean(tmp_path, files, version):
    assert find_jax_version(write(tmp_path, files), Settings()) == version


NAMES = (*LOCKS, "requirements.txt", "pyproject.toml", "setup.py", "setup.cfg", "environment.yml", "jax/version.py")
SPELLED = """[[package]] name = "jax" version 0.4.30 == <= ~= != , [ ] { } "jax==0.4.1" [project] dependencies
tool.poetry ^0.4 \\ ' # ; jax jax[cuda] name: version: * dependencies: - _version default é"""
WORDS = st.sampled_from([*SPELLED.split(), "\n", "\0", "\ufeff"])
TEXTS = st.one_of(st.binary(max_size=200), st.lists(WORDS, max_size=20).map(lambda words: " ".join(words).encode()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("any"), {"jax/lax/__init__.py": ""})


@given(name=st.sampled_from(NAMES), raw=TEXTS)
@settings(max_examples=examples(500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_of_metadata_are_read_or_left(folder, name, raw):
    for one in NAMES:
        (folder / one).write_bytes(raw if one == name else b"")
    found = find_jax_version(folder, Settings())
    assert found is None or (len(found) >= 3 and all(isinstance(number, int) for number in found))


@given(name=st.sampled_from([OWN_FILE, SHARED_FILE]), raw=TEXTS)
@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_of_a_configuration_are_settings_or_sentences(folder, name, raw):
    path = folder / name
    path.write_bytes(b"[tool.meshlens]\n" * (name == SHARED_FILE) + raw)
    read = read_configuration(path, name)
    assert all(line.startswith(name) and "\n" not in line for line in read.errors)


ATOMS = st.one_of(
    st.booleans(), st.integers(), st.integers(min_value=2**200, max_value=2**30_000), st.floats(), st.text(max_size=20),
    st.sampled_from(["0.4.30", "8", "2x4", "v5e-16", "detected", "*", "a\0b", "\ud800", "[", "!", "/", "**"]),
    st.sampled_from([DIGITS, "*a" * 5000, " " * 100_000, "x" * 100_000]), st.dates(), st.times(), st.datetimes(),
)  # fmt: skip
LISTS = st.lists(ATOMS, max_size=4)
TABLES = st.dictionaries(st.text(max_size=5), ATOMS | LISTS, max_size=3)
VALUES = ATOMS | LISTS | TABLES | st.lists(LISTS | TABLES, max_size=3)


@given(key=st.sampled_from([*keys(), "nothing", ""]), value=VALUES, name=st.sampled_from(["a.py", "x/" * 20 + "b"]))
@settings(max_examples=examples(600), deadline=None)
def test_any_value_for_any_key_is_a_setting_or_a_sentence(key, value, name):
    try:
        found = parse(key, value)
    except BadSetting as error:
        found, said = None, str(error)
    else:
        said = shown(found)
    assert len(said) < 400
    if key == "exclude" and isinstance(found, tuple):
        matches(found, name)


@given(
    st.one_of(st.text(max_size=100), st.integers(), st.sampled_from([2**40_000, -(2**40_000), DIGITS, f"v5e-{DIGITS}"]))
)
def test_any_text_is_devices_or_a_sentence(value):
    try:
        said = "x" * parse_topology(value).count.bit_length()
    except BadTopology as error:
        said = str(error)
    assert 0 < len(said) < 400


@given(st.text(max_size=100) | st.text(alphabet="[]{}=.\"'a1,\n# ", max_size=300))
def test_any_text_is_toml_or_a_sentence(text):
    found = parse_toml(text)
    assert isinstance(found, dict) or (found.message and "\n" not in found.message)


DEVICES = {
    "comment": f"# meshlens: devices={DIGITS}\n",
    "flag": f'import os\nos.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={DIGITS}"\n',
    "update": f'jax.config.update("jax_num_cpu_devices", {DIGITS})\n',
    "variable": f'import os\nos.environ["JAX_NUM_CPU_DEVICES"] = "{DIGITS}"\n',
    "zeros": f'import os\nos.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=0{DIGITS}"\n',
}


@pytest.mark.parametrize("line", depth.some([*DEVICES.values()], 1), ids=DEVICES)
def test_a_number_of_devices_with_5000_digits_ends_no_rule(tmp_path, line):
    mesh = "mesh = jax.make_mesh((16,), ('x',))\nstep = jax.pmap(lambda x: x)(jax.numpy.ones((16, 2)))\n"
    code, out, err = _checked(write(tmp_path, {"a.py": f"import jax\n{line}{mesh}\n{TYPO}"}))
    assert (code, err) == (1, "")
    assert "AX101" in out
    assert ("AX902" in out) == line.startswith("#")


def test_the_server_says_what_is_wrong_once_and_goes_on(tmp_path):
    root = write(tmp_path, {OWN_FILE: "exclude = " + "[" * 3000})
    wrong = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'
    with served(root, PULLS) as server:
        for number in range(3):
            uri = (root / f"a{number}.py").as_uri()
            server.open(uri, wrong)
            assert [one["code"] for one in server.findings(uri)] == ["AX101"]
        told = [one["params"]["message"] for one in server.notified if one["method"] == "window/showMessage"]
        sentence = "its values are nested too deeply; use fewer nested brackets"
        assert told == [f"MeshLens: {root / OWN_FILE}: {sentence}"]
        assert "Traceback" not in server.log


def test_a_gitignore_of_very_many_lines_says_that_not_all_count(tmp_path, caplog):
    write(tmp_path, {".git/HEAD": "", "a.py": "", "b.py": ""})
    write(tmp_path, {".gitignore": "b.py\n" + "x\n" * 20_000 + "a.py\n"})
    assert python_files([tmp_path]) == [tmp_path / "a.py"]
    assert "only its first 10,000 lines are read" in caplog.text


PLACES = (
    ".python-version .pdm-python .venv/pyvenv.cfg environment.yml .conda/environments.txt .pyenv/version "
    ".local/share/virtualenvs/one/.project"
).split()
SAID = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(
        [b"x" * 5000, b"/" + b"x/" * 30_000, b"name: " + b"x" * 5000, b"home = " + b"/x" * 5000, b"~nobody/x"]
    ),
    st.sampled_from([b"/\0", b"name: a\n", b"global", b"../..", b"3.12\n", b"/a\n\0\n", b"home = \0", "/é😀".encode()]),
)


@given(st.lists(SAID, min_size=len(PLACES), max_size=len(PLACES)))
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_about_interpreters_are_read_or_left(folder, said):
    write(folder, {".venv/bin/python": "", ".local/share/virtualenvs/one/bin/python": "", ".git/HEAD": ""})
    write(folder, dict(zip(PLACES, said, strict=True)))
    environ = {"HOME": str(folder), "PATH": ""}
    for one in find_interpreters(folder, environ=environ):
        assert isinstance(interpreter_leads_into(one.path, (folder / "elsewhere",)), bool)


@given(
    st.text(min_size=1, max_size=40)
    | st.sampled_from(["~nobody/bin/python", "x" * 4096, "a/" * 2000, "..", "/", "é" * 2000])
)
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_interpreter_that_is_set_is_looked_for(tmp_path, value):
    # The environment of an interpreter is looked up in the folders above it, which are empty here.
    folder = tmp_path / "above" / "project"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        set_to = parse("interpreter", value)
    except BadSetting:
        return
    assert isinstance(set_to, str)
    assert find_jax_version(folder, Settings(interpreter=set_to, folder=str(folder))) is None
    environ = {"HOME": str(folder), "PATH": ""}
    assert choose_interpreter(folder, Wishes(setting=set_to, setting_folder=str(folder)), environ=environ) is not None


@pytest.mark.parametrize("room", [2, 10, 18, 40])
def test_an_interpreter_whose_packages_would_have_too_long_a_path_has_none(tmp_path, room):
    long = ("a/" * 2048)[: 4096 - room - len(f"{tmp_path}/")]
    assert find_jax_version(tmp_path, Settings(interpreter=long, folder=str(tmp_path))) is None
