"""The version of JAX that a project uses, judged by the project's files."""

from __future__ import annotations

import hashlib
import json
import os
from base64 import urlsafe_b64encode
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from command_line import meshlens, write
from meshlens.jaxapi.changes import NEWEST, spell_version
from meshlens.project.settings.folder_versions import (
    FolderVersion,
    find_folder_versions,
    library_versions,
    nearest_jax_version,
    version_in,
)
from meshlens.project.settings.jax_requirements import RELEASES, _plain_bounds
from meshlens.project.settings.jax_version import (
    JAX,
    JaxVersion,
    default_jax_version,
    find_jax_version,
    locate_jax_version,
    locate_version,
)
from meshlens.settings import Settings, parse_version

SETTINGS = Settings()


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({}, None),
        ({".venv/lib/python3.11/site-packages/jax-0.4.30.dist-info/METADATA": ""}, (0, 4, 30)),
        ({"venv/Lib/site-packages/jax-0.5.0.dev20250101+abc.dist-info/METADATA": ""}, (0, 5, 0)),
        ({".venv/lib/python3.11/site-packages/jaxlib-0.4.30.dist-info/METADATA": ""}, None),
        (
            {
                "uv.lock": '[[package]]\nname = "jaxlib"\nversion = "0.5.0"\n\n'
                '[[package]]\nname = "jax"\nversion = "0.4.31"\n'
            },
            (0, 4, 31),
        ),
        ({"poetry.lock": '[[package]]\nname = "jax"\nversion = "0.4.13"\ndescription = ""\n'}, (0, 4, 13)),
        ({"pdm.lock": '[[package]]\nname = "jax"\nversion = "0.6.2"\n'}, (0, 6, 2)),
        ({"pixi.lock": "- pypi: https://files.example/jax-0.6.0-py3-none-any.whl\n"}, (0, 6, 0)),
        ({"requirements.txt": "numpy\njax[cuda12]==0.4.26  # pinned\n"}, (0, 4, 26)),
        ({"requirements.txt": "jax == 0.4.26 ; python_version > '3.9'\n"}, (0, 4, 26)),
        ({"requirements-dev.txt": "jax==0.4.25\n"}, (0, 4, 25)),
        ({"requirements.txt": "jaxlib==0.4.26\njaxtyping==0.2\ndm-jax==1.0\n"}, None),
        ({"requirements.txt": "jax>=0.4.26\n"}, None),
        ({"requirements.txt": "jax>=0.4.20,<0.5\n"}, (0, 4, 38)),
        ({"requirements.txt": "jax<0.4.20\n"}, (0, 4, 19)),
        ({"requirements.txt": "jax<=0.4.20\n"}, (0, 4, 20)),
        ({"requirements.txt": "jax~=0.4.20\n"}, (0, 4, 38)),
        ({"requirements.txt": "jax==0.4.*\n"}, (0, 4, 38)),
        ({"requirements.txt": "jax!=0.4.20\n"}, None),
        ({"requirements.txt": "jax>=0.4.30,!=0.11.0,<0.11.1\n"}, (0, 10, 2)),
        ({"requirements.txt": "jax>=0.11,!=0.11.0,<0.11.2\n"}, (0, 11, 1)),
        ({"requirements.txt": "jax<0.4.33\n"}, (0, 4, 31)),
        ({"requirements.txt": "jax>=0.4.30,<0.12\n"}, (0, 11, 0)),
        ({"requirements.txt": "jax<=0.12.0\n"}, None),
        ({"requirements.txt": "jax>=0.11.0\n"}, None),
        ({"requirements.txt": "jax>=0.11.1\n"}, (0, 11, 1)),
        ({"requirements.txt": "jax>0.11.1\n"}, (0, 11, 2)),
        ({"requirements.txt": "jax~=0.12.0\n"}, (0, 12, 0)),
        ({"requirements.txt": "jax>=99.1,<100\n"}, (99, 1, 0)),
        ({"requirements.txt": "jax<1.0\n"}, None),
        ({"requirements.txt": "jax\n"}, None),
        ({"requirements.txt": "# jax==0.1.0\n"}, None),
        ({"requirements/requirements.txt": "jax==0.4.30\n"}, (0, 4, 30)),
        ({"requirements/base.txt": "jax==0.4.29\n", "requirements/requirements.txt": "jax==0.4.30\n"}, (0, 4, 30)),
        ({"requirements/gpu.txt": "jax==0.4.29\n", "requirements.txt": "jax==0.4.30\n"}, (0, 4, 30)),
        ({"environment.yml": "channels:\n  - conda-forge\ndependencies:\n  - jax=0.4.5\n"}, (0, 4, 5)),
        ({"gpu.yaml": "dependencies:\n  - pip:\n    - jax==0.4.5\n"}, (0, 4, 5)),
        ({"environment.yml": "dependencies:\n  - jax=0.4\n  - jaxlib=0.4.5\n"}, (0, 4, 38)),
        ({"environment.yml": "dependencies:\n  - jax=0.4.5=pyhd8ed1ab_0\n"}, (0, 4, 5)),
        ({"environment.yml": "dependencies:\n  - jax>=0.4.5\n  # - jax=0.3\n"}, None),
        ({"mkdocs.yml": "nav:\n  - jax=0.4.5\n"}, None),
        ({"pyproject.toml": '[project]\ndependencies = ["numpy", "jax[tpu]==0.4.30"]\n'}, (0, 4, 30)),
        ({"pyproject.toml": '[project]\ndependencies = ["jax>=0.4.30,<0.6"]\n'}, (0, 5, 3)),
        ({"pyproject.toml": '[tool.poetry.dependencies]\njax = "^0.4.20"\n'}, (0, 4, 38)),
        ({"pyproject.toml": '[tool.poetry.dependencies]\njax = {version = "0.4.20", extras = ["cpu"]}\n'}, (0, 4, 20)),
        ({"pyproject.toml": '[tool.poetry.dependencies]\njax = "*"\n'}, None),
        ({"setup.py": 'setup(install_requires=["jax==0.3.25"])\n'}, (0, 3, 25)),
        ({"setup.cfg": "install_requires =\n    jax==0.3.20\n"}, (0, 3, 20)),
        ({"requirements.txt": "jax>=0.4\n", "uv.lock": 'name = "jax"\nversion = "0.7.0"\n'}, (0, 7, 0)),
        ({"uv.lock": b"\xff\x00"}, None),
        ({"jax/version.py": '_version = "0.12.1"\n', "jax/lax/__init__.py": ""}, (0, 12, 1)),
        ({"jax/version.py": '__version__ = "0.2.5"\n', "jax/lax/__init__.py": ""}, (0, 2, 5)),
        ({"jax/version.py": '__version__ = "1.0"\n'}, None),
    ],
)
def test_found(tmp_path, files, version):
    assert find_jax_version(write(tmp_path, files), SETTINGS) == version


def test_what_is_set_wins(tmp_path):
    write(tmp_path, {"requirements.txt": "jax==0.4.26\n"})
    assert find_jax_version(tmp_path, replace(SETTINGS, jax_version=(0, 9, 0))) == (0, 9, 0)


def test_the_interpreter_that_is_set(tmp_path):
    write(tmp_path, {"envs/a/bin/python": "", "envs/a/lib/python3.12/site-packages/jax-0.8.1.dist-info/METADATA": ""})
    settings = replace(SETTINGS, interpreter="../envs/a/bin/python", folder=str(tmp_path / "project"))
    (tmp_path / "project").mkdir()
    found = locate_jax_version(tmp_path / "project", settings)
    assert found is not None
    assert found.version == (0, 8, 1)
    assert found.origin.startswith("installed in ")


def test_an_active_environment_of_another_folder_counts_where_the_project_names_no_version(tmp_path, monkeypatch):
    write(tmp_path, {"env/lib/python3.12/site-packages/jax-0.8.1.dist-info/METADATA": "", "project/a.py": ""})
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    assert find_jax_version(tmp_path / "project", SETTINGS) is None
    origin = f"installed in the active environment, {tmp_path / 'env'}"
    assert default_jax_version() == JaxVersion((0, 8, 1), origin)
    assert f'jax-version = "0.8.1"     # {origin}' in meshlens("config", cwd=tmp_path / "project").out


def test_an_active_environment_inside_the_project_is_its_own(tmp_path, monkeypatch):
    files = {"env/lib/python3.12/site-packages/jax-0.8.1.dist-info/METADATA": "", "requirements.txt": "jax==0.4.26\n"}
    monkeypatch.setenv("VIRTUAL_ENV", str(write(tmp_path, files) / "env"))
    assert find_jax_version(tmp_path, SETTINGS) == (0, 8, 1)


PACKAGES = "lib/python3.12/site-packages"


@pytest.mark.parametrize(
    "files",
    [
        {".pixi/envs/default/bin/python": "", f".pixi/envs/default/{PACKAGES}/jax-0.8.1.dist-info/METADATA": ""},
        {
            ".conda/conda-meta/history": "",
            ".conda/bin/python": "",
            f".conda/{PACKAGES}/jax-0.8.1.dist-info/METADATA": "",
        },
        {
            ".venv/lib/python3.9/site-packages/jax-0.4.1.dist-info/METADATA": "",
            f".venv/{PACKAGES}/jax-0.8.1.dist-info/METADATA": "",
        },
    ],
    ids=["pixi", "conda", "two Pythons"],
)
def test_environments_of_other_tools(tmp_path, files):
    found = locate_jax_version(write(tmp_path, {**files, "requirements.txt": "jax==0.4.26\n"}), SETTINGS)
    assert found is not None
    assert found.version == (0, 8, 1)
    assert found.origin.startswith("installed in .")


def test_an_environment_that_poetry_keeps_elsewhere(tmp_path, monkeypatch):
    digest = hashlib.sha256(os.path.realpath(tmp_path / "project").encode()).digest()
    environment = f"kept/project-{urlsafe_b64encode(digest)[:8].decode()}-py3.12"
    write(
        tmp_path,
        {
            f"{environment}/bin/python": "",
            f"{environment}/{PACKAGES}/jax-0.8.1.dist-info/METADATA": "",
            "project/poetry.lock": '[[package]]\nname = "jax"\nversion = "0.4.13"\n',
        },
    )
    assert find_jax_version(tmp_path / "project", SETTINGS) == (0, 4, 13)
    monkeypatch.setenv("POETRY_VIRTUALENVS_PATH", str(tmp_path / "kept"))
    assert find_jax_version(tmp_path / "project", SETTINGS) == (0, 8, 1)


NESTED = {
    "requirements.txt": "jax==0.9.0\n",
    "a/requirements.txt": "jax==0.3.4\n",
    "a/b/c/uv.lock": 'name = "jax"\nversion = "0.7.0"\n',
    "ab/requirements.txt": "jax>=0.4\n",
    "a/b/c/main.py": "",
    "a/b/main.py": "",
    "ab/main.py": "",
    "main.py": "",
}


def test_folders_that_say_themselves(tmp_path):
    root = write(tmp_path, NESTED)
    folders = find_folder_versions([root / "a/b/c/main.py", root / "ab/main.py", root / "main.py"], root, SETTINGS)
    assert [one for one in folders if one.library == JAX] == [
        FolderVersion(str(root / "a"), JAX, (0, 3, 4)),
        FolderVersion(str(root / "a/b/c"), JAX, (0, 7, 0)),
    ]
    for name, version in {"a/b/c": (0, 7, 0), "a/b": (0, 3, 4), "ab": (0, 9, 0), ".": (0, 9, 0)}.items():
        assert version_in(str(root / name / "main.py"), JAX, folders, (0, 9, 0)) == version
        found = nearest_jax_version(root / name, root, SETTINGS)
        assert found is not None
        assert found.version == version


@pytest.mark.parametrize("settings", [replace(SETTINGS, jax_version=(0, 10, 0)), replace(SETTINGS, interpreter="py")])
def test_what_is_set_holds_in_every_folder(tmp_path, settings):
    root = write(tmp_path, NESTED)
    assert find_folder_versions([root / "a/b/c/main.py"], root, settings) == ()
    found = nearest_jax_version(root / "a", root, settings)
    assert found is not None
    assert found.version == (settings.jax_version or (0, 9, 0))


def test_a_folder_outside_the_project_says_nothing(tmp_path):
    root = write(tmp_path, NESTED)
    assert find_folder_versions([root / "a/b/main.py"], root / "a/b", SETTINGS) == ()
    assert find_folder_versions([root / "a/b/main.py"], root / "ab", SETTINGS) == ()


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, None),
        ({"requirements.txt": "flax\njax==0.9.0\n"}, None),
        ({"requirements.txt": "flaxmodels==0.12.1\nsome-flax==0.12.1\n"}, None),
        ({"requirements.txt": "flax<0.12\n"}, None),
        ({"requirements.txt": "flax==0.12.1\n"}, ((0, 12, 1), "pinned in requirements.txt")),
        ({"requirements.txt": "flax>=0.10,<0.13\n"}, ((0, 10, 0), "allowed in requirements.txt")),
        ({"requirements.txt": "flax>=0.12\n", "setup.py": '["flax>=0.11"]'}, ((0, 11, 0), "allowed in setup.py")),
        ({"pyproject.toml": '[project]\ndependencies = ["flax~=0.12.1"]\n'}, ((0, 12, 1), "allowed in pyproject.toml")),
        (
            {"pyproject.toml": '[tool.poetry.dependencies]\nflax = "^0.12.1"\n'},
            ((0, 12, 1), "allowed in pyproject.toml"),
        ),
        ({"environment.yml": "dependencies:\n  - flax=0.12\n"}, ((0, 12, 0), "allowed in environment.yml")),
        (
            {"uv.lock": '[[package]]\nname = "flax"\nversion = "0.12.4"\n', "requirements.txt": "flax==0.12.1\n"},
            ((0, 12, 4), "locked in uv.lock"),
        ),
        (
            {"pixi.lock": "- pypi: https://files.example/flax-0.12.6-py3-none-any.whl\n"},
            ((0, 12, 6), "locked in pixi.lock"),
        ),
        (
            {"Pipfile.lock": '{"default": {"flax": {"version": "==0.12.6"}}}'},
            ((0, 12, 6), "locked in Pipfile.lock"),
        ),
        (
            {"venv/Lib/site-packages/flax-0.12.6.dist-info/METADATA": "", "requirements.txt": "flax==0.12.1\n"},
            ((0, 12, 6), "installed in venv/Lib/site-packages"),
        ),
        (
            {"flax/version.py": "__version__ = '0.12.7'\n", "flax/nnx/__init__.py": ""},
            ((0, 12, 7), "the version of the source in flax/version.py"),
        ),
    ],
)
def test_the_version_of_another_library(tmp_path, files, found):
    assert locate_version("flax", write(tmp_path, files), SETTINGS) == found


def test_an_active_environment_has_the_libraries_of_a_project_that_says_nothing_of_jax(tmp_path, monkeypatch):
    write(tmp_path, {"env/lib/python3.12/site-packages/flax-0.12.6.dist-info/METADATA": "", "project/a.py": ""})
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    known = (FolderVersion(str(tmp_path / "project"), "flax", (0, 12, 6)),)
    assert library_versions(tmp_path / "project", SETTINGS) == known
    assert "# flax version: 0.12.6\n" in meshlens("config", cwd=tmp_path / "project").out
    write(tmp_path, {"project/requirements.txt": "jax==0.6.2\n"})
    assert library_versions(tmp_path / "project", SETTINGS) == ()


def test_a_folder_with_its_own_jax_does_not_have_the_library_of_the_project(tmp_path):
    files = {
        "requirements.txt": "flax==0.12.6\n",
        "old/requirements.txt": "jax==0.6.2\n",
        "older/requirements.txt": "flax==0.10.7\n",
    }
    root = write(tmp_path, files)
    sources = [root / name for name in ("a.py", "old/a.py", "older/a.py", "new/a.py")]
    folders = find_folder_versions(sources, root, SETTINGS)
    found = [version_in(str(source), "flax", folders) for source in sources]
    assert found == [(0, 12, 6), (), (0, 10, 7), (0, 12, 6)]


def test_the_newest_version_is_newer_than_the_last_patches():
    from meshlens.project.settings.jax_requirements import RELEASES

    assert sorted(set(RELEASES)) == list(RELEASES)
    assert RELEASES[-1] == NEWEST


def test_versions():
    assert parse_version("0.4.30") == (0, 4, 30)
    assert parse_version("0.4") == (0, 4, 0)
    assert parse_version("0.4.30.dev1+g1") == (0, 4, 30)


YOUNG = """\
import jax
from jax.experimental import hijax

class Twice(hijax.HiPrimitive):
    pass

mesh = jax.make_mesh(axis_shapes=(8,), axis_names=("data",))
also = jax.make_mesh(axis_sizes=(8,), axis_names=("data",))
"""
GONE = "import jax\n\nprint(jax.tree_map)\n"


@pytest.mark.parametrize(
    ("requirement", "codes"),
    [
        ("jax", {("gone.py", "AX501")}),
        ("jax>=0.10", {("gone.py", "AX501")}),
        ("jax>=0.12", {("gone.py", "AX501"), ("young.py", "AX501"), ("young.py", "AX208")}),
        ("jax<0.6", {("gone.py", "AX502"), ("young.py", "AX208")}),
    ],
)
def test_changes_that_a_project_may_not_have_met_accuse_nobody(tmp_path, requirement, codes):
    files = {"meshlens.toml": "", "requirements.txt": f"{requirement}\n", "young.py": YOUNG, "gone.py": GONE}
    found = meshlens("check", "--output-format", "json", cwd=write(tmp_path, files)).out
    assert {(Path(one["filename"]).name, one["code"]) for one in json.loads(found)} == codes


@pytest.mark.parametrize("how", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("version", ["0.4", "0.4.30", "0.10.2", "1"])
def test_plain_bounds_mean_what_they_mean_to_pip(how, version):
    plain, known = _plain_bounds(f"{how} {version}, !=0.7.1"), SpecifierSet(f"{how}{version},!=0.7.1")
    assert plain is not None
    assert [plain.allow(one) for one in RELEASES] == [known.contains(spell_version(one)) for one in RELEASES]


@pytest.mark.parametrize("bounds", ["~=0.4", "==0.4.*", ">=0.4rc1", ">=0.4.30.1", "===0.4", ">=0.4 <1", "==0.4+cuda"])
def test_what_is_more_than_plain_bounds_is_left_to_packaging(bounds):
    assert _plain_bounds(bounds) is None
