// The view draws the meshes of the file in front, and which functions run under which axes; the keyboard goes to them.
import { play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.open("09_mesh_axis_that_is_not_there.py");
  await workbench.ready();
  await workbench.command("Focus on Devices and Meshes View");
  const frame = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  await frame.locator("body", { hasText: "Meshes" }).waitFor();
  await page.waitForTimeout(500);
  await workbench.shot("mesh-view");
  await page.locator(".pane-header", { hasText: "tour" }).first().click();
  await frame.locator("button", { hasText: "mesh" }).first().focus();
  await page.keyboard.press("Tab");
  await workbench.shot("mesh-view-keyboard");
  await page.keyboard.press("Enter");
  await page.locator(".statusbar-item", { hasText: "Ln 18, Col 12" }).waitFor();
  return { text: await frame.locator("body").innerText() };
});
