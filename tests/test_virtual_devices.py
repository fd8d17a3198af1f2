"""The number of virtual devices that a file requests, and that an edit finds what a cold start finds."""

from __future__ import annotations

import pytest

from meshlens.facts.disk.restored import restored
from meshlens.facts.disk.stored import stored
from meshlens.facts.editing.reading import read, read_again
from meshlens.facts.extract import extract
from meshlens.facts.model import DevicesSaid
from meshlens.text import Edit, Span

FLAG = "--xla_force_host_platform_device_count"
UNSURE = DevicesSaid("", "code")


@pytest.mark.parametrize(
    "source",
    [
        f'import os\nos.environ["XLA_FLAGS"] = "{FLAG}=8"\n',
        f'os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " {FLAG}=8 --xla_dump_to=/x"\n',
        f"os.environ.setdefault('XLA_FLAGS', '{FLAG}=8')\n",
        f'if __name__ == "__main__":\n    os.environ["XLA_FLAGS"] = "{FLAG}=8"\n',
        f'os.environ.update(JAX_PLATFORMS="cpu", XLA_FLAGS="{FLAG}=8")\n',
        'os.environ["JAX_NUM_CPU_DEVICES"] = "8"\n',
        'jax.config.update("jax_num_cpu_devices", 8)\n',
        'jax.config.update(\n    "jax_num_cpu_devices",\n    8,\n)\n',
        "jax.config.jax_num_cpu_devices = 8\n",
        "chex.set_n_cpu_devices(8)\n",
        "from chex import set_n_cpu_devices\nset_n_cpu_devices(n=8)\n",
        f'try:\n    jax.config.update("jax_num_cpu_devices", 8)\n'
        f'except AttributeError:\n    os.environ["XLA_FLAGS"] = "{FLAG}=8"\n',
        f'os.environ["XLA_FLAGS"] = "{FLAG}=4"\njax.config.update("jax_num_cpu_devices", 8)\n',
        f'"""Run with {FLAG}=2."""\n# {FLAG}=4\njax.config.update("jax_num_cpu_devices", 8)\n',
    ],
)
def test_a_number_that_is_certain(source):
    assert extract(source.encode()).devices == DevicesSaid("8", "code")


@pytest.mark.parametrize(
    "source",
    [
        f'os.environ["XLA_FLAGS"] = f"{FLAG}={{N}}"\n',
        'jax.config.update("jax_num_cpu_devices", N)\n',
        'jax.config.update("jax_num_cpu_devices", 8 * 2)\n',
        f'if args.cpu:\n    os.environ["XLA_FLAGS"] = "{FLAG}=8"\n',
        f'def emulate():\n    os.environ["XLA_FLAGS"] = "{FLAG}=8"\n',
        f'FLAGS = "{FLAG}=8"\n',
        f'os.environ["XLA_FLAGS"] = "{FLAG}=8" if cpu else ""\n',
        f'os.environ["XLA_FLAGS"] = "{FLAG}=4"\nos.environ["XLA_FLAGS"] = "{FLAG}=8"\n',
    ],
)
def test_a_number_that_is_not(source):
    assert extract(source.encode()).devices == UNSURE


@pytest.mark.parametrize("source", [f'"""Set {FLAG}=8."""\n', f"# {FLAG}=8\n", "import chex\n", "n_devices = 8\n"])
def test_nothing_is_asked_for(source):
    assert extract(source.encode()).devices is None


def test_a_comment_goes_first():
    source = b'jax.config.update("jax_num_cpu_devices", 8)\n# meshlens: devices=v5e-16\n'
    assert extract(source).devices == DevicesSaid("v5e-16", "comment")


def test_it_is_kept_on_disk():
    source = b"chex.set_n_cpu_devices(8)\n"
    facts = restored(stored(extract(source)), len(source), is_whole=True)
    assert facts.devices == DevicesSaid("8", "code")


BODY = "import os\n\n\ndef f(x):\n    return x\n\n\nclass A:\n    def g(self):\n        y = 1\n        return y\n\n\n"
SETS = f'os.environ["XLA_FLAGS"] = "{FLAG}=8"\n'


@pytest.mark.parametrize(
    ("before", "at", "cut", "new"),
    [
        (SETS + BODY, "return x", 8, "return x + 1"),
        (SETS + BODY, "y = 1", 5, "y = 22"),
        (SETS + BODY, "=8", 2, "=16"),
        (SETS + BODY, "FLAGS", 0, "X"),
        (SETS + BODY, "os.environ", 0, "if c: "),
        (SETS + BODY, "os.environ", 0, "# "),
        (SETS + BODY, "import os", 0, "# meshlens: devices=4\n"),
        (BODY + SETS, "class A", 0, "if (\n"),
        ("# meshlens: devices=4\n" + BODY, "devices=4", 9, "devices=2x2"),
        ("# meshlens: devices=4\n" + BODY, "# mesh", 1, ""),
        ("# meshlens: devices=4\n" + BODY, "return x", 8, "return"),
        (BODY, "import os", 0, "chex.set_n_cpu_devices(4)\n"),
        (BODY, "y = 1", 0, "chex.set_n_cpu_devices(4); "),
    ],
)
def test_an_edit_finds_what_a_cold_start_finds(before, at, cut, new):
    reading = read(before.encode())
    start = before.index(at)
    edits = [Edit(Span(start, start + cut), new)]
    after = read_again(reading, edits)
    assert after.facts.devices == extract(after.source).devices
    back = read_again(after, [Edit(Span(start, start + len(new)), before[start : start + cut])])
    assert back.facts.devices == extract(before.encode()).devices
