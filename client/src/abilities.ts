// What the running server supports beyond the protocol; features that an older server lacks are hidden.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Request } from "./requests";

const METHOD_NOT_FOUND = -32601;

/** Sends our own requests and remembers which of them the server does not support. */
export class Abilities {
  readonly #lacking = new Set<string>();

  /** Forgets what an earlier server did not support. */
  async reset(): Promise<void> {
    const lacking = [...this.#lacking];
    this.#lacking.clear();
    await Promise.all(lacking.map((method) => hide(method, false)));
  }

  lacks(request: { readonly method: string }): boolean {
    return this.#lacking.has(request.method);
  }

  /**
   * Returns the answer to a request; undefined if the server does not support the request.
   *
   * @throws any other error
   */
  async ask<P, R>(client: LanguageClient, request: Request<P, R>, params: P): Promise<R | undefined> {
    if (this.lacks(request)) {
      return undefined;
    }
    try {
      return await client.sendRequest<R>(request.method, params);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== METHOD_NOT_FOUND) {
        throw error;
      }
      this.#lacking.add(request.method);
      await hide(request.method, true);
      return undefined;
    }
  }
}

/** Sets the context keys for the manifest's `when` clauses: `meshlens/devices` is `meshlens.lacks.devices` there. */
async function hide(method: string, isHidden: boolean): Promise<void> {
  await vscode.commands.executeCommand("setContext", method.replace("/", ".lacks."), isHidden);
}
