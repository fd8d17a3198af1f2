// From the palette: a function is sharded with jit; one that cannot be compiled says why.
import { check, play } from "../driver.mjs";

const FILE = "11_one_training_run/single.py";
const COMMAND = "Parallelize over Devices";

const count = (text, part) => text.split(part).length - 1;

await play(async (workbench, page) => {
  const ways = page.locator(".quick-input-widget .monaco-list-row");
  await workbench.find(FILE, "def spir");
  await workbench.ready();
  await workbench.command(COMMAND);
  const closed = ways.filter({ hasText: "cannot be jitted" }).first();
  await closed.waitFor();
  await workbench.faded("parallelize-closed");
  await closed.click();
  const toast = workbench.toasts().filter({ hasText: "cannot be jitted" }).first();
  await toast.waitFor();
  await workbench.shot("parallelize-refused");
  check(!(await workbench.read(FILE)).includes("shard_batch"), "a refusal changed the file");
  await workbench.command("Notifications: Clear All Notifications");

  await workbench.find(FILE, "def train_st");
  await workbench.command(COMMAND);
  await ways.filter({ hasText: "jit + sharding" }).first().click();
  await workbench.answer("The name of the axis", "data");
  await workbench.answer("The mesh of devices", "");
  const preview = page.locator(".bulk-edit-panel");
  await preview.locator(".monaco-list-row", { hasText: "single.py" }).first().waitFor();
  // Away from the path of the file, which has a hover.
  await page.mouse.move(600, 652);
  await workbench.faded("parallelize-jit-preview");
  const boxes = await preview.locator(".monaco-list-row[aria-level='2']").allInnerTexts();
  const half = boxes.filter((box) => count(box, "(") !== count(box, ")"));
  check(boxes.length > 3 && half.length === 0, `a box holds half of an edit:\n${boxes.join("\n")}`);
  await preview.locator(".monaco-button", { hasText: "Apply" }).click();
  await workbench.save(FILE, (text) => text.includes("params, speed = replicate((params, speed))"));
  await workbench.shot("parallelize-jit");
});
