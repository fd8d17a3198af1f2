// Previews an edit that changes several places.

import * as vscode from "vscode";

/**
 * Returns the same edit in a form that VS Code shows in its refactor preview before applying it.
 *
 * VS Code does not tick changes that need confirmation, and half of such an edit would break the program. So no real
 * change needs confirmation; only the creation of a file that already exists does, and that has no effect. Cells and
 * unsaved documents are not files and are shown unchanged.
 *
 * @param edit - the edit, which changes only text
 * @param label - what it does, as the heading of the preview
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
