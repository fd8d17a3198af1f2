// A lens traces an entry; its lines tell what they move, the view lists it, and an edit makes it stale.
import fs from "node:fs";
import path from "node:path";
import { check, play } from "../driver.mjs";

const PROGRAM = `import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P


def loss(w, x):
    h = jnp.tanh(x @ w)
    return jnp.mean(h * h)


def entry():
    mesh = jax.make_mesh((8,), ("data",))
    w = jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=NamedSharding(mesh, P()))
    x = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    return jax.jit(jax.grad(loss)), (w, x)
`;

await play(async (workbench, page) => {
  fs.writeFileSync(path.join(workbench.workspace, "cost.py"), PROGRAM);
  await workbench.open("cost.py", 11);
  await workbench.ready();
  await page.locator(".codelens-decoration a", { hasText: "Trace on 8 devices" }).click();
  const told = page.locator(".codelens-decoration a", { hasText: "1 collective" });
  await told.waitFor({ timeout: 60_000 });
  const line = page.locator(".view-line", { hasText: "all-reduce 128.0 KiB" });
  await line.waitFor();
  check((await line.innerText()).includes("f32[64,256]"), await line.innerText());
  await told.click();
  const row = page
    .locator(".pane", { hasText: "Where the Time Goes" })
    .locator(".monaco-list-row", { hasText: "all-reduce" });
  await row.waitFor();
  await workbench.faded("trace");
  await row.click();
  await page.locator(".statusbar-item", { hasText: "Ln 7" }).waitFor();
  await page.locator(".view-line", { hasText: "tanh" }).locator("span", { hasText: "tanh" }).last().hover();
  await page.locator(".monaco-hover", { hasText: "on each device" }).first().waitFor();
  await workbench.faded("trace-hover");
  await workbench.goto(8);
  await page.keyboard.press("Home");
  await page.keyboard.type("h = 2 * h\n");
  await page.locator(".codelens-decoration a", { hasText: "stale" }).waitFor();
  await workbench.faded("trace-stale");
  await workbench.goto(7);
  await page.keyboard.press("End");
  await page.keyboard.type(" + x");
  await page.locator(".codelens-decoration a", { hasText: "Trace again" }).click();
  await page.locator(".codelens-decoration a", { hasText: "TypeError" }).waitFor({ timeout: 60_000 });
  await page.locator(".squiggly-error").first().waitFor();
  await workbench.faded("trace-error");
  return { line: await told.count() };
});
