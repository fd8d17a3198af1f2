// The view "Where the Time Goes": the traces of the active file, with their collectives as links, slowest first.

import * as vscode from "vscode";
import type { Abilities } from "./abilities";
import { TRACES, type Cost, type Traced } from "./requests";
import type { Server } from "./server";

export const COSTS = "meshlens.costs";
const CHANGED = "meshlens/tracesDidChange";
const WAIT_MILLISECONDS = 400;

type Node = { readonly traced: Traced } | { readonly cost: Cost };

/** Lists traces; since an edit may make them stale, it requests them again after each edit. */
export class CostView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #server: Server;
  readonly #abilities: Abilities;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #listeners: vscode.Disposable;
  #document: vscode.TextDocument | undefined;
  #timer: NodeJS.Timeout | undefined;

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(server: Server, abilities: Abilities) {
    this.#server = server;
    this.#abilities = abilities;
    const soon = () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        this.#changed.fire(undefined);
      }, WAIT_MILLISECONDS);
    };
    this.#listeners = vscode.Disposable.from(
      server.onDidChange((condition) => {
        if (condition.kind === "running") {
          condition.client.onNotification(CHANGED, soon);
        }
        soon();
      }),
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document === this.#document) {
          soon();
        }
      }),
    );
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#listeners.dispose();
    this.#changed.dispose();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node !== undefined) {
      return "traced" in node ? node.traced.collectives.map((cost) => ({ cost })) : [];
    }
    const client = this.#server.client;
    const inFront = vscode.window.activeTextEditor?.document;
    if (inFront?.languageId === "python") {
      this.#document = inFront;
    }
    if (client === undefined || this.#document === undefined || this.#document.isClosed) {
      return [];
    }
    const uri = client.code2ProtocolConverter.asUri(this.#document.uri);
    const traces = await this.#abilities.ask(client, TRACES, { uri }).catch(() => undefined);
    return (traces ?? []).map((traced) => ({ traced }));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return "traced" in node ? ofTrace(node.traced) : ofCost(node.cost, this.#server);
  }
}

function ofTrace({ entry, target, summary, stale }: Traced): vscode.TreeItem {
  const item = new vscode.TreeItem(
    vscode.l10n.t("{0} on {1}", entry, target),
    vscode.TreeItemCollapsibleState.Expanded,
  );
  item.description = stale ? vscode.l10n.t("stale · {0}", summary) : summary;
  item.tooltip = item.description;
  item.iconPath = new vscode.ThemeIcon(stale ? "history" : "graph");
  return item;
}

function ofCost({ title, size, time, where, location }: Cost, server: Server): vscode.TreeItem {
  const item = new vscode.TreeItem(time === "" ? size : `${time} · ${size}`);
  item.description = [title, where].filter((text) => text !== "").join(" · ");
  item.tooltip = item.description;
  const client = server.client;
  if (location !== null && client !== undefined) {
    const { uri, range } = client.protocol2CodeConverter.asLocation(location);
    item.command = {
      command: "vscode.open",
      title: vscode.l10n.t("Show the line"),
      arguments: [uri, { selection: range }],
    };
  }
  return item;
}
