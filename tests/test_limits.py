"""What one root does not come to any more is run for itself."""

from __future__ import annotations

from pathlib import Path

from meshlens.axes.run import MOST_BODIES
from meshlens.project.workspace import open_workspace
from meshlens.rules._check import check
from meshlens.settings import Settings

PATH = Path("/limits/program.py")
HELPER = """
def helper_{0}(x):
    return jax.pmap(lambda y: jax.lax.psum(y, "{1}"), axis_name="data")(x)

"""


def test_a_program_that_calls_very_much_hides_nothing() -> None:
    names = ["data"] * MOST_BODIES + ["typo"]
    calls = "".join(f"    helper_{number}(x)\n" for number in range(len(names)))
    helpers = "".join(HELPER.format(number, name) for number, name in enumerate(names))
    head = "import jax\nimport jax.numpy as jnp\n"
    program = "if __name__ == '__main__':\n    main(jnp.ones((8, 2)))\n"
    text = f"{head}{helpers}\ndef main(x):\n{calls}\n\n{program}"
    workspace = open_workspace([PATH.parent], files=[PATH], overlay={PATH: text.encode()})
    assert [one.code for one in check(workspace.view(PATH), Settings())] == ["AX101"]
