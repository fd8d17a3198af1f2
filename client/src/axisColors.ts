// Colors axis names with decorations, each axis in a color of its own.
//
// VS Code takes semantic tokens from only one extension, and those of the Python extension say more.

import * as vscode from "vscode";
import type { Abilities } from "./abilities";
import { AXIS_NAMES, type AxisName } from "./requests";
import type { Server } from "./server";

const COLORS = 6;
const WAIT_MILLISECONDS = 300;

/** The theme color of an axis, by its number from 0; the manifest numbers them from 1. */
export function axisColor(number: number): string {
  return `meshlens.axis${(number % COLORS) + 1}`;
}

/** Colors the axis names in every visible Python document, and again shortly after a change. */
export class AxisColors implements vscode.Disposable {
  readonly #server: Server;
  readonly #abilities: Abilities;
  readonly #types = Array.from({ length: COLORS }, (_, number) =>
    vscode.window.createTextEditorDecorationType({
      color: new vscode.ThemeColor(axisColor(number)),
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    }),
  );
  readonly #listeners: { dispose(): void }[];
  #timer: NodeJS.Timeout | undefined;

  constructor(server: Server, abilities: Abilities) {
    this.#server = server;
    this.#abilities = abilities;
    const soon = () => {
      this.refresh();
    };
    this.#listeners = [
      ...this.#types,
      server.onDidChange(soon),
      vscode.window.onDidChangeVisibleTextEditors(soon),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.languageId === "python") {
          soon();
        }
      }),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("meshlens.axisColors")) {
          soon();
        }
      }),
    ];
  }

  /** Asks again shortly. */
  refresh(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#update(), WAIT_MILLISECONDS);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    vscode.Disposable.from(...this.#listeners).dispose();
  }

  async #update(): Promise<void> {
    const editors = vscode.window.visibleTextEditors.filter(({ document }) => document.languageId === "python");
    await Promise.all(editors.map((editor) => this.#color(editor)));
  }

  async #color(editor: vscode.TextEditor): Promise<void> {
    const { client } = this.#server;
    const { document } = editor;
    const { version } = document;
    let names: readonly AxisName[] = [];
    if (client !== undefined) {
      const uri = client.code2ProtocolConverter.asUri(document.uri);
      const found = await this.#abilities.ask(client, AXIS_NAMES, { uri }).catch(() => undefined);
      // If the user has typed in the meantime, that edit triggers its own request.
      if (found === undefined || document.version !== version) {
        return;
      }
      names = found;
    }
    this.#types.forEach((type, number) => {
      const ranges = names
        .filter(({ color }) => color % COLORS === number)
        .map(({ range: { start, end } }) => new vscode.Range(start.line, start.character, end.line, end.character));
      editor.setDecorations(type, ranges);
    });
  }
}
