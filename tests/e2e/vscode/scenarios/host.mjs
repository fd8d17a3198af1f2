// Opens a workspace with the extension under test and the tests that run beside it, and waits until these have ended.
import { chromium } from "playwright-core";
import fs from "node:fs";

const { address, workspace, chromium: executablePath } = JSON.parse(process.env.SCENARIO);
const { extension, tests, out } = JSON.parse(process.env.HOST_TESTS);
const remote = (folder) => `vscode-remote://${new URL(address).host}${folder}`;
const payload = [
  ["extensionDevelopmentPath", remote(extension)],
  ["extensionTestsPath", remote(tests)],
];

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});
const page = await browser.newPage();
const asked = new URLSearchParams({ folder: workspace, payload: JSON.stringify(payload) });
await page.goto(`${address}?${asked}`);
while (!fs.existsSync(out)) {
  await page.waitForTimeout(100);
}
await browser.close();
