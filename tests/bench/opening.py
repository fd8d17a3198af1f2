"""Times the opening of a Python file in VS Code up to the first squiggle, beside an extension that always underlines.

    python tests/bench/opening.py --rounds 5 [--before older.vsix]

The editors are started in turn, with a clean profile each time, in code-server (`nox -s vscode` has installed it, or
MESHLENS_CODE_SERVER names it).  `shown`: from Enter to the text; `underlined`: to the first squiggle; `activated`: the
activation time that the extension host reports.  Milliseconds; compare columns: the machine's load is in all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser import drive
from packaged import vsix
from workbench import extensions, serving

HERE = Path(__file__).parent
TOUR = HERE.parents[1] / "docs" / "tour"
EMPTY = """
const vscode = require("vscode");
exports.activate = () => {
  const found = vscode.languages.createDiagnosticCollection("empty");
  const place = new vscode.Range(7, 60, 7, 67);
  const look = (document) =>
    document.languageId === "python" && found.set(document.uri, [new vscode.Diagnostic(place, "empty")]);
  vscode.workspace.textDocuments.forEach(look);
  vscode.workspace.onDidOpenTextDocument(look);
};
"""
MANIFEST = {
    "name": "empty",
    "displayName": "Empty",
    "publisher": "empty",
    "version": "0.0.1",
    "engines": {"vscode": "^1.91.0"},
    "main": "./extension.js",
    "activationEvents": ["onLanguage:python"],
    "extensionKind": ["workspace"],
}
DESCRIBED = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"><Metadata>
<Identity Language="en-US" Id="empty" Version="0.0.1" Publisher="empty"/><DisplayName>Empty</DisplayName>
</Metadata><Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>
<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/></Assets></PackageManifest>
"""
NAMES = {"before": "MeshLens"}
TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json"
ContentType="application/json"/><Default Extension=".js" ContentType="application/javascript"/><Default
Extension=".vsixmanifest" ContentType="text/xml"/></Types>
"""


def empty(room: Path) -> Path:
    """Makes an extension that underlines a word of every Python file that is opened."""
    made = room / "empty.vsix"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("extension.vsixmanifest", DESCRIBED)
        archive.writestr("extension/package.json", json.dumps(MANIFEST))
        archive.writestr("extension/extension.js", EMPTY)
    return made


def opened(name: str, installed: Path, python: Path) -> dict[str, Any]:
    """Times one start with an extension and one file."""
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        workspace = Path(shutil.copytree(TOUR, room / "tour"))
        machine = {"meshlens.interpreter": str(python)}
        with serving(room / "profile", installed, {}, machine, ["--disable-workspace-trust"]) as address:
            told = {"address": address, "workspace": str(workspace), "extension": NAMES.get(name, name)}
            done, said = drive(HERE / "opening.mjs", room / "shots", **told)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return said


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, help="an older package of ours, to compare with")
    rounds, before = (asked := parser.parse_args()).rounds, asked.before
    # A variable that an editor started by a user does not have.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", room / "python"], check=True)
        python = room / "python" / "bin" / "python"
        packages = {"Empty": empty(room), "MeshLens": vsix()} | ({"before": before} if before else {})
        installed = {name: extensions(room / name, package) for name, package in packages.items()}
        # The first start of a server compiles its modules, once per installation of an extension.
        first = {name: opened(name, installed[name], python) for name in packages}
        taken = {name: [] for name in packages}
        for _ in range(rounds):
            for name in packages:
                taken[name].append(opened(name, installed[name], python))
    others = [name for name in packages if name != "Empty"]
    print(
        f"{'median of ' + str(rounds):12}{'Empty':>10}"
        + "".join(f"{name:>12}{'ratio':>8}{'first':>8}" for name in others)
    )
    for what in ("shown", "underlined", "activated"):
        median = {name: statistics.median(one[what] for one in taken[name]) for name in packages}
        columns = (
            f"{median[name]:12.0f}{median[name] / max(median['Empty'], 1):8.1f}{first[name][what]:8.0f}"
            for name in others
        )
        print(f"{what:12}{median['Empty']:10.0f}" + "".join(columns))


if __name__ == "__main__":
    main()
