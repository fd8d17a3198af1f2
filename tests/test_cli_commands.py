"""`explain`, `docs`, `config` and the program itself."""

from __future__ import annotations

import os
import sys

import pytest

import meshlens as package
from command_line import meshlens, write
from meshlens.checking.registry import all_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def test_version(tmp_path):
    assert meshlens("--version", cwd=tmp_path).out == f"meshlens {package.__version__}\n"


def test_the_version_is_that_of_the_project():
    root = os.path.dirname(os.path.dirname(__file__))
    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        assert tomllib.load(file)["project"]["version"] == package.__version__


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["check", "--help"], ["explain", "-h"], ["docs", "-h"], ["config", "-h"]]
)
def test_help(tmp_path, arguments):
    ran = meshlens(*arguments, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Usage: meshlens")


def test_without_a_command_the_help_is_shown(tmp_path):
    ran = meshlens(cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (2, "", meshlens("--help", cwd=tmp_path).out)


def test_the_help_of_explain_lists_the_rules(tmp_path):
    listed = meshlens("explain", "--help", cwd=tmp_path).out.split("\nRules:\n")[1].split("\n")
    assert [tuple(line.split()) for line in listed if line] == [(rule.code, rule.name) for rule in all_rules()]


@pytest.mark.parametrize("name", ["AX101", "ax101", "unbound-axis"])
def test_explain(tmp_path, name):
    ran = meshlens("explain", name, cwd=tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("# AX101 unbound-axis\n\n*error · stable · since 0.1.0*\n\n")
    assert "```python\n" in ran.out


def test_explain_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    ran = meshlens("explain", "AX101", cwd=tmp_path, terminal=True)
    assert "\x1b[" in ran.out
    assert "```" not in ran.out


def test_every_rule_has_a_page(tmp_path):
    ran = meshlens("explain", *[rule.code for rule in all_rules()], cwd=tmp_path)
    for rule in all_rules():
        assert f"# {rule.code} {rule.name}\n" in ran.out


def test_docs(tmp_path):
    (tmp_path / "docs").mkdir()
    stale = meshlens("docs", "--check", cwd=tmp_path)
    assert stale.code == 1
    assert len(stale.err.splitlines()) == 4
    assert list((tmp_path / "docs").iterdir()) == []
    assert meshlens("docs", cwd=tmp_path).code == 0
    assert meshlens("docs", "--check", cwd=tmp_path) == meshlens("docs", cwd=tmp_path)
    rules = (tmp_path / "docs" / "rules.md").read_text("utf-8")
    assert all(f"\n## {rule.code} {rule.name}\n" in rules for rule in all_rules())
    settings = (tmp_path / "docs" / "settings.md").read_text("utf-8")
    assert "\n## per-file-ignores\n" in settings
    (tmp_path / "docs" / "rules.md").write_text(rules + "x")
    stale = meshlens("docs", "--check", cwd=tmp_path)
    assert stale.err == f'meshlens: {os.path.join("docs", "rules.md")}: out of date; run "meshlens docs"\n'


def test_docs_leaves_the_pages_of_others_alone(tmp_path):
    write(tmp_path, {"docs/rules.md": "# The rules of our team\n"})
    ran = meshlens("docs", cwd=tmp_path)
    page = os.path.join("docs", "rules.md")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f'meshlens: {page}: not made by "meshlens docs"')
    assert [path.name for path in (tmp_path / "docs").iterdir()] == ["rules.md"]


def test_examples_of_settings_are_good_settings():
    from meshlens.settings import keys, parse

    for key, entry in keys().items():
        (found,) = tomllib.loads(entry.metadata["example"]).items()
        assert found[0] == key
        parse(*found)


def test_config_is_toml_and_says_where_things_come_from(tmp_path):
    write(tmp_path, {"pyproject.toml": '[tool.meshlens]\ndevices = "2x4"\nignore = ["AX602"]\n', "pkg/a.py": ""})
    write(tmp_path, {"requirements.txt": "jax==0.4.30\n"})
    ran = meshlens("config", "pkg", "--select", "AX1,AX2", "--ignore", "AX102", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    shown = tomllib.loads(ran.out)
    assert shown["devices"] == "2x4"
    assert shown["select"] == ["AX1", "AX2"]
    assert shown["ignore"] == ["AX602", "AX102"]
    assert shown["jax-version"] == "0.4.30"
    origins = {line.split(" = ")[0]: line.split("  # ")[-1].strip() for line in ran.out.splitlines() if " = " in line}
    assert origins["devices"] == "pyproject.toml:2"
    assert origins["select"] == "--select"
    assert origins["ignore"] == "pyproject.toml:3 and --ignore"
    assert origins["jax-version"] == "pinned in requirements.txt"
    assert origins["exclude"] == "default"
    assert "AX101" in ran.out.splitlines()[-1]
    assert "AX102" not in ran.out.splitlines()[-1]


def test_config_of_a_folder_with_its_own_jax(tmp_path):
    write(tmp_path, {"meshlens.toml": "", "requirements.txt": "jax==0.9.0\n", "old/requirements.txt": "jax==0.4.30\n"})
    lines = meshlens("config", "old", cwd=tmp_path).out.splitlines()
    assert any(line.startswith('jax-version = "0.4.30"') and "pinned in requirements.txt" in line for line in lines)


def test_config_without_configuration(tmp_path):
    ran = meshlens("config", cwd=tmp_path)
    assert ran.out.startswith("# configuration: none found\n")
    assert any(
        line.startswith("jax-version") and line.endswith("# assumed, no version found") for line in ran.out.splitlines()
    )


def test_config_says_what_is_wrong(tmp_path):
    ran = meshlens("config", cwd=write(tmp_path, {"meshlens.toml": "devices = 8\nx = 1\n"}))
    assert (ran.code, ran.err) == (2, 'meshlens: meshlens.toml:2: unknown key "x"\n')
    assert "devices = 8" in ran.out


def test_the_nearest_configuration_wins(tmp_path):
    write(
        tmp_path,
        {"pyproject.toml": "[tool.meshlens]\ndevices = 2\n", "a/meshlens.toml": "devices = 4\n", "a/b/c.py": ""},
    )
    write(tmp_path, {"a/b/pyproject.toml": "[tool.other]\n"})
    assert "devices = 4 " in meshlens("config", "a/b/c.py", cwd=tmp_path).out
    assert "devices = 2 " in meshlens("config", cwd=tmp_path).out
    write(tmp_path, {"a/pyproject.toml": "[tool.meshlens]\ndevices = 6\n"})
    assert "devices = 4 " in meshlens("config", "a", cwd=tmp_path).out
