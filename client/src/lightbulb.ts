// Adds a command to "Parallelize over devices…": the server says where to offer it, and we ask how and over what.

import * as vscode from "vscode";
import type { Place } from "./convert";

const QUESTION = "parallelize";

/**
 * Returns the server's actions; the one that asks questions gets our command.
 *
 * @param actions - the actions that the server offers
 * @param document - the document
 * @param position - the cursor
 */
export function withQuestions(
  actions: readonly (vscode.Command | vscode.CodeAction)[],
  document: vscode.TextDocument,
  position: vscode.Position,
): (vscode.Command | vscode.CodeAction)[] {
  const place: Place = { uri: document.uri.toString(), line: position.line, character: position.character };
  for (const action of actions) {
    if (action instanceof vscode.CodeAction && assistOf(action) === QUESTION) {
      action.command = { command: "meshlens.parallelize", title: action.title, arguments: [place] };
    }
  }
  return [...actions];
}

/** Returns the refactoring that an action of the server offers. */
function assistOf(action: unknown): unknown {
  const data = (action as { data?: unknown }).data;
  return typeof data === "object" && data !== null ? (data as { assist?: unknown }).assist : undefined;
}
