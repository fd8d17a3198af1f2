// Traces from the Command Palette: the function at the cursor, or a new entry for it if its arguments are unknown.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Abilities } from "./abilities";
import { COSTS } from "./costView";
import { TRACE } from "./requests";

/** The server command that a lens runs. */
export const TRACE_COMMAND = "meshlens.trace";

/** Saves unsaved files, because a trace runs the files on disk. */
export async function saveAll(): Promise<void> {
  await vscode.workspace.saveAll(false);
}

/** Traces the function at the cursor; for one that needs arguments, inserts an entry to fill in. */
export async function traceAtCursor(client: LanguageClient, abilities: Abilities): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== "python") {
    void vscode.window.showInformationMessage(vscode.l10n.t("Put the cursor on a function in a Python file first."));
    return;
  }
  await saveAll();
  const { code2ProtocolConverter: converter } = client;
  const textDocument = { uri: converter.asUri(editor.document.uri) };
  const position = converter.asPosition(editor.selection.active);
  const traced = await abilities.ask(client, TRACE, { textDocument, position });
  if (traced === undefined) {
    void vscode.window.showInformationMessage(vscode.l10n.t("The running server does not support this yet."));
    return;
  }
  const { suggestion } = traced.trace;
  if (suggestion !== null) {
    const make = vscode.l10n.t("Create an Entry");
    if ((await vscode.window.showWarningMessage(traced.summary, make)) === make) {
      await insertAtEnd(editor, suggestion);
    }
    return;
  }
  await showCosts();
}

/** Shows the traces of the active file. */
export async function showCosts(): Promise<void> {
  await vscode.commands.executeCommand(`${COSTS}.focus`);
}

/** Inserts an entry at the end of the file, and shows it. */
async function insertAtEnd(editor: vscode.TextEditor, text: string): Promise<void> {
  const end = editor.document.lineAt(editor.document.lineCount - 1).range.end;
  const gap = end.character === 0 ? "\n\n" : "\n\n\n";
  if (
    await editor.edit((edit) => {
      edit.insert(end, gap + text);
    })
  ) {
    const shown = new vscode.Position(end.line + gap.length, 0);
    editor.selection = new vscode.Selection(shown, shown);
    editor.revealRange(new vscode.Range(shown, shown), vscode.TextEditorRevealType.InCenter);
  }
}
