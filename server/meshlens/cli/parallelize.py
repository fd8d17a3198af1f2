"""`meshlens parallelize`: the editor's refactorings on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import click

from meshlens.cli.checking import open_group
from meshlens.cli.fixing import patch
from meshlens.cli.options import read_by
from meshlens.cli.printing.parallelize_report import report
from meshlens.cli.printing.progress import progress
from meshlens.cli.printing.terminal import complain, speak_utf8, write_patch
from meshlens.cli.printing.visible import visible
from meshlens.cli.request import Group, ask, shown
from meshlens.cli.writing import CannotWrite, write_sources
from meshlens.foreign_files import Unread
from meshlens.project.disk.discover import walk_files
from meshlens.project.disk.python_text import read_source
from meshlens.project.view import FileView
from meshlens.project.workspace import Workspace
from meshlens.project.writing.did_you_mean import closest
from meshlens.refactoring.everywhere import Job, Outcome, convert_everywhere
from meshlens.refactoring.model import Proposal, Strategy, Wishes
from meshlens.refactoring.reading.functions import functions
from meshlens.refactoring.targets import TARGETS, all_places, assist_for, places_named, qualified
from meshlens.settings import BadSetting, parse_device_sizes

DONE, NOT_DONE, BROKEN = 0, 1, 2
_MOST_FILES = 20_000
_FEW = 8
_MOST_TRIED = 50
_MAPS = ("pmap", "shard_map")
_ONLY_PMAPS = "--to vmap converts only pmaps"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request to convert one function of a file, or, if the function is None, everything in the file."""

    path: Path
    function: str | None


def _argument(value: object) -> tuple[str, int]:
    name, _, axis = str(value).partition(":")
    if not name.isidentifier() or not (axis or "0").isdecimal():
        raise BadSetting('expected an argument, optionally with an axis, as in "tokens:1"')
    return name, int(axis or "0")


@click.command("parallelize")
@click.argument("where", nargs=-1, required=True, type=click.Path(), metavar="FILE::FUNCTION...")
@click.option(
    "--to",
    "target",
    type=click.Choice(sorted(TARGETS)),
    help='The kind of map; the default, "jit", splits data over a mesh; "vmap" replaces only pmaps.',
)
@click.option(
    "--strategy",
    type=click.Choice(["data", "fsdp"]),
    default="data",
    help="Copy the state to every device (data), or split each of its arrays over the devices (fsdp).",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Convert every function that jit compiles in FILE or a folder; --to shard_map converts only the pmaps, if "
    "there are any, and --to vmap only pmaps.",
)
@click.option("--axis-name", metavar="NAME", help="The axis name of a new map.")
@click.option(
    "--devices", metavar="N", callback=read_by(parse_device_sizes), help='The devices of a new map, such as 8 or "2x4".'
)
@click.option("--in-axes", metavar="AXES", help='The in_axes of a new map, such as "(None, 0)".')
@click.option(
    "--batch",
    metavar="ARG[:AXIS]",
    multiple=True,
    callback=read_by(_argument),
    help="The argument that holds the batch, and the axis of its rows if it is not 0; can be repeated.",
)
@click.option("--diff", "how", flag_value="diff", default=True, help="Show what would change (the default).")
@click.option("--write", "how", flag_value="write", help="Change the files.")
def command(
    where: tuple[str, ...],
    target: str | None,
    strategy: Strategy,
    everything: bool,
    axis_name: str | None,
    devices: tuple[int, ...] | None,
    in_axes: str | None,
    batch: tuple[tuple[str, int], ...],
    how: str,
) -> int:
    """Rewrite functions to run on several devices: FILE::FUNCTION for one, FILE --all for a whole file or folder.

    Without --write, it only shows what would change.
    """
    speak_utf8()
    named = [one.rpartition("::") for one in where]
    if everything == any(separator for _, separator, _ in named):
        raise click.UsageError("pass FILE::FUNCTION for one function, or FILE --all for everything")
    if not everything and not all(separator for _, separator, _ in named):
        raise click.UsageError("pass FILE::FUNCTION for one function, or FILE --all for everything")
    if target not in (None, "jit") and strategy != "data":
        raise click.UsageError(f"--strategy works only with --to jit, not with --to {target}")
    for folder in [path for path, separator, _ in named if separator and Path(path).is_dir()]:
        raise click.UsageError(f"{folder} is a folder; name the file of the function: FILE::FUNCTION")
    request = ask([path if separator else function for path, separator, function in named], {})
    for error in request.errors:
        complain(error)
    codes = [BROKEN] if request.errors else []
    for group in request.groups:
        jobs = [_Asked(path, function) for path in group.files for function in _functions_of(path, named)]
        wishes = Wishes(axis_name, in_axes, devices or (), group.settings.axis_name, strategy=strategy, batch=batch)
        codes.append(_convert(group, jobs, target, wishes, how))
    return max(codes, default=DONE)


def _functions_of(path: Path, named: list[tuple[str, str, str]]) -> list[str | None]:
    """Returns the functions of a file that the command line names; if it names none, only None, for the whole file."""
    found = [one for where, separator, one in named if separator and Path(where).resolve() == path.resolve()]
    return list(dict.fromkeys(found)) or [None]


def _convert(group: Group, jobs: list[_Asked], target: str | None, wishes: Wishes, how: str) -> int:
    with progress() as bar:
        workspace = open_group(replace(group, files=(*group.files, *_importing(group))), bar, None)
    usable = [job for job in jobs if str(job.path) in workspace.files]
    everywhere = all_places(target, (workspace.view(job.path) for job in usable))
    todo = [Job(job.path, everywhere if job.function is None else places_named(target, job.function)) for job in usable]
    done = convert_everywhere(workspace, todo, assist_for(target), wishes)
    for job, found in zip(usable, done.outcomes, strict=True):
        if not found and job.function is not None:
            hint = _instead(workspace.view(job.path), job.function, target)
            kind = "pmap" if target == "vmap" else "function or map"
            complain(f'{shown(job.path)}: found no {kind} named "{job.function}" to convert{hint}')
            return BROKEN
    outcomes = [(job.path, one) for job, found in zip(usable, done.outcomes, strict=True) for one in found]
    code = _finish(workspace, done.sources, outcomes, how, tables=any(job.function is None for job in jobs))
    if not outcomes:
        for line in islice(_left_out(workspace, usable, target, wishes), _FEW):
            click.echo(visible(f"note: {line}"), err=True)
    if target in _MAPS:
        _suggest_jit(
            workspace, [one for one, found in zip(usable, done.outcomes, strict=True) if _failed(found)], wishes
        )
    return code


def _failed(outcomes: tuple[Outcome, ...]) -> bool:
    return any(one.refused is not None for one in outcomes)


def _suggest_jit(workspace: Workspace, refused: list[_Asked], wishes: Wishes) -> None:
    """Prints the names of refused functions that `--to jit` can convert."""
    for job in (one for one in refused if one.function is not None):
        todo = [Job(job.path, places_named("jit", job.function))]
        (found,) = convert_everywhere(workspace, todo, assist_for("jit"), wishes).outcomes
        if found and not _failed(found):
            click.echo(visible(f'note: "{job.function}" can be converted with --to jit'), err=True)


def _left_out(workspace: Workspace, jobs: list[_Asked], target: str | None, wishes: Wishes) -> Iterator[str]:
    """Yields why `--all` found nothing: the functions used in their file that can be converted only by name."""
    if target == "vmap":
        yield f"{_ONLY_PMAPS}, and there are none"
        return
    assist = assist_for(target)
    for view in (workspace.view(job.path) for job in jobs):
        every = [one for one in functions(view) if one.node.site == 0][:_MOST_TRIED]
        found = [one for one in every if isinstance(assist.propose(view, view.span(one.site), wishes), Proposal)]
        homes = {one.site.block for one in found}
        for one in found:
            users = {key for key, block in view.facts.blocks.items() if one.name in block.names} - {one.site.block}
            if users and users.isdisjoint(homes):
                where = f"{shown(view.path)}::{qualified(one)}"
                yield f'no jit compiles "{one.name}", so --all leaves it out; pass {where} to convert it'


def _instead(view: FileView, wanted: str, target: str | None) -> str:
    """Returns a hint for a function name that a file does not contain."""
    known = list(dict.fromkeys(one.name for one in functions(view) if one.node.site == 0))
    if wanted.rsplit(".", 1)[-1] in known:
        return f"; it is a function, and {_ONLY_PMAPS}" if target == "vmap" else ""
    close = closest(wanted, known)
    if close is not None:
        return f'; did you mean "{close}"?'
    if view.facts.broken:
        return "; the file has a syntax error"
    more = ", …" if len(known) > _FEW else ""
    return f"; the file's functions: {', '.join(known[:_FEW])}{more}" if known else ""


def _importing(group: Group) -> list[Path]:
    """Returns the other files of a project that may use names defined in a group's files."""
    stems = b"|".join(sorted({re.escape(path.stem.encode()) for path in group.files}))
    importing = re.compile(rb"^\s*(?:from|import)\b.*\b(?:" + stems + rb")\b", re.MULTILINE)
    found = []
    for path in islice(walk_files(group.root), _MOST_FILES):
        text = read_source(path) if path.suffix == ".py" and path not in group.files else b""
        if not isinstance(text, Unread) and importing.search(text):
            found.append(path)
    return sorted(found)


def _finish(
    before: Workspace, contents: Mapping[Path, bytes], outcomes: list[tuple[Path, Outcome]], how: str, *, tables: bool
) -> int:
    if how == "write":
        try:
            write_sources(contents, {path: before.files[str(path)].raw for path in contents})
        except CannotWrite as error:
            complain(str(error))
            return BROKEN
    else:
        for path in sorted(contents):
            write_patch(patch(path, before.files[str(path)].raw, contents[path]))
    verb = "Converted" if how == "write" else "Would convert"
    for line in report(outcomes, contents, verb, tables=tables):
        click.echo(visible(line), err=True)
    return NOT_DONE if _failed(tuple(outcome for _, outcome in outcomes)) else DONE
