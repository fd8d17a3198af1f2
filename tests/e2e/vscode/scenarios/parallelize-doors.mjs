// Lightbulb, palette and context menu lead to the same question, for a function that can be parallelized, for one whose
// batch nobody can tell, and for one that cannot.
import fs from "node:fs";
import path from "node:path";
import { check, play } from "../driver.mjs";

const FILE = "doors.py";
const PROGRAM = `import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def predict(params, batch):
    return jnp.tanh(batch @ params)


def score(a, b):
    return jnp.mean((a @ b.T) ** 2)


def waves(x):
    return jnp.sum(x) + np.cos(x)


for _ in range(3):
    print(predict(jnp.ones(3), jnp.ones((8, 3))))
print(score(np.load("a.npy"), np.load("b.npy")))
print(waves(jnp.ones(8)))
`;

await play(async (workbench, page) => {
  fs.writeFileSync(path.join(workbench.workspace, FILE), PROGRAM);
  const box = page.locator(".quick-input-widget");
  const rows = box.locator(".monaco-list-row");

  const doors = {
    lightbulb: () => workbench.act("Parallelize over devices…"),
    palette: () => workbench.command("Parallelize over Devices"),
    menu: async (name) => {
      const line = page.locator(".view-line", { hasText: `def ${name}` });
      await line.locator("span", { hasText: name }).last().click({ button: "right" });
      const entry = page.locator(".monaco-menu .action-item", { hasText: "Parallelize over Devices" });
      await entry.waitFor();
      // A click on what is still fading in is lost.
      await workbench.faded(`door-menu-open-${name}`);
      await entry.click();
    },
  };

  for (const [door, enter] of Object.entries(doors)) {
    for (const [name, isReached] of [
      ["predict", async () => check((await rows.first().innerText()).includes("jit + sharding"), "not the best first")],
      ["waves", () => rows.filter({ hasText: "cannot be jitted" }).first().waitFor()],
      ["score", () => rows.filter({ hasText: "pmap" }).last().click()],
    ]) {
      await workbench.find(FILE, `def ${name.slice(0, 3)}`);
      await workbench.ready();
      await enter(name);
      await rows.filter({ hasText: "shard_map" }).first().waitFor();
      await isReached();
      if (name === "score") await page.getByPlaceholder("Which argument holds the batch?").waitFor();
      await workbench.faded(`door-${door}-${name}`);
      await page.keyboard.press("Escape");
      await box.first().waitFor({ state: "hidden" });
    }
  }
  check(workbench.read(FILE) === PROGRAM, "a question changed the file");
});
