// On the name of an axis a hover tells who binds it, and over how many devices.
import { check, play } from "../driver.mjs";

await play(async (workbench, page) => {
  await workbench.open("train.py", 19);
  const name = page.locator(".view-line span", { hasText: /^"batch"$/ }).last();
  const hover = await workbench.hover(name, "batch");
  check(/Axis name\s+●\s+"batch"/.test(hover), hover);
  check(hover.includes("up to 8 devices (target 8)"), hover);
  await workbench.shot("hover");
  return { hover };
});
