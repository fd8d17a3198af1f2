// In a folder that is not trusted no interpreter of it is started, findings come all the same, and what is not known of
// devices is put down to that and to nothing else.
import { check, play } from "../driver.mjs";

const NOT_TRUSTED = "the workspace is not trusted";

await play(async (workbench, page) => {
  await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).waitFor();
  await workbench.open("sync.py", 8);
  await workbench.squiggles().first().waitFor({ timeout: 60_000 });
  check((await workbench.toasts().count()) === 0, "it complains");
  await workbench.status().filter({ hasText: "workspace not trusted" }).waitFor();
  await workbench.shot("restricted");
  await workbench.find("devices.py", "jax.dev");
  const said = await workbench.hoverAtCaret(NOT_TRUSTED);
  check(!/install|no JAX|PATH/.test(said), said);
  await workbench.shot("restricted-hover");
  await page.keyboard.press("Escape");
  await workbench.command("MeshLens: Print Debug Information");
  await page.locator(".editor-instance .view-line", { hasText: NOT_TRUSTED }).first().waitFor();
});
