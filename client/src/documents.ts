// The documents that the server reads.

import type { TextDocument } from "vscode";

/** Where they are; a preview of a refactoring, say, is not one of them. */
export const SCHEMES: readonly string[] = ["file", "untitled", "vscode-notebook-cell"];

/** Whether the server reads a document. */
export function isRead(document: TextDocument): boolean {
  return document.languageId === "python" && SCHEMES.includes(document.uri.scheme);
}
