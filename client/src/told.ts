// Tells the server which Python each folder runs on, and when the user trusts the workspace.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { PythonExtensions } from "./pythonExtensions";

/** The Python that the editor says a folder runs on; null where it does not say, or must not. */
export async function interpreterOf(
  extensions: PythonExtensions,
  folder: vscode.Uri | undefined,
): Promise<string | null> {
  if (!vscode.workspace.isTrusted) {
    return null;
  }
  return (await extensions.of(folder))[0]?.program ?? null;
}

/** Tells a running server the Python of every folder. */
export async function tellInterpreters(client: LanguageClient, extensions: PythonExtensions): Promise<void> {
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    const interpreter = await interpreterOf(extensions, folder.uri);
    const uri = client.code2ProtocolConverter.asUri(folder.uri);
    await client.sendNotification("meshlens/didChangeInterpreter", { uri, interpreter });
  }
}

/** Tells a running server that the workspace is trusted from now on. */
export async function tellTrust(client: LanguageClient): Promise<void> {
  await client.sendNotification("meshlens/didGrantTrust", {});
}
