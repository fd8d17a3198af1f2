"""Names with which programs read options from their command line or environment."""

from __future__ import annotations

PARSERS = frozenset({"argparse.ArgumentParser", "configargparse.ArgumentParser", "simple_parsing.ArgumentParser"})
"""Classes of parsers to which a program adds its options."""
PARSES = frozenset({"parse_args", "parse_known_args"})
"""Their methods that return a table of the options' values."""
GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
"""Their methods that return a part of the parser."""
PARSERS_OF_DATACLASSES = frozenset({"transformers.HfArgumentParser"})
ENVIRONMENT = frozenset({"os.environ.get", "os.environ.setdefault", "os.getenv"})
"""Functions that return an environment variable, or else their second argument."""
FLAG = "absl.flags.DEFINE_"
"""The prefix of the functions that define a flag."""
FLAGS = "absl.flags.FLAGS"
"""The object whose attributes are the values of all flags."""
DECORATORS = frozenset({"click.option", "rich_click.option", "asyncclick.option"})
"""Decorators that pass the value of an option to a function."""
PARAMETERS = frozenset({"typer.Option", "typer.Argument"})
"""Defaults of parameters that describe an option; the first argument is its default."""
ENTRIES = frozenset({"fire.Fire", "jsonargparse.CLI", "jsonargparse.auto_cli", "typer.run", "tyro.cli", "defopt.run"})
"""Functions that call a function, or create a dataclass, with the options as arguments."""
CONFIGURATIONS = frozenset({"draccus.parse", "pyrallis.parse", "simple_parsing.parse", "tyro.cli"})
"""Functions that create a dataclass from the options."""

ARGUMENTS = "sys.argv"
"""The list of the program's name and what the user passes."""

READS_OPTIONS = frozenset(
    "parse_args parse_known_args parse_args_into_dataclasses getenv FLAGS click rich_click asyncclick typer fire tyro "
    "jsonargparse defopt draccus pyrallis simple_parsing".split()
)
"""Names in code that reads options."""
BUILDS_PARSERS = frozenset("ArgumentParser add_argument parse_args parse_known_args".split())
"""Names in functions that build parsers, which are worth running for the sake of the options."""
PLACEHOLDERS = frozenset({"", "0", "1", "-1", "auto", "default", "none", "null"})
"""Texts that say nothing as the default of an option, in lower case."""
