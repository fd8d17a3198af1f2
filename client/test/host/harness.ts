// What the tests inside the extension host share: waiting, answering questions, and a list of what was asked.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";

/** Tests by name, and what is so while they run. */
export interface Suite {
  readonly around?: (run: () => Promise<void>) => Promise<void>;
  readonly tests: Readonly<Record<string, () => Promise<void>>>;
}

const LIMIT_MILLISECONDS = 30_000;

/** Waits until something is true, or defined, and gives it. */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const begun = Date.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) {
      return found;
    }
    if (Date.now() - begun > LIMIT_MILLISECONDS) {
      throw new Error(`waited in vain for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The root of the workspace, where the tests write. */
export function inWorkspace(name: string): vscode.Uri {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  if (folder === undefined) {
    throw new Error("no folder is open");
  }
  return vscode.Uri.joinPath(folder.uri, name);
}

/** Opens a file of the workspace with the cursor on a text in it. */
export async function open(name: string, text = ""): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(inWorkspace(name));
  const editor = await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.One });
  const at = document.positionAt(document.getText().indexOf(text));
  editor.selection = new vscode.Selection(at, at);
  return document;
}

/** Waits for findings with these codes in a file, and no others. */
export async function findings(document: vscode.TextDocument, ...codes: string[]): Promise<vscode.Diagnostic[]> {
  const expected = codes.sort().join();
  return until(`findings ${expected || "to go"} in ${document.fileName}`, () => {
    const found = vscode.languages.getDiagnostics(document.uri);
    return found.map(codeOf).sort().join() === expected ? found : undefined;
  });
}

function codeOf({ code }: vscode.Diagnostic): string {
  return String(typeof code === "object" ? code.value : code);
}

/** Sets something for the user while a step runs; afterwards it is what it was. */
export async function withSetting<T>(name: string, value: unknown, step: () => Promise<T>): Promise<T> {
  const section = vscode.workspace.getConfiguration("meshlens");
  const before = section.inspect(name)?.globalValue;
  await section.update(name, value, vscode.ConfigurationTarget.Global);
  try {
    return await step();
  } finally {
    await vscode.workspace.getConfiguration("meshlens").update(name, before, vscode.ConfigurationTarget.Global);
  }
}

type Asks = "showInputBox" | "showQuickPick" | "showInformationMessage" | "showWarningMessage" | "showErrorMessage";

/** Answers one kind of question while a step runs, and gives what was asked. */
export async function answering(
  kind: Asks,
  answers: unknown[],
  step: (asked: readonly unknown[][]) => Promise<unknown>,
): Promise<unknown[][]> {
  const window = vscode.window as unknown as Record<Asks, (...asked: unknown[]) => Promise<unknown>>;
  const before = window[kind];
  const asked: unknown[][] = [];
  const left = [...answers];
  window[kind] = (...question) => {
    asked.push(question);
    const answer = left.shift();
    return Promise.resolve(
      typeof answer === "function" ? (answer as (...question: unknown[]) => unknown)(...question) : answer,
    );
  };
  try {
    await step(asked);
  } finally {
    window[kind] = before;
  }
  return asked;
}

let pretenders = 0;
let log = "";

/** What the server that pretends was told: the methods with their parameters. */
export function told(): [string, unknown][] {
  // What it is writing right now has no end yet.
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as [string, unknown]);
}

/** Runs a step with a server that only pretends, and that knows these requests of ours. */
export async function withPretender(known: string, step: () => Promise<void>): Promise<void> {
  pretenders += 1;
  log = join(inWorkspace("").fsPath, `told-${pretenders}.jsonl`);
  const command = [process.execPath, join(__dirname, "pretender.js"), log, known];
  await withSetting("path", command, async () => {
    await until("the pretender", () => existsSync(log) && told().some(([method]) => method === "initialized"));
    await step();
  });
}
