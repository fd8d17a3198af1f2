"""The pages generated from code: one per rule and assist, the list of rules, the settings."""

from __future__ import annotations

from dataclasses import fields

from meshlens.checking.registry import Rule, all_rules
from meshlens.project.disk.discover import ALWAYS_LEFT_OUT
from meshlens.refactoring.registry import Assist, all_assists
from meshlens.settings import EDITOR_GROUPS, EditorSettings, Settings, keys, shown

NOTICE = "<!-- Made by `meshlens docs`; edit the code instead. -->\n"


def page(rule: Rule, heading: str) -> str:
    """Returns the page of a rule.

    Args:
        rule: the rule.
        heading: the marker of its heading, such as "##".
    """
    selected = "" if rule.default else " · runs only if you select it"
    known = f"{rule.severity.value} · {rule.state} · since {rule.since}{selected}"
    return f"{heading} {rule.code} {rule.name}\n\n*{known}*\n\n{rule.page.strip()}\n"


def rules_page() -> str:
    """Returns the page of all rules: a table, then their pages."""
    rules = all_rules()
    rows = [
        f"| [{rule.code}](#{rule.code.lower()}-{rule.name}) | {rule.name} | {rule.severity.value}"
        f"{'' if rule.default else ' (off)'} | {_summary(rule)} |"
        for rule in rules
    ]
    head = (
        f"{NOTICE}\n# Rules\n\n"
        "Errors are near-certain bugs, warnings are bugs that raise no exception, and hints are matters of taste.\n"
        "`# meshlens: ignore[name]` at the end of a line silences a rule on that line, and "
        "`# meshlens: ignore-file[name]` silences it in the whole file; `# noqa: AX101` works too.\n"
        "`meshlens explain AX101` shows the page of a rule in the terminal.\n"
        "The findings of a stable rule change only in a release that says so; those of a preview rule may change or "
        "disappear in any release.\n\n"
        "| code | name | level | what |\n|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n\n" + "\n".join(page(rule, "##") for rule in rules)


def assist_page(assist: Assist, heading: str) -> str:
    """Returns the page of an assist, in which `$0` marks the cursor.

    Args:
        assist: the assist.
        heading: the marker of its heading, such as "##".
    """
    return f"{heading} {assist.name}\n\n{assist.page.strip()}\n"


def assists_page() -> str:
    """Returns the page of all assists."""
    head = (
        f"{NOTICE}\n# Assists\n\n"
        "Refactorings, offered in the editor at the position that `$0` marks, and on the command line by "
        "`meshlens parallelize`.\n"
        "If you would expect a refactoring but it does not apply, it says why.\n\n"
    )
    return head + "\n".join(assist_page(assist, "##") for assist in all_assists())


def settings_page() -> str:
    """Returns the page of all settings."""
    out = [
        NOTICE,
        "# Settings\n",
        "Settings live in `meshlens.toml`, or in `pyproject.toml` under `[tool.meshlens]`.\n"
        "For each checked file, the nearest configuration file in its folder or a parent folder applies.\n"
        "Command-line options override it.\n"
        "`meshlens config` shows the settings in effect and where each comes from.\n",
    ]
    defaults = Settings()
    for key, entry in keys().items():
        default = getattr(defaults, entry.name)
        out.append(f"## {key}\n")
        out.append(f"{entry.metadata['doc']}\n")
        out.append(
            f"Default: {'none' if default is None else f'`{shown(default)}`'} · Type: {entry.metadata['kind']}\n"
        )
        out.append(f"```toml\n{entry.metadata['example']}\n```\n")
    out.append(
        "## In an editor\n\n"
        "In an editor, the settings above are under `meshlens`, in camel case (`perFileIgnores`).\n"
        "They override the configuration files, except that `exclude` adds to what the files exclude.\n"
        "The settings below exist only in editors:\n"
    )
    features = EditorSettings()
    rows = [
        f"| `meshlens.{editor_name(one.name)}` | {_default(getattr(features, one.name))} | {one.metadata['doc']} |"
        for one in fields(EditorSettings)
    ]
    out.append("| setting | default | what it does |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    always = ", ".join(f"`{name}`" for name in sorted(ALWAYS_LEFT_OUT))
    out.append(f"## What is always skipped\n\nFolders with these names: {always}; folders that contain a `pyvenv.cfg`; "
               "and everything that `.gitignore` lists.\n")  # fmt: skip
    return "\n".join(out)


def _default(value: object) -> str:
    return f"`{value}`" if isinstance(value, str) else "on" if value else "off"


def editor_name(name: str) -> str:
    """Returns a key in the editors' spelling: `inlay_hints_axes` becomes `inlayHints.axes`."""
    group = next((group for group in EDITOR_GROUPS if name.startswith(f"{group}_")), "")
    first, *rest = name.removeprefix(f"{group}_").split("_")
    spelled = first + "".join(word.title() for word in rest)
    return f"{editor_name(group)}.{spelled}" if group else spelled


def _summary(rule: Rule) -> str:
    first, _, _ = rule.page.strip().partition("\n")
    return first.rstrip(".").replace("|", "\\|")
