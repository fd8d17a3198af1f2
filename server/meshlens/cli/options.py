"""The options that set what the configuration can also set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from meshlens.settings import BadSetting, parse_devices, parse_version

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


class _Parsed(click.ParamType):
    """A value that a function of the settings reads."""

    def __init__(self, name: str, parse: Callable[[object], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except BadSetting as error:
            self.fail(f'{error}, not "{value}"', param, ctx)


def _commas(value: object) -> tuple[str, ...]:
    return tuple(part.strip() for part in str(value).split(",") if part.strip())


_RULES = _Parsed("rules", _commas)
_PATTERNS = _Parsed("patterns", _commas)

_OPTIONS = (
    click.option("--select", type=_RULES, multiple=True, help="The rules that run: codes, their beginnings, names, ALL."),
    click.option("--extend-select", type=_RULES, multiple=True, help="Rules that run besides."),
    click.option("--ignore", type=_RULES, multiple=True, help="Rules that do not run."),
    click.option("--exclude", type=_PATTERNS, multiple=True, help="Files and folders to leave out, as in .gitignore."),
    click.option("--devices", type=_Parsed("n", parse_devices), help='How many devices the code is meant for: 8, "2x4".'),
    click.option("--jax-version", type=_Parsed("version", parse_version), help="The version of JAX to go by."),
)


def SETTINGS_OPTIONS(function: _Decorated) -> _Decorated:  # noqa: N802, it stands among decorators
    """Adds the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def options_from(given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fields of the settings that the command line sets, and what it leaves out.

    Raises:
        click.BadParameter: a selector names no rule.
    """
    from meshlens.rules._select import unknown_selectors
    from meshlens.settings import Settings

    lists = {key: tuple(one for part in given[key] for one in part) for key in ("select", "extend_select", "ignore")}
    for key, message in unknown_selectors(Settings(**lists)):
        raise click.BadParameter(message, param_hint=f"--{key}")
    exclude = tuple(one for part in given["exclude"] for one in part)
    return {**lists, "devices": given["devices"], "jax_version": given["jax_version"]}, exclude
