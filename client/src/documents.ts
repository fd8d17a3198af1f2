// The documents that the server reads.

import type { TextDocument } from "vscode";

/** Their URI schemes; these exclude, for example, the preview of a refactoring. */
export const SCHEMES: readonly string[] = ["file", "untitled", "vscode-notebook-cell"];

/** Returns whether the server reads a document. */
export function isRead(document: TextDocument): boolean {
  return document.languageId === "python" && SCHEMES.includes(document.uri.scheme);
}
