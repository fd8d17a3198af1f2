"""The options for values that the configuration can also set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from meshlens.settings import BadSetting, Settings, names_rules, parse_devices, parse_version

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


def read_by(parse: Callable[[object], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Returns a callback that parses a value, or each of several values, with the given function."""

    def read(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(read(ctx, param, one) for one in value)
        try:
            return None if value is None else parse(value)
        except BadSetting as error:
            said = str(error)
            raise click.BadParameter(said if ', not "' in said else f'{said}, not "{value}"', ctx, param) from None

    return read


def _commas(value: object) -> tuple[str, ...]:
    return tuple(part.strip() for part in str(value).split(",") if part.strip())


def rules_like(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Returns the rule names and codes that complete the last part of a comma-separated list."""
    from meshlens.checking.registry import all_rules

    before, comma, begun = incomplete.rpartition(",")
    known = [(key, rule.name) for rule in all_rules() for key in (rule.code, rule.name)]
    return [
        CompletionItem(f"{before}{comma}{key}", help=name)
        for key, name in known
        if key.lower().startswith(begun.lower())
    ]


def _rules(name: str, text: str) -> Callable[[_Decorated], _Decorated]:
    return click.option(
        name, multiple=True, metavar="RULES", callback=read_by(_commas), shell_complete=rules_like, help=text
    )


_OPTIONS = (
    _rules("--select", "Rules to enable: codes, code prefixes, names or ALL."),
    _rules("--extend-select", "Rules to enable in addition to the selected ones."),
    _rules("--ignore", "Rules to disable."),
    click.option(
        "--exclude",
        multiple=True,
        type=click.Path(),
        metavar="PATTERNS",
        callback=read_by(_commas),
        help="Files and folders to skip, as in .gitignore.",
    ),
    click.option(
        "--devices",
        metavar="N",
        callback=read_by(parse_devices),
        help='The target devices: 8, "2x4", "v5e-16", "8xH100", "detected".',
    ),
    click.option(
        "--jax-version", metavar="VERSION", callback=read_by(parse_version), help="The JAX version to assume."
    ),
)


def settings_options(function: _Decorated) -> _Decorated:
    """Adds the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def options_from(given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the settings fields and the exclude patterns given on the command line.

    Raises:
        click.BadParameter: a selector matches no rule.
    """
    lists = {key: tuple(one for part in given[key] for one in part) for key in ("select", "extend_select", "ignore")}
    chosen = Settings(select=lists["select"], extend_select=lists["extend_select"], ignore=lists["ignore"])
    if names_rules(chosen):
        # The registry imports every rule, and thus the whole analysis, which is not needed if nothing has changed.
        from meshlens.checking.select import unknown_selectors

        for key, message in unknown_selectors(chosen):
            raise click.BadParameter(message, param_hint=f"--{key}")
    exclude = tuple(one for part in given["exclude"] for one in part)
    return {**lists, "devices": given["devices"], "jax_version": given["jax_version"]}, exclude
