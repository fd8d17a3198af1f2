"""Uses mypyc to compile the packages that take the most time: `python compiled/build.py FOLDER [--practised]`.

FOLDER, which must not exist yet, then holds the package `meshlens` with compiled modules beside their sources; put it
on PYTHONPATH to try it. The sources are not changed; `written_out.py` changes copies of them.

With `--practised`, which requires GCC, everything is compiled twice: the modules compiled first run `practice.py`, so
that the compiler knows which branches are taken. The build takes three times as long, and MeshLens takes a sixth less
time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SERVER = HERE.parent / "server"
PACKAGES = ("syntax", "facts", "axes", "project", "checking", "rules")
INTERPRETED = {
    "axes/domain/immutable.py": "the decorator that is written out",
    "project/view.py": "a rule's view inherits from it",
    "checking/suppress.py": "the class that does",
    "checking/model.py": "its records are pickled for the process beside the server, as mypyc's classes cannot be",
    "project/jedi_bridge.py": "asks jedi, whose time is its own",
}
"""Modules of these packages that are not compiled, and why."""

_PRACTISING = ("-fprofile-generate",)
_PRACTISED = ("-fprofile-use", "-fprofile-partial-training", "-Wno-missing-profile")

# The types of other libraries make nothing faster, but mypyc has to know the parser's types.
_MYPY = (
    "[mypy]\nmypy_path = {0}\nexplicit_package_bases = True\nnamespace_packages = True\nignore_missing_imports = True\n"
)


def compiled_modules(package: Path) -> Iterator[Path]:
    """Yields the modules to compile in a copy of the package `meshlens`."""
    for name in PACKAGES:
        for path in sorted((package / name).rglob("*.py")):
            if path.name != "__init__.py" and path.relative_to(package).as_posix() not in INTERPRETED:
                yield path


def build(folder: Path, *, is_practised: bool) -> None:
    """Compiles the package into a new folder."""
    from mypyc.build import mypycify
    from pybind11.setup_helpers import ParallelCompile
    from written_out import written_out

    room = folder / "build"
    shutil.copytree(SERVER / "meshlens", room / "meshlens", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(room / "meshlens", folder / "meshlens")
    for package in (room / "meshlens", folder / "meshlens"):
        shutil.copy(HERE / "runtime.py", package / "_written_out.py")
    for path in compiled_modules(room / "meshlens"):
        path.write_text(written_out(path.read_text("utf-8")), "utf-8")
    config = room / "mypy.ini"
    config.write_text(_MYPY.format(room))
    os.chdir(room)
    modules = [str(path.relative_to(room)) for path in compiled_modules(room / "meshlens")]
    extensions = mypycify(
        ["--config-file", str(config), *modules],
        # Without practice, higher optimization levels take twice as long, and the result runs no faster.
        opt_level="2" if is_practised else "1",
        debug_level="0",
        multi_file=True,
        group_name="meshlens",
    )
    # mypyc makes one extension from many C files, which setuptools would compile one after another.
    ParallelCompile(default=0).install()
    if is_practised:
        _compile(extensions, folder, _PRACTISING)
        subprocess.run([sys.executable, str(HERE / "practice.py"), str(folder)], check=True)
    _compile(extensions, folder, _PRACTISED if is_practised else ())
    shutil.rmtree(room)


def _compile(extensions: list[Any], folder: Path, options: tuple[str, ...]) -> None:
    """Compiles the C files into libraries, with options for the compiler and the linker."""
    from setuptools import setup

    for extension in extensions:
        given = [one for one in extension.extra_compile_args if not one.startswith("-fprofile")]
        extension.extra_compile_args = [*given, *options]
        extension.extra_link_args = list(options)
    # The compiler looks for the counts from practice next to the object files.
    places = ["--build-lib", str(folder), "--build-temp", str(folder / "build" / "objects")]
    setup(name="meshlens", ext_modules=extensions, script_args=["--quiet", "build_ext", "--force", *places])


if __name__ == "__main__":
    given = Path(sys.argv[1]).absolute()
    if given.exists():
        sys.exit(f'"{given}" is there already')
    build(given, is_practised="--practised" in sys.argv[2:])
