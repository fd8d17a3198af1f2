"""`meshlens config`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from meshlens.checking.select import selected_rules, unknown_selectors
from meshlens.cli.options import options_from, settings_options
from meshlens.cli.printing.terminal import complain, speak_utf8
from meshlens.cli.printing.visible import visible
from meshlens.cli.request import absolute, shown, with_options
from meshlens.cli.schema import schema
from meshlens.project.settings.configuration import find_configuration, project_root, read_configuration
from meshlens.project.settings.folder_versions import library_versions, nearest_jax_version
from meshlens.project.settings.jax_version import JaxVersion, default_jax_version
from meshlens.settings import Settings, keys, spell_version
from meshlens.settings import shown as written

_TABLES = ("per-file-ignores", "entries", "machines")


@click.command("config")
@click.argument("path", default=".", type=click.Path(), metavar="[PATH]")
@settings_options
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of the configuration instead.")
def command(path: str, as_schema: bool, **options: Any) -> int:
    """Show the settings in effect for a file or folder, and where each comes from, as TOML."""
    speak_utf8()
    if as_schema:
        click.echo(schema(), nl=False)
        return 0
    start = absolute(path)
    if not start.exists():
        raise click.ClickException(f"{shown(start)}: no such file or folder")
    home = find_configuration(start if start.is_dir() else start.parent)
    configuration = read_configuration(home, shown(home) if home else "")
    given, exclude = options_from(options)
    settings = with_options(configuration.settings, given)
    settings = replace(settings, exclude=settings.exclude + exclude)
    root = home.parent if home else project_root(start)
    jax = nearest_jax_version(start if start.is_dir() else start.parent, root, settings) or default_jax_version()
    _print(settings, jax, _origins(configuration.origins, given, exclude), root, home)
    for one in library_versions(root, settings):
        click.echo(f"# {one.library} version: {spell_version(one.version)}")
    errors = [*configuration.errors]
    errors += [f'{configuration.origins.get(key, "")}: "{key}": {text}' for key, text in unknown_selectors(settings)]
    for error in errors:
        complain(error)
    return 2 if errors else 0


def _origins(found: dict[str, str], given: dict[str, Any], exclude: tuple[str, ...]) -> dict[str, str]:
    out = dict(found)
    for field, value in {**given, "exclude": exclude}.items():
        key = field.replace("_", "-")
        if value not in (None, ()):
            adds = key in out and key not in ("select", "devices", "jax-version")
            out[key] = f"{out[key]} and --{key}" if adds else f"--{key}"
    return out


def _table(pairs: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Returns pairs as a table; pairs nested in a value become a nested table."""
    nested = (isinstance(value, tuple) and value and isinstance(value[0], tuple) for _, value in pairs)
    return {key: dict(value) if inner else value for (key, value), inner in zip(pairs, nested, strict=True)}


def _print(settings: Settings, jax: JaxVersion, origins: dict[str, str], root: Path, home: Path | None) -> None:
    lines = []
    for key, entry in keys().items():
        value = getattr(settings, entry.name)
        origin = origins.get(key, "default")
        if key == "jax-version":
            value, origin = spell_version(jax.version), origin if value is not None else jax.origin
        if value is None:
            lines.append((f"# {key} is not set", ""))
        else:
            shown_value = written(_table(value)) if key in _TABLES else written(value)
            lines.append((f"{key} = {shown_value}", origin))
    width = max(len(line) for line, _ in lines)
    click.echo(f"# configuration: {visible(shown(home)) if home else 'none found'}")
    click.echo(f"# project: {visible(str(root))}")
    for line, origin in lines:
        click.echo(visible(f"{line:<{width}}  # {origin}" if origin else line))
    click.echo("# enabled rules: " + " ".join(rule.code for rule in selected_rules(settings)))
