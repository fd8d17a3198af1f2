"""`meshlens explain`."""

from __future__ import annotations

import click

from meshlens.checking.registry import all_rules
from meshlens.checking.select import did_you_mean
from meshlens.cli.options import rules_like
from meshlens.cli.pages import page
from meshlens.cli.printing.terminal import print_markdown, speak_utf8


class _Explain(click.Command):
    """A command whose help lists the rules."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Rules"):
            formatter.write_dl([(rule.code, rule.name) for rule in all_rules()])


@click.command("explain", cls=_Explain)
@click.argument("rules", nargs=-1, required=True, metavar="RULE...", shell_complete=rules_like)
def command(rules: tuple[str, ...]) -> int:
    """Show the page of each rule, given by code or name."""
    speak_utf8()
    known = {key: rule for rule in all_rules() for key in (rule.code.lower(), rule.name)}
    for wanted in rules:
        if wanted.lower() not in known:
            raise click.UsageError(f'unknown rule "{wanted}"{did_you_mean(wanted)}')
    print_markdown("\n".join(page(known[wanted.lower()], "#") for wanted in rules))
    return 0
