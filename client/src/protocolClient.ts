// The language client, imported once a server has begun to load, because importing it takes too long for activation.

import * as vscode from "vscode";
import {
  type CloseHandlerResult,
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  RevealOutputChannelOn,
  State,
} from "vscode-languageclient/node";
import { SCHEMES } from "./documents";
import type { ServerProcess } from "./launch";

/** What a client needs from its owner. */
export interface ClientNeeds {
  readonly channel: vscode.LogOutputChannel;
  readonly middleware: Middleware;
  readonly initializationOptions: () => unknown;
  /** Returns a server process to talk to; called again after {@link ClientNeeds.restartsAfterClose}. */
  readonly connect: () => Promise<ServerProcess>;
  /** Whether to restart a server that ended; it may wait before it answers. */
  readonly restartsAfterClose: () => Promise<boolean>;
  readonly onStart: () => void;
  readonly onRun: () => void;
}

/** Writes errors only to the log: we tell the user what they need to know, once. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** Returns a client that has not been started. */
export function makeClient(needs: ClientNeeds): LanguageClient {
  const { channel, middleware, initializationOptions, connect, restartsAfterClose, onStart, onRun } = needs;
  const closed = async (): Promise<CloseHandlerResult> => {
    const action = (await restartsAfterClose()) ? CloseAction.Restart : CloseAction.DoNotRestart;
    return { action, handled: true };
  };
  const options: LanguageClientOptions = {
    documentSelector: SCHEMES.map((scheme) => ({ language: "python", scheme })),
    errorHandler: { error: () => ({ action: ErrorAction.Continue, handled: true }), closed },
    initializationFailedHandler: () => false,
    initializationOptions,
    // The server writes the colors of axes as spans; VS Code allows no other attribute.
    markdown: { supportHtml: true, supportThemeIcons: true },
    middleware,
    outputChannel: channel,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // The server's stderr is logged from the start, before there is a client.
    stdioOptions: { stdout: () => undefined, stderr: () => undefined },
    traceOutputChannel: channel,
  };
  const client = new QuietClient("meshlens", "MeshLens", connect, options);
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Running) {
      onRun();
    } else if (newState === State.Starting) {
      onStart();
    }
  });
  return client;
}
