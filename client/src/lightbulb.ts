// Gives "Parallelize over devices…" its command: the server says where it stands, and we ask how and over what.

import * as vscode from "vscode";
import type { Place } from "./convert";

const QUESTION = "parallelize";

/**
 * The server's actions, of which the one that asks has our command.
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
  const place: Place = { uri: document.uri.toString(), line: position.line, character: position.character };
  for (const action of actions) {
    if (action instanceof vscode.CodeAction && assistOf(action) === QUESTION) {
      action.command = { command: "meshlens.parallelize", title: action.title, arguments: [place] };
    }
  }
  return [...actions];
}

/** Which refactoring an action of the server stands for. */
function assistOf(action: unknown): unknown {
  const data = (action as { data?: unknown }).data;
  return typeof data === "object" && data !== null ? (data as { assist?: unknown }).assist : undefined;
}
