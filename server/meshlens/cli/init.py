"""`meshlens init`: writes a first configuration based on the project's files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from meshlens.caches.folder import cache_of
from meshlens.cli.options import read_by
from meshlens.cli.printing.progress import progress
from meshlens.cli.printing.terminal import speak_utf8
from meshlens.cli.printing.visible import visible
from meshlens.cli.request import absolute, shown
from meshlens.cli.writing import CannotWrite, write_all
from meshlens.devices.interpreters import choose_interpreter
from meshlens.devices.report import Report, summary
from meshlens.devices.reports import report_of
from meshlens.devices.runner import Question
from meshlens.foreign_files import CONFIGURATION, Unread, read_bytes, read_text
from meshlens.jaxapi.changes import parse_version
from meshlens.project.settings.configuration import OWN_FILE, SHARED_FILE, configuration_in, project_root
from meshlens.project.settings.folder_versions import nearest_jax_version
from meshlens.project.settings.jax_version import JaxVersion, default_jax_version
from meshlens.settings import DevicesWanted, Settings, parse_devices, spell_version
from meshlens.settings import shown as written

# Common names of folders with vendored code.
_OF_OTHERS = ("third_party", "thirdparty", "vendor", "_vendor", "external", "extern", "submodules")
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Facts about a project, found without running its code.

    Attributes:
        jax: its version of JAX; None if unknown.
        report: the report from its Python; None if not probed.
        exclude: the folders with vendored code.
    """

    jax: JaxVersion | None
    report: Report | None
    exclude: tuple[str, ...]


@click.command("init")
@click.argument("path", default=".", type=click.Path(), metavar="[PATH]")
@click.option(
    "--devices",
    metavar="N",
    callback=read_by(parse_devices),
    help='The target devices: 8, "2x4", "v5e-16", "8xH100", "detected".',
)
@click.option("--no-detect", is_flag=True, help="Do not query the project's Python for its devices.")
@click.option("--print", "is_printed", is_flag=True, help="Print the configuration; write nothing.")
def command(path: str, devices: DevicesWanted | None, no_detect: bool, is_printed: bool) -> int:
    """Write an initial configuration: devices, JAX version and folders to skip, as found in the project.

    It goes into pyproject.toml if there is one, else into meshlens.toml.
    """
    speak_utf8()
    start = absolute(path)
    if not start.exists():
        raise click.ClickException(f"{shown(start)}: no such file or folder")
    root = project_root(start)
    known = configuration_in(root)
    if known is not None and not is_printed:
        raise click.ClickException(f"{shown(known)} already has a configuration; run `meshlens config` to see it")
    seen = _look(root, asks=not no_detect and devices is None)
    lines = list(_lines(devices, seen))
    shared = root / SHARED_FILE
    goes_to_shared = shared.is_file()
    text = "\n".join(["[tool.meshlens]", *lines] if goes_to_shared else lines) + "\n"
    if is_printed:
        click.echo(_shown(text, ""), nl=False)
        return 0
    target = shared if goes_to_shared else root / OWN_FILE
    try:
        write_all({target: _with(target, text)})
    except CannotWrite as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Wrote {'[tool.meshlens] to ' if goes_to_shared else ''}{visible(shown(target))}:\n")
    click.echo(_shown(text, "    "))
    click.echo(
        "Next: `meshlens check`; in an existing repository, `meshlens check --add-noqa` accepts the current findings."
    )
    return 0


def _shown(text: str, indentation: str) -> str:
    return "".join(f"{indentation}{visible(line)}\n" for line in text.splitlines())


def _look(root: Path, *, asks: bool) -> _Seen:
    return _Seen(
        nearest_jax_version(root, root, Settings()),
        _asked(root) if asks else None,
        tuple(_of_others(root)),
    )


def _asked(root: Path) -> Report | None:
    chosen = choose_interpreter(root)
    if chosen is None:
        return None
    with progress() as bar:
        bar.stage(f"Asking {chosen.path}", None)
        return report_of(Question(chosen.path), cache_of(root))


def _of_others(root: Path) -> Iterator[str]:
    modules = _SUBMODULE.findall(read_text(root / ".gitmodules", CONFIGURATION))
    here = [name for name in _OF_OTHERS if (root / name).is_dir() and not (root / name / "__init__.py").exists()]
    yield from dict.fromkeys([*here, *(path for path in modules if os.path.isdir(root / path))])


def _lines(devices: DevicesWanted | None, seen: _Seen) -> Iterator[str]:
    yield from _devices_lines(devices, seen.report)
    installed = seen.report.version("jax") if seen.report is not None else None
    if seen.jax is None and installed is not None and parse_version(installed) is not None:
        yield f"jax-version = {written(installed)}  # as installed here; change it if the project uses another"
    elif seen.jax is None:
        usual = default_jax_version()
        why = "no version was found; set yours" if usual.is_assumed else f"{usual.origin}; used by default"
        yield f'# jax-version = "{spell_version(usual.version)}"  # {why}'
    else:
        yield f'# jax-version = "{spell_version(seen.jax.version)}"  # {seen.jax.origin}; used by default'
    if seen.exclude:
        yield f"exclude = {written(list(seen.exclude))}"
    else:
        yield '# exclude = ["third_party"]'


def _devices_lines(devices: DevicesWanted | None, report: Report | None) -> Iterator[str]:
    if devices is not None:
        yield f"devices = {written(devices)}"
        return
    here = summary(report) if report is not None and (report.devices or report.accelerators) else ""
    accelerators = [one for one in (report.devices or report.accelerators) if one.platform != "cpu"] if report else []
    if accelerators:
        yield f"devices = {len(accelerators)}  # the target, for rules that count devices; this machine has {here}"
    else:
        why = f"; this machine has {here}" if here else ""
        yield f"# devices = 8  # the target; rules that count devices need it{why}"


def _with(target: Path, text: str) -> bytes:
    before = read_bytes(target, CONFIGURATION) if target.exists() else b""
    if isinstance(before, Unread):
        raise click.ClickException(f"{shown(target)}: {before.message}")
    if not before.strip():
        return text.encode()
    ends = b"\r\n" if b"\r\n" in before else b"\n"
    return before.rstrip() + ends * 2 + text.encode().replace(b"\n", ends)
