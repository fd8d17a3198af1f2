// Opens a Python file in a window that has just come up: when is something underlined, and how long did activation take?
import { play } from "../e2e/vscode/driver.mjs";

const { extension } = JSON.parse(process.env.SCENARIO);

await play(async (workbench, page) => {
  // The workbench itself is at rest; what is left is the extension's.
  await page.waitForTimeout(3000);
  await page.keyboard.press("Control+p");
  await workbench.quickInput().fill("sync.py");
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: "sync.py" }).first();
  await row.waitFor();
  const begun = Date.now();
  await page.keyboard.press("Enter");
  await page.locator(".editor-instance .view-line").first().waitFor();
  const shown = Date.now() - begun;
  await workbench.squiggles().first().waitFor({ timeout: 120_000 });
  const underlined = Date.now() - begun;
  await workbench.command("Developer: Show Running Extensions");
  const entry = page.locator(".runtime-extensions-editor .monaco-list-row", { hasText: extension }).first();
  await entry.waitFor();
  const activation = /(\d+)ms/.exec(await entry.locator(".activation-time").innerText());
  return { shown, underlined, activated: Number(activation[1]) };
});
