"""Runs the three programs and plots their losses in `losses.svg`; needs matplotlib (`pip install ".[jax,plot]"`)."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
DEVICES = {"single": 1, "pmap": 8, "shard_map": 8}
RUN = "import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])['losses']))"


def losses(name):
    """Returns the losses that a program recorded."""
    flags = f"--xla_force_host_platform_device_count={DEVICES[name]}"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    command = [sys.executable, "-c", RUN, str(HERE / f"{name}.py")]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return np.array(json.loads(done.stdout.splitlines()[-1]))


def main():
    found = {name: losses(name) for name in DEVICES}
    alone = found["single"]
    for name in ("pmap", "shard_map"):
        print(f"{name}: at most {np.abs(found[name] - alone).max():.1e} from one device in {len(alone)} steps")
    plain = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "svg.fonttype": "none"}
    matplotlib.rcParams.update({**plain, "svg.hashsalt": "losses"})
    figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for (name, values), (width, style, shade) in zip(found.items(), [(6, "-", 0.35), (2.5, "-", 1), (1, "--", 1)]):
        label = f"{name}.py, {DEVICES[name]} device{'s' * (DEVICES[name] > 1)}"
        axes.plot(values, label=label, linewidth=width, linestyle=style, alpha=shade)
    axes.set(xlabel="step", ylabel="loss", yscale="log")
    axes.legend(frameon=False)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    rounded = re.sub(r"(\d\.\d)\d+", r"\1", drawn.getvalue())
    (HERE / "losses.svg").write_text("\n".join(line.rstrip() for line in rounded.splitlines()) + "\n", "utf-8")


main()
