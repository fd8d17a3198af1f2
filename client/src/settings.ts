// What the user sets for the extension itself; the rest is the server's, which asks for it.

import * as vscode from "vscode";
import type { ImportStrategy } from "./launch";

export const SECTION = "meshlens";

/** The settings that are the extension's business, by their names below `meshlens`. */
export const OWN = ["enable", "importStrategy", "path", "trace"] as const;

/** Those that a running server has to be started anew for. */
export const NEEDING_RESTART = ["enable", "importStrategy", "interpreter", "path"].map((key) => `${SECTION}.${key}`);

/** What decides how the server is started. */
export interface StartSettings {
  readonly enabled: boolean;
  /** A program with arguments that is the server; empty for ours. */
  readonly path: readonly string[];
  readonly interpreter: string;
  readonly strategy: ImportStrategy;
}

/** The settings as they are now. */
export function startSettings(): StartSettings {
  const section = vscode.workspace.getConfiguration(SECTION);
  return {
    enabled: section.get("enable", true),
    path: section.get<string[]>("path", []),
    interpreter: section.get("interpreter", ""),
    strategy: section.get<ImportStrategy>("importStrategy", "useBundled"),
  };
}

/** The server's part of what stands in the section. */
export function forServer(section: unknown): unknown {
  if (typeof section !== "object" || section === null) {
    return section;
  }
  const own: readonly string[] = OWN;
  const kept = Object.entries(section).filter(([key]) => !own.includes(key));
  return Object.fromEntries(kept);
}
