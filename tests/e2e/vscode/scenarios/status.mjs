// The status item tells that the server runs; its menu has the commands, and one of them shows the logs.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.open("sync.py", 8);
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  const item = workbench.status();
  await workbench.until(async () => !(await item.locator(".codicon-modifier-spin").count()), () => "it stays busy");
  const said = await item.innerText();
  check(said.includes("target 8"), said);
  await item.click();
  const rows = page.locator(".quick-input-widget .monaco-list-row");
  await rows.filter({ hasText: "Restart Server" }).waitFor();
  await workbench.faded("status");
  const offered = await rows.allInnerTexts();
  await rows.filter({ hasText: "Show Logs" }).click();
  await page.locator(".part.panel .view-line", { hasText: "MeshLens from bundled" }).first().waitFor();
  await workbench.shot("logs");
  return { said, offered };
});
