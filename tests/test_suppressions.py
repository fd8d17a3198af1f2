"""Ignore comments, `per-file-ignores`, and the handling of comments that suppress nothing."""

from __future__ import annotations

import json

import pytest

from command_line import TYPO, meshlens, write


def _codes(tmp_path, text, *arguments):
    ran = meshlens("check", "--output-format", "json", *arguments, cwd=write(tmp_path, {"a.py": text}))
    assert ran.err == ""
    return [(one["code"], one["message"]) for one in json.loads(ran.out)]


def _with(comment):
    return TYPO.rstrip("\n") + f"  {comment}\n"


@pytest.mark.parametrize(
    "comment",
    [
        "# meshlens: ignore",
        "# meshlens: ignore[unbound-axis]",
        "# meshlens: ignore[AX101]",
        "# meshlens: ignore[AX1]",
        "# noqa",
        "# noqa: AX101",
        "# noqa: E501, AX101",
        "# type: ignore # meshlens: ignore[AX101]",
        "# meshlens: ignore[AX101] # noqa: E501",
    ],
)
def test_silenced(tmp_path, comment):
    assert _codes(tmp_path, _with(comment)) == []


def test_silenced_in_the_whole_file(tmp_path):
    assert _codes(tmp_path, f"# meshlens: ignore-file[unbound-axis]\n{TYPO}") == []
    assert _codes(tmp_path, f"# meshlens: ignore-file\n{TYPO}") == []


@pytest.mark.parametrize(
    ("comment", "messages"),
    [
        ("# noqa: E501", []),
        ("# meshlens: ignore[AX102]", ['"AX102" silences nothing here']),
        ("# meshlens: ignore[AX999]", ['unknown rule "AX999"']),
        ("# meshlens: ignore[unbound-axes]", ['unknown rule "unbound-axes"; did you mean "unbound-axis"?']),
    ],
)
def test_not_silenced(tmp_path, comment, messages):
    found = _codes(tmp_path, _with(comment))
    assert [code for code, _ in found if code == "AX101"] == ["AX101"]
    for code, message in found:
        if code == "AX901":
            assert message.startswith(messages.pop(0))
    assert messages == []


@pytest.mark.parametrize(
    ("before", "after", "messages"),
    [
        ("x = 1  # meshlens: ignore\n", "x = 1\n", ["this comment silences nothing"]),
        ("x = 1  # meshlens: ignore[AX101]\n", "x = 1\n", ['"AX101" silences nothing here']),
        ("x = 1  # noqa: AX101\n", "x = 1\n", ['"AX101" silences nothing here']),
        ("x = 1  # noqa: E501, AX101\n", "x = 1  # noqa: E501\n", ['"AX101" silences nothing here']),
        ("x = 1  # noqa: AX101,E501\n", "x = 1  # noqa: E501\n", ['"AX101" silences nothing here']),
        ("x = 1  # noqa\n", "x = 1  # noqa\n", []),
        ("x = 1  # meshlens: ignore[AX101] # noqa: E501\n", "x = 1  # noqa: E501\n", ['"AX101" silences nothing here']),
        ("# meshlens: ignore-file[AX101]\nx = 1\n", "x = 1\n", ['"AX101" silences nothing in this file']),
        (
            "x = 1  # meshlens: ignore[AX101, unbound-axis]\n",
            "x = 1\n",
            ['"AX101" silences nothing here', '"unbound-axis" silences nothing here'],
        ),
        (
            "if True:\r\n    # meshlens: ignore-file\r\n    x = 1\r\n",
            "if True:\r\n    x = 1\r\n",
            ["this comment silences nothing"],
        ),
    ],
)
def test_unused(tmp_path, before, after, messages):
    assert _codes(tmp_path, before) == [("AX901", message) for message in messages]
    meshlens("check", "--fix", cwd=tmp_path)
    assert (tmp_path / "a.py").read_bytes() == after.encode()


def test_a_comment_of_which_one_half_is_used(tmp_path):
    text = _with("# meshlens: ignore[AX101, AX102]")
    assert _codes(tmp_path, text) == [("AX901", '"AX102" silences nothing here')]
    meshlens("check", "--fix", cwd=tmp_path)
    assert (tmp_path / "a.py").read_text() == _with("# meshlens: ignore[AX101]")


def test_a_rule_that_did_not_run_may_need_its_comment(tmp_path):
    text = "x = 1  # meshlens: ignore[AX101]\n"
    assert _codes(tmp_path, text, "--ignore", "AX101") == []
    assert _codes(tmp_path, text, "--select", "AX901") == []


def test_unused_ignore_can_be_silenced_by_name_only(tmp_path):
    assert _codes(tmp_path, "x = 1  # meshlens: ignore[AX101, unused-ignore]\n") == []
    assert len(_codes(tmp_path, "x = 1  # meshlens: ignore\n")) == 1


@pytest.mark.parametrize(
    ("pattern", "silent"),
    [("a.py", True), ("*.py", True), ("**/*.py", True), ("pkg/", False), ("b.py", False), ("/a.py", True)],
)
def test_per_file_ignores(tmp_path, pattern, silent):
    write(tmp_path, {"meshlens.toml": f'per-file-ignores = {{ "{pattern}" = ["AX1"] }}\n'})
    assert (_codes(tmp_path, TYPO) == []) is silent


def test_per_file_ignores_of_a_folder(tmp_path):
    write(tmp_path, {"pyproject.toml": '[tool.meshlens.per-file-ignores]\n"tests/**" = ["unbound-axis"]\n'})
    write(tmp_path, {"tests/deep/a.py": TYPO, "a.py": TYPO})
    ran = meshlens("check", "--output-format", "concise", cwd=tmp_path)
    assert ran.out.count("AX101") == 1
