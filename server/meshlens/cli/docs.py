"""`meshlens docs`."""

from __future__ import annotations

from pathlib import Path

import click

from meshlens.cli.manifest import with_settings
from meshlens.cli.pages import NOTICE, assists_page, rules_page, settings_page
from meshlens.cli.printing.terminal import complain
from meshlens.cli.schema import schema
from meshlens.cli.writing import CannotWrite, write_all
from meshlens.foreign_files import CONFIGURATION, Unread, read_bytes, read_text


@click.command("docs")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a page is out of date.")
@click.option("--folder", default="docs", show_default=True, help="The folder of the pages.")
def command(check: bool, folder: str) -> int:
    """Write the pages of rules, assists and settings, the schema and the settings of package.json from the code."""
    home = Path(folder)
    if not home.is_dir():
        raise click.ClickException(f"{folder}: no such folder")
    pages = {
        home / "rules.md": rules_page(),
        home / "assists.md": assists_page(),
        home / "settings.md": settings_page(),
        home / "meshlens.schema.json": schema(),
        **_manifest(home.parent),
    }
    for path in pages:
        if path.suffix == ".md" and path.is_file() and not _content(path).startswith(NOTICE.encode()):
            raise click.ClickException(
                f'{path}: not made by "meshlens docs", which writes the pages of MeshLens itself'
            )
    stale = {path: text.encode() for path, text in pages.items() if _content(path) != text.encode()}
    if check:
        for path in stale:
            complain(f'{path}: out of date; run "meshlens docs"')
        return 1 if stale else 0
    try:
        write_all(stale)
    except CannotWrite as error:
        raise click.ClickException(str(error)) from error
    for path in stale:
        click.echo(f"wrote {path}")
    return 0


def _manifest(root: Path) -> dict[Path, str]:
    """Returns the extension's manifest and its texts; empty if the pages are in another folder."""
    files = (root / "package.json", root / "package.nls.json")
    if not all(file.is_file() for file in files):
        return {}
    manifest, texts = (read_text(file, CONFIGURATION) for file in files)
    return dict(zip(files, with_settings(manifest, texts), strict=True))


def _content(path: Path) -> bytes:
    found = read_bytes(path, CONFIGURATION)
    return b"" if isinstance(found, Unread) else found
