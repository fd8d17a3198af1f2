"""Times typing while the project's Python hangs, against a server that queries no Python, alternating by keystroke.

    python tests/bench/hanging_probe.py [--lines 1000] [--sessions 3]

Compare the two columns, not absolute values: the machine's load is in both of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from generate import module
from lsp_client import Client, start

from lsp import Text, keystrokes

HANGS = "#!{python} -IS\nimport os, time\nopen({number!r}, 'w').write(str(os.getpid()))\ntime.sleep(10_000)\n"
SIDES = {"nobody asked": "0", "hanging": "1"}


def opened(root: Path, switch: str) -> tuple[Client, Text]:
    """Starts a server with a file open; the switch says whether it queries the project's Python."""
    command = ["env", f"MESHLENS_DETECT_DEVICES={switch}", sys.executable, "-I", "-m", "meshlens", "server"]
    client, _ = start(command, root)
    text = Text(root / "main.py")
    item = {"uri": text.uri, "languageId": "python", "version": 1, "text": "\n".join(text.lines)}
    client.diagnostics(client.notify("textDocument/didOpen", {"textDocument": item}), text.uri, 1)
    client.rest(0.5)
    return client, text


def session(lines: int, into: dict[str, list[float]]) -> None:
    """Runs one pair of servers over one file."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "main.py").write_text(module(lines, 1))
        number, python = root / "number", root / "hangs"
        python.write_text(HANGS.format(python=sys.executable, number=str(number)))
        python.chmod(0o755)
        (root / "meshlens.toml").write_text(f'interpreter = "{python}"\n')
        pairs = {name: opened(root, switch) for name, switch in SIDES.items()}
        try:
            while not number.exists():
                time.sleep(0.05)
            strokes = {name: keystrokes(text) for name, (_, text) in pairs.items()}
            for both in zip(*(strokes[name] for name in SIDES), strict=True):
                for name, (_, params) in zip(SIDES, both, strict=True):
                    client, text = pairs[name]
                    sent = client.notify("textDocument/didChange", params)
                    into[name].append(client.diagnostics(sent, text.uri, text.version))
                    client.rest(0.02)
        finally:
            for client, _ in pairs.values():
                client.close()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=3)
    given = parser.parse_args(arguments)
    samples: dict[str, list[float]] = {name: [] for name in SIDES}
    for _ in range(given.sessions):
        session(given.lines, samples)
    quantiles = {name: statistics.quantiles(found, n=20) for name, found in samples.items()}
    print(f"keystroke to findings, {given.lines} lines, {len(samples['hanging'])} each: p50 and p95 in ms")
    for name, found in quantiles.items():
        print(f"  {name:<14}{found[9] * 1000:8.1f}{found[18] * 1000:8.1f}")
    asked, hanging = quantiles["nobody asked"], quantiles["hanging"]
    print(f"  {'ratio':<14}{hanging[9] / asked[9]:8.2f}{hanging[18] / asked[18]:8.2f}")


if __name__ == "__main__":
    main()
