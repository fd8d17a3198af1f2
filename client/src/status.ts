// The status item: the devices, whether the server is busy, and what went wrong; a click opens the menu or the logs.

import * as vscode from "vscode";
import type { Condition, Server } from "./server";
import { statusText } from "./statusText";

/** Shows the state of the server and the devices while a Python document is active. */
export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("meshlens.status", vscode.StatusBarAlignment.Right, 100);
  readonly #listeners: { dispose(): void }[];
  readonly #busy = new Set<string | number>();
  #condition: Condition;
  #devices = "";
  #failure = "";

  constructor(server: Server) {
    this.#condition = server.condition;
    this.#item.name = "MeshLens";
    this.#listeners = [
      this.#item,
      server.onDidChange((condition) => {
        this.#condition = condition;
        this.#busy.clear();
        this.#show();
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        this.#show();
      }),
      vscode.window.onDidChangeActiveNotebookEditor(() => {
        this.#show();
      }),
    ];
    this.#show();
  }

  /**
   * Shows the devices.
   *
   * @param summary - a few words; empty if the server does not say
   * @param failure - why the devices of this machine are unknown; empty if they are known
   */
  showDevices(summary: string, failure: string): void {
    this.#devices = summary;
    this.#failure = failure;
    this.#show();
  }

  /** Notes that the server begins or ends some work. */
  work(token: string | number, kind: "begin" | "report" | "end"): void {
    if (kind === "end") {
      this.#busy.delete(token);
    } else {
      this.#busy.add(token);
    }
    this.#show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#listeners).dispose();
  }

  #show(): void {
    const { kind } = this.#condition;
    const reason = this.#condition.kind === "failed" ? this.#condition.reason : "";
    const item = this.#item;
    item.text = statusText({ condition: kind, isBusy: this.#busy.size > 0, devices: this.#devices });
    item.tooltip = this.#tooltip(reason);
    item.accessibilityInformation = { label: `MeshLens: ${reason || this.#devices || kind}`, role: "button" };
    item.command = kind === "failed" ? "meshlens.showLogs" : "meshlens.showMenu";
    item.backgroundColor = kind === "failed" ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    if (isPythonInFront() || kind === "failed") {
      item.show();
    } else {
      item.hide();
    }
  }

  #tooltip(reason: string): string {
    switch (this.#condition.kind) {
      case "failed":
        return reason;
      case "starting":
        return vscode.l10n.t("MeshLens is starting");
      case "stopped":
        return vscode.l10n.t("MeshLens is not running");
      case "running": {
        const version = this.#condition.client.initializeResult?.serverInfo?.version ?? "";
        return [`MeshLens ${version}`, this.#devices, this.#failure].filter((line) => line !== "").join("\n");
      }
    }
  }
}

/** Returns whether the active editor is a Python file, a Python cell, or a notebook with no cell being edited. */
function isPythonInFront(): boolean {
  const { activeTextEditor, activeNotebookEditor } = vscode.window;
  const cells = activeNotebookEditor?.notebook.getCells() ?? [];
  return (
    activeTextEditor?.document.languageId === "python" ||
    (activeTextEditor === undefined && cells.some(({ document }) => document.languageId === "python"))
  );
}
