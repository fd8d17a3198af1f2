// "Print Debug Information": opens an editor with what a bug report needs.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Server } from "./server";

// The server has a command of this name; the client library registers it as soon as the server announces it.
const ASK_SERVER = "meshlens.printDebugInformation";

/** Opens a document with what the client and the server know about themselves. */
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

/** Returns what the server reports about itself; that it cannot report now is worth knowing too. */
async function askServer(client: LanguageClient): Promise<string> {
  try {
    return String(await client.sendRequest("workspace/executeCommand", { command: ASK_SERVER }));
  } catch (error) {
    return `the server does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
