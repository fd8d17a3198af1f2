// From the context menu: a function whose batch nobody can tell asks which argument holds it.
import fs from "node:fs";
import path from "node:path";
import { check, play } from "../driver.mjs";

const FILE = "score.py";
const PROGRAM = `import jax.numpy as jnp
import numpy as np


def score(a, b):
    return jnp.mean((a @ b.T) ** 2)


print(score(np.load("a.npy"), np.load("b.npy")))
`;

await play(async (workbench, page) => {
  fs.writeFileSync(path.join(workbench.workspace, FILE), PROGRAM);
  await workbench.find(FILE, "def sco");
  await workbench.ready();
  await page
    .locator(".view-line", { hasText: "def score" })
    .locator("span", { hasText: "score" })
    .last()
    .click({ button: "right" });
  const entry = page.locator(".monaco-menu .action-item", {
    hasText: "Parallelize over Devices",
  });
  await entry.waitFor();
  await workbench.faded("parallelize-context-menu");
  await entry.click();
  await page
    .locator(".quick-input-widget .monaco-list-row")
    .filter({ hasText: "pmap" })
    .last()
    .click();
  const question = page.locator(".quick-input-widget", {
    has: page.getByPlaceholder("Which argument holds the batch?"),
  });
  await question.waitFor();
  await workbench.faded("parallelize-which-batch");
  await question.locator(".monaco-list-row").first().click();
  check(
    (await workbench.answer("The axis of the batch", "0")) === "0",
    "no axis is proposed",
  );
  await workbench.answer("The name of the axis", "batch");
  await workbench.answer("The number of devices", "8");
  const preview = page.locator(".bulk-edit-panel");
  await preview
    .locator(".monaco-list-row", { hasText: FILE })
    .first()
    .waitFor();
  await preview.locator(".monaco-button", { hasText: "Apply" }).click();
  await workbench.save(
    FILE,
    (text) => text.includes("jax.pmap") && text.includes("in_axes=(0, None)"),
  );
  await workbench.shot("parallelize-answered");
});
