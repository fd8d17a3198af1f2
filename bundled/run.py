"""Starts the server next to this file, or says in one sentence why this Python cannot run it.

The extension starts it as `python -I -S run.py --tell server`, so that nothing is imported from a workspace or an
environment; without `-S` if a server installed in this Python's environment takes precedence. The code is limited to
what every Python accepts, because the Python found on a machine may be old.
"""

import json
import os
import platform
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LIBS = os.path.join(HERE, "libs")
# In a checkout, the server is not bundled; this Python must have its dependencies installed.
SOURCES = os.path.join(os.path.dirname(HERE), "server")
FROM_ENVIRONMENT = "--from-environment"
TELL = "--tell"
UNUSABLE = 3


def main(arguments):
    """Runs the server, if this Python can.

    Args:
        arguments: `--from-environment` prefers a server installed in this Python's environment; with `--tell`, the
            first line on stderr says which server runs, or why none does; all others are passed to the server.

    Returns:
        The exit code; 3 if this Python cannot run the server.
    """
    sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry) and os.path.abspath(entry) != HERE]
    if FROM_ENVIRONMENT in arguments:
        _see_user_packages()
    origin = "environment" if FROM_ENVIRONMENT in arguments and _is_installed() else "bundled"
    if origin == "bundled":
        # Our packages go first, so that no other version of a dependency is mixed in.
        sys.path.insert(0, LIBS if os.path.isdir(LIBS) else SOURCES)
    refused = _refused()
    if TELL in arguments:
        version = ".".join(str(number) for number in sys.version_info[:3])
        said = json.dumps({"origin": origin, "python": sys.executable, "refused": refused, "version": version})
        sys.stderr.write(said + "\n")
        sys.stderr.flush()
    elif refused:
        sys.stderr.write("meshlens: " + refused + "\n")
    if refused:
        return UNUSABLE
    if origin == "bundled":
        # An environment, often a container's, may tell Python to write no bytecode; then each start would compile
        # everything, which takes longer than everything else. These files are the extension's own.
        sys.dont_write_bytecode = False
    sys.argv[1:] = [argument for argument in arguments if argument not in (FROM_ENVIRONMENT, TELL)]
    from meshlens.start import main as meshlens

    return meshlens()


def _see_user_packages():
    """Adds the packages installed with `pip install --user`, which `-I` excludes."""
    import site

    own = site.getusersitepackages()
    if sys.prefix == getattr(sys, "base_prefix", sys.prefix) and os.path.isdir(own) and own not in sys.path:
        sys.path.append(own)


def _refused():
    """Returns why this Python cannot run the server; None if it can."""
    python = "Python " + ".".join(str(number) for number in sys.version_info[:2])
    if sys.version_info < (3, 10):
        return python + " is too old for MeshLens, which needs 3.10 or newer (" + sys.executable + ")"
    try:
        import tree_sitter
        import tree_sitter_python
    except ImportError as error:
        machine = platform.system() + " " + platform.machine()
        return "{} on {} cannot load the parser of MeshLens: {} ({})".format(python, machine, error, sys.executable)
    del tree_sitter, tree_sitter_python
    return None


def _is_installed():
    if sys.version_info < (3, 10):
        return False
    from importlib.util import find_spec

    return find_spec("meshlens") is not None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
