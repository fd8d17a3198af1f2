// The client of the protocol, imported when a server has begun to load itself: it takes longer than an activation may.

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

/** What a client needs from outside. */
export interface ClientNeeds {
  readonly channel: vscode.LogOutputChannel;
  readonly middleware: Middleware;
  readonly initializationOptions: () => unknown;
  /** Gives a server to talk to; asked again after {@link ClientNeeds.restartsAfterClose}. */
  readonly connect: () => Promise<ServerProcess>;
  /** Whether a server that ended is to be started again; it may take its time. */
  readonly restartsAfterClose: () => Promise<boolean>;
  readonly onStart: () => void;
  readonly onRun: () => void;
}

/** Says what goes wrong in the log alone: what a user has to know is said once, by us. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** A client that is not started yet. */
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
    // The server writes the colors of axes as spans; VS Code lets no other attribute through.
    markdown: { supportHtml: true, supportThemeIcons: true },
    middleware,
    outputChannel: channel,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // What a server says on stderr is logged from its beginning, when there is no client yet.
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
