// "Run on Virtual Devices": runs the file with as many CPU devices as its target has.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Abilities } from "./abilities";
import { DEVICES, VIRTUAL_DEVICES } from "./requests";

const USUAL = 8;

/**
 * Runs the active Python file in a terminal, on virtual CPU devices.
 *
 * @param client - the client of the server, which knows the project's Python and the environment variables to set
 * @param abilities - what that server supports
 */
export async function runOnVirtualDevices(client: LanguageClient, abilities: Abilities): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== "python" || document.uri.scheme !== "file") {
    void vscode.window.showInformationMessage(vscode.l10n.t("Open a Python file first."));
    return;
  }
  const uri = client.code2ProtocolConverter.asUri(document.uri);
  const target = (await abilities.ask(client, DEVICES, { uri }))?.target;
  const count = await askCount(target?.count ?? USUAL);
  if (count === undefined) {
    return;
  }
  const answer = await abilities.ask(client, VIRTUAL_DEVICES, { devices: count, uri });
  if (answer === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("The running server does not support this yet."));
    return;
  }
  if (answer.interpreter === null) {
    void vscode.window.showWarningMessage(`MeshLens: ${answer.failure ?? vscode.l10n.t("found no Python")}`);
    return;
  }
  await document.save();
  const folder = vscode.workspace.getWorkspaceFolder(document.uri);
  const options = { env: answer.env, ...(folder === undefined ? {} : { cwd: folder.uri.fsPath }) };
  const task = new vscode.Task(
    { type: "meshlens.virtualDevices" },
    folder ?? vscode.TaskScope.Workspace,
    vscode.l10n.t("{0} on {1} virtual devices", vscode.workspace.asRelativePath(document.uri), count),
    "MeshLens",
    // This is not a shell command line, so nothing needs quoting.
    new vscode.ProcessExecution(answer.interpreter, [document.uri.fsPath], options),
  );
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, showReuseMessage: false };
  await vscode.tasks.executeTask(task);
}

async function askCount(value: number): Promise<number | undefined> {
  const answer = await vscode.window.showInputBox({
    title: vscode.l10n.t("Run on Virtual Devices"),
    prompt: vscode.l10n.t("Number of virtual CPU devices"),
    value: String(value),
    validateInput: (text) =>
      /^[1-9]\d{0,3}$/.test(text.trim()) ? undefined : vscode.l10n.t("A number from 1 to 9999"),
  });
  return answer === undefined ? undefined : Number(answer);
}
