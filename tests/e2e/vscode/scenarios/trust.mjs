// Trust that is granted in a window that runs: the folder's Python is asked then, and the status item has its devices.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  const restricted = page.locator(".statusbar-item", { hasText: "Restricted Mode" });
  await restricted.waitFor();
  await workbench.open("sync.py", 8);
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  await workbench.ready();
  const before = await workbench.status().innerText();
  await workbench.command("Workspaces: Manage Workspace Trust");
  await page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).click();
  await restricted.waitFor({ state: "detached" });
  await workbench.open("sync.py", 8);
  const item = workbench.status().filter({ hasText: "here 4 CPU" });
  await item.waitFor({ timeout: 60_000 });
  await workbench.squiggles().first().waitFor();
  check((await workbench.toasts().count()) === 0, "it complains");
  await workbench.shot("trust");
  return { before, after: await item.innerText() };
});
