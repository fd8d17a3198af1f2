// The first minutes with the extension, frame by frame: a typo and its fix, a step over all devices, what that moves.
import { play } from "../driver.mjs";

const frames = [];

await play(async (workbench, page) => {
  const next = (seconds) => {
    const name = `frame-${String(frames.length).padStart(2, "0")}`;
    frames.push({ name, seconds });
    return name;
  };
  const frame = (seconds) => workbench.faded(next(seconds));

  await workbench.find("train.py", "return lax.pmean(loss_fn(params, batch), axis_name=");
  await workbench.ready();
  // Without the explorer, so that whole lines are seen.
  await page.keyboard.press("Control+b");
  await frame(1.2);
  for (const typed of ['"b', "ac", 'th"']) {
    await page.keyboard.insertText(typed);
    await workbench.shot(next(0.2));
  }
  const squiggle = workbench.squiggles().first();
  await squiggle.waitFor();
  await frame(0.8);
  await workbench.hover(squiggle, "Used by");
  await workbench.shot(next(2.5));
  await page.keyboard.press("Escape");
  await workbench.act('change to "batch"', next(1.5));
  await squiggle.waitFor({ state: "detached" });
  await frame(1.2);

  await workbench.find("train.py", "def train_st");
  await workbench.act("Parallelize over devices…", next(1.2));
  const ways = page.locator(".quick-input-widget .monaco-list-row");
  await ways.filter({ hasText: "FSDP" }).waitFor();
  await frame(2);
  await ways.first().click();
  await workbench.answer("The name of the axis", "data", next(1));
  await workbench.answer("The mesh of devices", "");
  const preview = page.locator(".bulk-edit-panel");
  await preview.locator(".monaco-list-row", { hasText: "train.py" }).first().waitFor();
  await page.mouse.move(600, 652);
  await frame(2.5);
  await preview.locator(".monaco-button", { hasText: "Apply" }).click();
  await workbench.save("train.py", (text) => text.includes("shard_batch("));
  await workbench.find("train.py", "for step in ");
  await frame(2);

  await workbench.find("train.py", "def ent");
  await frame(0.8);
  await page.locator(".codelens-decoration a", { hasText: "Trace on 8 devices" }).click();
  await page.locator(".codelens-decoration a", { hasText: "collective" }).waitFor({ timeout: 60_000 });
  await workbench.find("train.py", "def loss_");
  await frame(3);
  return { frames };
});
