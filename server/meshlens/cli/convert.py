"""`meshlens convert`: the older name of `meshlens parallelize`."""

from __future__ import annotations

import click

from meshlens.cli import parallelize

command = click.Command(
    "convert", callback=parallelize.command.callback, params=parallelize.command.params, help=parallelize.command.help
)
