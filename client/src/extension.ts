// Where VS Code enters: starts the server when a Python file or a notebook is opened, and stops it at the end.

import { existsSync } from "node:fs";
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { candidates } from "./findPython";
import { isNewEnough, type Python, probePython } from "./probePython";
import { type ImportStrategy, makeClient } from "./server";

const PROBE_MILLISECONDS = 5000;
let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const channel = vscode.window.createOutputChannel("MeshLens", { log: true });
  const restart = async () => {
    await client?.dispose();
    client = await start(context, channel);
  };
  context.subscriptions.push(
    channel,
    vscode.commands.registerCommand("meshlens.restart", restart),
    vscode.commands.registerCommand("meshlens.showLogs", () => {
      channel.show();
    }),
  );
  client = await start(context, channel);
}

export async function deactivate(): Promise<void> {
  await client?.dispose();
}

async function start(
  context: vscode.ExtensionContext,
  channel: vscode.LogOutputChannel,
): Promise<LanguageClient | undefined> {
  const settings = vscode.workspace.getConfiguration("meshlens");
  const python = await findPython(context.extensionPath, settings.get<string>("interpreter", ""), channel);
  if (python === undefined) {
    void vscode.window.showErrorMessage(vscode.l10n.t("MeshLens needs Python 3.10 or newer, and found none."));
    return undefined;
  }
  const strategy = settings.get<ImportStrategy>("importStrategy", "useBundled");
  const made = makeClient(context.extensionPath, python, strategy, channel);
  await made.start();
  return made;
}

async function findPython(
  extension: string,
  setting: string,
  channel: vscode.LogOutputChannel,
): Promise<Python | undefined> {
  const tried = candidates({
    setting,
    extensions: [],
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
    path: process.env["PATH"] ?? "",
    platform: process.platform,
    trusted: vscode.workspace.isTrusted,
    exists: existsSync,
  });
  for (const { program, source } of tried) {
    const answer = await probePython(program, extension, PROBE_MILLISECONDS);
    if ("reason" in answer) {
      channel.info(`${program} (${source}): ${answer.reason}`);
    } else if (isNewEnough(answer)) {
      channel.info(`${program} (${source}): Python ${answer.version.join(".")}`);
      return answer;
    } else {
      channel.info(`${program} (${source}): Python ${answer.version.join(".")} is too old`);
    }
  }
  return undefined;
}
