// Runs inside the extension host, as VS Code's own test runner does: MESHLENS_TEST_OUT gets a line for each test.

import { appendFileSync, renameSync } from "node:fs";
import * as vscode from "vscode";
import { open, type Suite } from "./harness";
import { failing, older, pretended } from "./pretended";
import { real } from "./real";

const SUITES: Readonly<Record<string, Suite>> = { real, pretended, older, failing };
const ONLY = process.env["MESHLENS_TEST_ONLY"] ?? "";
const OUT = process.env["MESHLENS_TEST_OUT"] ?? "host-tests.jsonl";

export async function run(): Promise<void> {
  await open("single.py");
  await vscode.extensions.getExtension("meshlens.meshlens")?.activate();
  for (const [name, suite] of Object.entries(SUITES)) {
    if (ONLY === "" || ONLY.startsWith(`${name}:`)) {
      const around = suite.around ?? ((all) => all());
      await note(name, "all", () => around(() => runAll(name, suite)));
    }
  }
  renameSync(`${OUT}.partial`, OUT);
}

async function runAll(name: string, { tests }: Suite): Promise<void> {
  for (const [title, test] of Object.entries(tests)) {
    if (`${name}: ${title}`.includes(ONLY)) {
      await note(name, title, test);
    }
  }
}

async function note(suite: string, name: string, test: () => Promise<void>): Promise<void> {
  const begun = Date.now();
  const failure = await test().then(
    () => null,
    (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
  );
  const milliseconds = Date.now() - begun;
  appendFileSync(`${OUT}.partial`, `${JSON.stringify({ suite, name, failure, milliseconds })}\n`);
}
