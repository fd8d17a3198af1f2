// "Print Debug Information": what a report of a problem needs, in an editor.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Server } from "./server";

// The command of this name is the server's; the client library registers it as soon as the server says so.
const ASK_SERVER = "meshlens.printDebugInformation";

/** Opens a text with what the client and the server know of themselves. */
export async function showDebugInformation(context: vscode.ExtensionContext, server: Server): Promise<void> {
  const { version } = context.extension.packageJSON as { version: string };
  const { condition } = server;
  const lines = [
    `MeshLens ${version} for VS Code ${vscode.version} (${vscode.env.appName}, ${vscode.env.remoteName ?? "local"})`,
    `node ${process.version} on ${process.platform} ${process.arch}`,
    `workspace: ${vscode.workspace.workspaceFolders?.length ?? 0} folders, ${vscode.workspace.isTrusted ? "trusted" : "not trusted"}`,
    `server: ${condition.kind}${condition.kind === "failed" ? `: ${condition.reason}` : ""}`,
  ];
  if (condition.kind === "running") {
    lines.push("", await askServer(condition.client));
  }
  const document = await vscode.workspace.openTextDocument({ content: `${lines.join("\n")}\n`, language: "plaintext" });
  await vscode.window.showTextDocument(document, { preview: true });
}

/** What the server says of itself; one that cannot say it now is part of the picture. */
async function askServer(client: LanguageClient): Promise<string> {
  try {
    return String(await client.sendRequest("workspace/executeCommand", { command: ASK_SERVER }));
  } catch (error) {
    return `the server does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
