// Tells the server which Python each folder uses, according to the editor.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { PythonExtensions } from "./pythonExtensions";

/** Tells the server the Python of each folder, once each, because the server probes any Python it is told of. */
export class Interpreters {
  readonly #extensions: PythonExtensions;
  readonly #told = new Map<string, string | null>();
  #first: string | null = null;

  constructor(extensions: PythonExtensions) {
    this.#extensions = extensions;
  }

  /** The Python that the editor names for a folder; null if it names none, or must not. */
  async of(folder: vscode.Uri | undefined): Promise<string | null> {
    return vscode.workspace.isTrusted ? ((await this.#extensions.of(folder))[0]?.program ?? null) : null;
  }

  /** Finds out what to tell a server when it starts. */
  async prepare(): Promise<void> {
    this.#first = await this.of(vscode.workspace.workspaceFolders?.[0]?.uri);
  }

  /** What to tell a server when it starts: the Python of the first folder. */
  begin(): string | null {
    this.#told.clear();
    const [first] = vscode.workspace.workspaceFolders ?? [];
    if (first !== undefined) {
      this.#told.set(first.uri.toString(), this.#first);
    }
    return this.#first;
  }

  /** Tells a running server what has changed. */
  async tell(client: LanguageClient): Promise<void> {
    for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
      const interpreter = await this.of(uri);
      if (interpreter !== (this.#told.get(uri.toString()) ?? null)) {
        this.#told.set(uri.toString(), interpreter);
        const folder = client.code2ProtocolConverter.asUri(uri);
        await client.sendNotification("meshlens/didChangeInterpreter", { uri: folder, interpreter });
      }
    }
  }
}
