// An edit that changes several places is shown before it is made.

import * as vscode from "vscode";

/**
 * The same edit, each change of which the user confirms in the refactor preview.
 *
 * @param edit - the edit; it changes texts and nothing else
 * @param label - what it does, for the heading of the preview
 */
export function withPreview(edit: vscode.WorkspaceEdit, label: string): vscode.WorkspaceEdit {
  const shown = new vscode.WorkspaceEdit();
  for (const [uri, changes] of edit.entries()) {
    const description = vscode.workspace.asRelativePath(uri);
    for (const { range, newText } of changes) {
      shown.replace(uri, range, newText, { label, description, needsConfirmation: true });
    }
  }
  return shown;
}
