// Axis names have a color each, in the text and in the view, which draws the spec and the collective at the cursor;
// nothing in the view keeps anybody from using it, in light and dark.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { check, play } from "../driver.mjs";

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FILE = "layout.py";
const PROGRAM = `import jax
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
sharding = NamedSharding(mesh, P("data", "model"))


def total(x, axis="model"):
    return jax.lax.psum(x, axis)


run = jax.shard_map(total, mesh=mesh, in_specs=P("data", "model"), out_specs=P("data"))
`;

async function findings(page) {
  const outer = await page.locator("iframe.webview.ready").elementHandle();
  const inner = await (await (await outer.contentFrame()).locator("iframe#active-frame").elementHandle()).contentFrame();
  await inner.evaluate(AXE);
  const { violations } = await inner.evaluate(() => globalThis.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

await play(async (workbench, page) => {
  fs.writeFileSync(path.join(workbench.workspace, FILE), PROGRAM);
  await workbench.open(FILE);
  await workbench.ready();
  await workbench.command("Focus on Devices and Meshes View");
  await page.locator('.pane-header[aria-label*="Explorer Section"]').first().click();
  const view = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  const colorOf = async (text) => {
    const word = page.locator(".editor-instance .view-line span span", { hasText: text }).first();
    return word.evaluate((found) => getComputedStyle(found).color);
  };
  for (const theme of ["light", "dark"]) {
    if (theme === "dark") {
      await workbench.command("Preferences: Toggle between Light/Dark Themes");
      await page.locator(".monaco-workbench.vs-dark").waitFor();
    }
    await workbench.find(FILE, 'P("da');
    await view.locator("main", { hasText: "8 blocks, one on each device" }).waitFor();
    await workbench.until(
      async () => (await colorOf('"data"')) !== (await colorOf('"model"')),
      async () => `both axes are ${await colorOf('"data"')}`,
    );
    await workbench.faded(`mesh-spec-${theme}`);
    await workbench.find(FILE, "jax.lax.ps");
    await view.locator("main", { hasText: "4 groups" }).waitFor();
    await workbench.faded(`mesh-collective-${theme}`);
    const wrong = await findings(page);
    check(wrong.length === 0, `${theme}:\n${wrong.join("\n")}`);
  }
});
