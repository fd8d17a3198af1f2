// The "Devices and Meshes" view: asks the server about the active file and shows the page.

import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import * as vscode from "vscode";
import type { Abilities } from "./abilities";
import { isRead } from "./documents";
import { meshPage, type Shown, type Words } from "./meshPage";
import { DEVICES, MESHES, type Range } from "./requests";
import type { Server } from "./server";

export const VIEW = "meshlens.meshes";
const WAIT_MILLISECONDS = 400;

/** Shows the meshes of the active Python file; keeps the last one if another kind of editor becomes active. */
export class MeshView implements vscode.WebviewViewProvider, vscode.Disposable {
  readonly #server: Server;
  readonly #abilities: Abilities;
  readonly #listeners: { dispose(): void }[];
  #view: vscode.WebviewView | undefined;
  #document: vscode.TextDocument | undefined;
  #timer: NodeJS.Timeout | undefined;
  #html = "";

  constructor(server: Server, abilities: Abilities) {
    this.#server = server;
    this.#abilities = abilities;
    const soon = () => {
      this.refresh();
    };
    this.#listeners = [
      server.onDidChange(soon),
      vscode.window.onDidChangeActiveTextEditor(soon),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (textEditor.document.languageId === "python") {
          soon();
        }
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document === this.#document) {
          soon();
        }
      }),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    this.#html = "";
    view.webview.options = { enableScripts: true, localResourceRoots: [] };
    view.webview.onDidReceiveMessage((message: { readonly range: Range }) => this.#reveal(message.range));
    view.onDidChangeVisibility(() => {
      this.refresh();
    });
    view.onDidDispose(() => {
      this.#view = undefined;
    });
    void this.#update();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    vscode.Disposable.from(...this.#listeners).dispose();
  }

  refresh(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#update(), WAIT_MILLISECONDS);
  }

  async #update(): Promise<void> {
    if (this.#view?.visible !== true) {
      return;
    }
    const inFront = vscode.window.activeTextEditor?.document;
    if (inFront !== undefined && isRead(inFront)) {
      this.#document = inFront;
    }
    const shown = await this.#ask().catch(() => undefined);
    // Setting the page again would lose its focus and scroll position.
    const same = meshPage(shown, words(), "");
    if (same !== this.#html) {
      this.#html = same;
      this.#view.webview.html = meshPage(shown, words(), randomBytes(16).toString("base64"));
    }
  }

  async #ask(): Promise<Shown | undefined> {
    const client = this.#server.client;
    const document = this.#document;
    if (client === undefined || document === undefined || document.isClosed) {
      return undefined;
    }
    const uri = client.code2ProtocolConverter.asUri(document.uri);
    const [content, devices] = await Promise.all([
      this.#abilities.ask(client, MESHES, { uri, ...cursorIn(document) }),
      this.#abilities.ask(client, DEVICES, { uri }),
    ]);
    return content && { file: basename(document.uri.path), devices: devices?.summary ?? "", content };
  }

  async #reveal({ start, end }: Range): Promise<void> {
    if (this.#document !== undefined) {
      const selection = new vscode.Range(start.line, start.character, end.line, end.character);
      await vscode.window.showTextDocument(this.#document, { selection });
    }
  }
}

/** Returns the position of the cursor in a document; nothing if another document is active. */
function cursorIn(document: vscode.TextDocument): { position?: { line: number; character: number } } {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document !== document) {
    return {};
  }
  const { line, character } = editor.selection.active;
  return { position: { line, character } };
}

function words(): Words {
  return {
    title: vscode.l10n.t("Devices and meshes"),
    focus: vscode.l10n.t("At the cursor"),
    devices: vscode.l10n.t("Devices"),
    meshes: vscode.l10n.t("Meshes"),
    functions: vscode.l10n.t("Functions"),
    positions: vscode.l10n.t("The numbers are positions in the mesh; the order of the devices is unknown here."),
    noMeshes: vscode.l10n.t("No mesh is created here."),
    noFunctions: vscode.l10n.t("No axes are bound in the functions here."),
    noAxes: vscode.l10n.t("no axes"),
    language: vscode.env.language,
  };
}
