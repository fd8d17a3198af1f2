// "Parallelize over devices…" asks how and over what, shows what it would change, and does it.
import { check, play } from "../driver.mjs";

const FILE = "11_one_training_run/single.py";

await play(async (workbench, page) => {
  await workbench.find(FILE, "def train_st");
  await workbench.ready();
  await workbench.act("Parallelize over devices…", "parallelize-menu");
  const ways = page.locator(".quick-input-widget .monaco-list-row");
  await ways.filter({ hasText: "FSDP" }).waitFor();
  await workbench.faded("parallelize-ways");
  check((await ways.first().innerText()).includes("jit + sharding"), "the best way does not come first");
  await ways.filter({ hasText: "pmap" }).last().click();
  check((await workbench.answer("The name of the axis", "workers", "parallelize-question")) === "batch", "no default");
  await workbench.answer("The number of devices", "8");
  const preview = page.locator(".bulk-edit-panel");
  const file = preview.locator(".monaco-list-row", { hasText: "single.py" }).first();
  await file.waitFor();
  await workbench.shot("parallelize-preview");
  check(await file.getByRole("checkbox").first().isChecked(), "half of such an edit is a broken program");
  await preview.locator(".monaco-button", { hasText: "Apply" }).click();
  await workbench.save(FILE, (text) => text.includes('axis_name="workers"'));
  await workbench.shot("parallelize");
});
