// An edit that changes several places is shown before it is made.

import * as vscode from "vscode";

/**
 * The same edit, which VS Code shows in its refactor preview before it makes it.
 *
 * What needs a confirmation is not ticked there at first, and half of such an edit is a broken program. So nothing
 * that matters needs one, but the making of a file that is there already, which makes nothing. What is no file, a cell
 * or an unsaved text, is seen as it is.
 *
 * @param edit - the edit; it changes texts and nothing else
 * @param label - what it does, for the heading of the preview
 */
export function withPreview(edit: vscode.WorkspaceEdit, label: string): vscode.WorkspaceEdit {
  const shown = new vscode.WorkspaceEdit();
  for (const [uri, changes] of edit.entries()) {
    const description = vscode.workspace.asRelativePath(uri);
    if (uri.scheme === "file") {
      shown.createFile(uri, { ignoreIfExists: true }, { label, needsConfirmation: true });
    }
    for (const { range, newText } of changes) {
      shown.replace(uri, range, newText, { label, description, needsConfirmation: false });
    }
  }
  return shown;
}
