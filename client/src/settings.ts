// The settings of the extension itself; the server requests the others.

import * as vscode from "vscode";
import type { ImportStrategy } from "./launch";

export const SECTION = "meshlens";

/** The settings that only the extension reads, by their names below `meshlens`. */
export const OWN = ["enable", "importStrategy", "path", "trace"] as const;

/** The settings that take effect only after the server restarts. */
export const NEEDING_RESTART = ["enable", "importStrategy", "interpreter", "path"].map((key) => `${SECTION}.${key}`);

/** The settings that decide how the server starts. */
export interface StartSettings {
  readonly enabled: boolean;
  /** A command that starts a server; empty for ours. */
  readonly path: readonly string[];
  readonly interpreter: string;
  readonly strategy: ImportStrategy;
}

/** Returns the current settings. */
export function startSettings(): StartSettings {
  const section = vscode.workspace.getConfiguration(SECTION);
  return {
    enabled: section.get("enable", true),
    path: section.get<string[]>("path", []),
    interpreter: section.get("interpreter", ""),
    strategy: section.get<ImportStrategy>("importStrategy", "useBundled"),
  };
}

/** Returns the server's part of the section. */
export function forServer(section: unknown): unknown {
  if (typeof section !== "object" || section === null) {
    return section;
  }
  const own: readonly string[] = OWN;
  const kept = Object.entries(section).filter(([key]) => !own.includes(key));
  return Object.fromEntries(kept);
}
