// A notebook in JupyterLab: what is wrong in a cell is underlined, and the panel says who found it.
import { chromium } from "playwright-core";
import path from "node:path";

const { address, notebook, shots, wanted, chromium: executablePath } = JSON.parse(process.env.SCENARIO);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });
const context = await browser.newContext({ viewport: { width: 1120, height: 700 } });
const page = await context.newPage();
page.setDefaultTimeout(60_000);
try {
  await page.goto(`${address}/lab/tree/${notebook}?reset`);
  const marks = page.locator(".jp-Notebook .cm-lintRange");
  await marks.first().waitFor({ timeout: 90_000 });
  await marks.first().click({ button: "right" });
  await page.locator(".lm-Menu-itemLabel", { hasText: "Show diagnostics panel" }).click();
  const rows = page.locator(".lsp-diagnostics-listing tbody tr");
  for (const one of wanted) await rows.filter({ hasText: one }).first().waitFor();
  await marks.filter({ hasText: "bacth" }).first().hover();
  const tooltip = page.locator(".cm-tooltip .cm-diagnostic", { hasText: "is not bound here" }).first();
  await tooltip.waitFor();
  await page.screenshot({ path: path.join(shots, `jupyter-${wanted.length}.png`) });
  const found = (await rows.allInnerTexts()).map((row) => row.replace(/\s+/g, " ").trim());
  const { sessions } = await (await page.request.get(`${address}/lsp/status`)).json();
  const started = Object.keys(sessions).filter((name) => sessions[name].status === "started");
  console.log(JSON.stringify({ found, started, tooltip: await tooltip.innerText() }));
} catch (error) {
  await page.screenshot({ path: path.join(shots, "jupyter-failed.png") });
  console.error(error.stack);
  process.exitCode = 1;
}
await browser.close();
