// The view draws the meshes of the file in front, and which functions run under which axes; the keyboard goes to them.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.open("09_mesh_axis_that_is_not_there.py");
  await workbench.ready();
  await workbench.command("MeshLens: Show Devices and Meshes");
  // The list of files gives way.
  await page.locator('.pane-header[aria-label*="Explorer Section"]').first().click();
  const view = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  await view.locator("body", { hasText: "Functions" }).waitFor();
  const text = await view.locator("body").innerText();
  for (const one of ["target 8", "data: 4", "model: 2", "project"]) check(text.includes(one), text);
  await page.waitForTimeout(500);
  await workbench.shot("mesh-view");
  await view.locator("button", { hasText: "mesh" }).first().focus();
  await page.keyboard.press("Tab");
  await workbench.shot("mesh-view-keyboard");
  await page.keyboard.press("Enter");
  await page.locator(".statusbar-item", { hasText: "Ln 18, Col 12" }).waitFor();
  return { text };
});
