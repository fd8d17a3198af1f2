import { check, play } from "../driver.mjs";
await play(async (workbench, page) => {
  await workbench.open("dev.py", 3);
  await workbench.ready();
  await page.waitForTimeout(4000);
  const place = page.locator(".editor-instance .view-line span", { hasText: "devices" }).last();
  const text = await workbench.hover(place, "devices");
  await workbench.shot("zz1");
  return { text, status: await workbench.status().innerText(), aria: await workbench.status().getAttribute("aria-label") };
});
