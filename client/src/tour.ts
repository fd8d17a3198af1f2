// The tour: small programs, most with one mistake, in a copy that the user may change.

import { cp, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

const FIRST = "01_two_files_one_axis";

/** Opens the first lesson with both files side by side; discards any changes to an earlier copy. */
export async function openTour(context: vscode.ExtensionContext): Promise<void> {
  const room = join(context.globalStorageUri.fsPath, "tour");
  await rm(room, { recursive: true, force: true });
  await mkdir(context.globalStorageUri.fsPath, { recursive: true });
  await cp(join(context.extensionPath, "docs", "tour"), room, { recursive: true });
  const open = async (name: string, viewColumn: vscode.ViewColumn) => {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(join(room, FIRST, name)));
    await vscode.window.showTextDocument(document, { viewColumn, preview: false });
  };
  await open("train.py", vscode.ViewColumn.One);
  await open("sync.py", vscode.ViewColumn.Beside);
}
