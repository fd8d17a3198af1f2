// Adds "Parallelize with pmap…" to the lightbulb wherever the server offers that refactoring with its own answers.

import * as vscode from "vscode";
import type { Place } from "./convert";

const ASSIST = "convert-to-pmap";

/**
 * The server's actions, and ours before the one that it stands for.
 *
 * @param actions - what the server offers
 * @param document - the text
 * @param position - the cursor
 */
export function withQuestions(
  actions: readonly (vscode.Command | vscode.CodeAction)[],
  document: vscode.TextDocument,
  position: vscode.Position,
): (vscode.Command | vscode.CodeAction)[] {
  const index = actions.findIndex((action) => assistOf(action) === ASSIST);
  if (index < 0) {
    return [...actions];
  }
  const place: Place = { uri: document.uri.toString(), line: position.line, character: position.character };
  const ours = new vscode.CodeAction(
    vscode.l10n.t("Parallelize with pmap…"),
    vscode.CodeActionKind.RefactorRewrite.append("pmap"),
  );
  ours.command = { command: "meshlens.parallelizeWithPmap", title: ours.title, arguments: [place] };
  return [...actions.slice(0, index), ours, ...actions.slice(index)];
}

/** Which refactoring an action of the server stands for. */
function assistOf(action: unknown): unknown {
  const data = (action as { data?: unknown }).data;
  return typeof data === "object" && data !== null ? (data as { assist?: unknown }).assist : undefined;
}
