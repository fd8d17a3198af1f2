"""`meshlens check`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click

from meshlens.caches.folder import VARIABLE, OpenCache, cache_of
from meshlens.cli.formats import NAMES, render
from meshlens.cli.options import options_from, settings_options
from meshlens.cli.printing.progress import progress
from meshlens.cli.printing.report import Report
from meshlens.cli.printing.terminal import complain, print_full, speak_utf8, write_patch
from meshlens.cli.printing.visible import visible
from meshlens.cli.request import STDIN, Group, Request, absolute, ask, shown
from meshlens.cli.run import Outcome, no_cache, run
from meshlens.foreign_files import NOTEBOOK, SOURCE, Unread, too_large
from meshlens.project.disk.python_text import as_utf8
from meshlens.settings import names_rules

CLEAN, FOUND, BROKEN = 0, 1, 2
_MOST_COMPLAINTS = 20
_ARGUMENTS = "meshlens.arguments"


class _Check(click.Command):
    """A command that stores its arguments in order to pass them to another process."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


@click.command("check", cls=_Check)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")
@settings_options
@click.option(
    "--output-format", type=click.Choice(NAMES), default="full", show_default=True, help="How to print findings."
)
@click.option("--fix", is_flag=True, help="Apply safe fixes.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="With --fix or --diff, include fixes that may change what the code means."
)
@click.option("--diff", is_flag=True, help="Show the changes that --fix would make, without applying them.")
@click.option("--statistics", is_flag=True, help="Print the number of findings of each rule.")
@click.option("--baseline", type=click.Path(), metavar="FILE", help="Hide the findings listed in this file.")
@click.option("--write-baseline", is_flag=True, help="Write all findings to the --baseline file.")
@click.option("--add-noqa", is_flag=True, help="Add a comment to each line with findings, to ignore them from now on.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes, until Ctrl-C.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("--no-cache", is_flag=True, help="Do not read or write caches.")
@click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help=f"Cache folder to use instead of the user's; can also be set with the environment variable {VARIABLE}.",
)
@click.option(
    "--stdin-filename",
    type=click.Path(),
    metavar="PATH",
    help="The file name to assume for stdin; pass `-` as the path to read stdin.",
)
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Check files and folders (default: the current folder).

    Exit codes: 0 if nothing is found, 1 if there are findings, 2 for a usage, configuration or I/O error. A syntax
    error or an internal error of MeshLens also gives 2, unless there are findings.
    """
    _refuse_nonsense(paths, options)
    speak_utf8()
    if options["watch"]:
        from meshlens.cli.watch import watch

        return watch(paths, [one for one in click.get_current_context().meta[_ARGUMENTS] if one != "--watch"])
    typed = _stdin(paths, options["stdin_filename"])
    texts = _as_utf8(typed)
    settings, exclude = options_from(options)
    given = absolute(options["cache_dir"]) if options["cache_dir"] else None
    open_cache: OpenCache = no_cache if options["no_cache"] else partial(cache_of, given=given)
    request = ask([] if texts else (paths or (".",)), settings, exclude, texts, partial(cache_of, given=given))
    request = _without_bad_selectors(request)
    for error in request.errors:
        complain(error)
    with progress() as bar:
        outcome = run(request, _safeties(options), bar, open_cache)
    for problem in (*outcome.report.problems[len(request.errors) :], *outcome.report.failures):
        complain(problem)
    if not _prints_summary(options):
        from meshlens.cli.formats.summary import syntax_errors

        for line in syntax_errors(outcome.report):
            complain(line.removesuffix("."))
    return _finish(outcome, options, typed)


def _prints_summary(options: Mapping[str, Any]) -> bool:
    if options["diff"] or options["add_noqa"] or options["write_baseline"]:
        return False
    return options["output_format"] in ("full", "concise")


def _refuse_nonsense(paths: tuple[str, ...], options: Mapping[str, Any]) -> None:
    if options["unsafe_fixes"] and not (options["fix"] or options["diff"]):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff")
    if options["write_baseline"] and not options["baseline"]:
        raise click.UsageError("--write-baseline needs --baseline FILE")
    if options["write_baseline"] and (options["fix"] or options["diff"]):
        raise click.UsageError("--write-baseline cannot be combined with --fix or --diff")
    if options["add_noqa"] and (options["fix"] or options["diff"] or options["write_baseline"]):
        raise click.UsageError("--add-noqa cannot be combined with --fix, --diff or --write-baseline")
    if options["watch"] and (options["stdin_filename"] or STDIN in paths):
        raise click.UsageError("--watch needs files; there is nothing to watch on stdin")
    if STDIN in paths and len(paths) > 1:
        raise click.UsageError("- cannot be combined with other paths")
    if options["stdin_filename"] and paths not in ((), (STDIN,)):
        raise click.UsageError("--stdin-filename cannot be combined with paths")


def _stdin(paths: tuple[str, ...], name: str | None) -> dict[Path, bytes] | None:
    if name is None and STDIN not in paths:
        return None
    path = absolute(name or "stdin.py")
    most = NOTEBOOK if path.suffix == ".ipynb" else SOURCE
    raw = sys.stdin.buffer.read(most + 1)
    if len(raw) > most:
        raise click.UsageError(f"{name or STDIN}: {too_large(most).message}")
    return {path: raw}


def _as_utf8(typed: Mapping[Path, bytes] | None) -> dict[Path, bytes] | None:
    if typed is None:
        return None
    texts = {}
    for path, raw in typed.items():
        text = raw if path.suffix == ".ipynb" else as_utf8(raw)
        if isinstance(text, Unread):
            raise click.UsageError(f"{shown(path)}: {text.message}")
        texts[path] = text
    return texts


def _safeties(options: Mapping[str, Any]) -> Any:
    if not options["fix"] and not options["diff"]:
        return frozenset()
    from meshlens.checking.fixes import SAFE, SAFE_AND_UNSAFE

    return SAFE_AND_UNSAFE if options["unsafe_fixes"] else SAFE


def _without_bad_selectors(request: Request) -> Request:
    """Returns the request without the groups whose configuration names unknown rules."""
    if not any(names_rules(group.settings) for group in request.groups):
        return request
    from meshlens.checking.select import unknown_selectors

    kept: list[Group] = []
    errors = list(request.errors)
    for group in request.groups:
        wrong = [
            f'{group.configuration.origins.get(key, "")}: "{key}": {message}'
            for key, message in islice(unknown_selectors(group.settings), _MOST_COMPLAINTS)
        ]
        errors += [line for line in wrong if line not in errors]
        if not wrong:
            kept.append(group)
    return Request(tuple(kept), tuple(errors))


def _finish(outcome: Outcome, options: Mapping[str, Any], texts: Mapping[Path, bytes] | None) -> int:
    failed = bool(outcome.report.problems)
    if options["diff"]:
        code = _print_diff(outcome)
    elif options["add_noqa"]:
        code = _add_noqa(outcome, options["baseline"])
    elif options["write_baseline"]:
        code = _write_baseline(outcome, Path(options["baseline"]))
    else:
        code = _print_report(outcome, options, texts)
    is_silent = code == CLEAN or options["exit_zero"]
    if failed or code == BROKEN or (outcome.report.failures and is_silent):
        return BROKEN
    return CLEAN if options["exit_zero"] else code


def _print_diff(outcome: Outcome) -> int:
    from meshlens.cli.fixing import difference

    patch = b"".join(difference(one) for one in outcome.repaired)
    write_patch(patch)
    count = sum(outcome.report.fixed.values())
    print(f"Would fix {count} finding{'' if count == 1 else 's'}.", file=sys.stderr)
    return FOUND if patch else CLEAN


def _write_baseline(outcome: Outcome, path: Path) -> int:
    from meshlens.cli.baseline import written
    from meshlens.cli.writing import CannotWrite, write_all

    path = absolute(str(path))
    count = len(outcome.report.findings)
    try:
        write_all({path: written(outcome.report, path.parent)})
    except CannotWrite as error:
        complain(str(error))
        return BROKEN
    print(f"Wrote {count} finding{'' if count == 1 else 's'} to {visible(path.name)}.", file=sys.stderr)
    return CLEAN


def _add_noqa(outcome: Outcome, baseline: str | None) -> int:
    from meshlens.cli.baseline import BadBaseline, without_known
    from meshlens.cli.silencing import silenced
    from meshlens.cli.writing import CannotWrite, write_sources

    try:
        report = without_known(outcome.report, absolute(baseline)) if baseline else outcome.report
        made = silenced(report.findings)
        write_sources(made.after, made.before)
    except BadBaseline as error:
        complain(f"{baseline}: {error}")
        return BROKEN
    except CannotWrite as error:
        complain(str(error))
        return BROKEN
    for line in made.left:
        complain(line)
    count, files = made.comments, len(made.after)
    said = f"{count} comment{'' if count == 1 else 's'} in {files} file{'' if files == 1 else 's'}"
    print(f"Added {said}.", file=sys.stderr)
    return FOUND if made.left else CLEAN


def _print_report(outcome: Outcome, options: Mapping[str, Any], texts: Mapping[Path, bytes] | None) -> int:
    report = outcome.report
    failed = False
    if options["baseline"]:
        from meshlens.cli.baseline import BadBaseline, without_known

        try:
            report = without_known(report, absolute(options["baseline"]))
        except BadBaseline as error:
            complain(f"{options['baseline']}: {error}")
            failed = True
    if options["fix"]:
        if texts:
            return _print_fixed_text(outcome, options, texts)
        failed = not _write(outcome) or failed
    if options["statistics"]:
        from meshlens.cli.formats.summary import statistics

        sys.stdout.write(statistics(report, as_json=options["output_format"] == "json"))
    elif options["output_format"] == "full":
        print_full(report)
    else:
        sys.stdout.write(render(options["output_format"], report))
    return _code(report, failed=failed, options=options)


def _code(report: Report, *, failed: bool, options: Mapping[str, Any]) -> int:
    if failed:
        return BROKEN
    if report.findings:
        return FOUND
    is_wrong = any(one.reason for one in report.unparsed)
    return BROKEN if is_wrong and not options["exit_zero"] else CLEAN


def _write(outcome: Outcome) -> bool:
    from meshlens.cli.writing import CannotWrite, write_sources

    before = {path: raw for one in outcome.repaired for path, raw in one.before.items()}
    try:
        write_sources(outcome.contents, before)
    except CannotWrite as error:
        complain(str(error))
        return False
    return True


def _print_fixed_text(outcome: Outcome, options: Mapping[str, Any], texts: Mapping[Path, bytes]) -> int:
    """Prints the repaired text to stdout, as a filter does, and messages to stderr; returns the exit code."""
    from meshlens.cli.writing import CannotWrite, in_its_encoding

    failed = False
    for path, raw in texts.items():
        fixed = raw
        try:
            fixed = in_its_encoding(path, outcome.contents[path], raw) if path in outcome.contents else raw
        except CannotWrite as error:
            complain(str(error))
            failed = True
        sys.stdout.buffer.write(fixed)
    sys.stdout.flush()
    sys.stderr.write(render("concise", outcome.report))
    return _code(outcome.report, failed=failed, options=options)
