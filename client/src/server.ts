// The life of the language server: started, restarted after a crash, stopped; one step at a time.

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import * as vscode from "vscode";
import {
  CloseAction,
  type CloseHandlerResult,
  ErrorAction,
  type Executable,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  RevealOutputChannelOn,
  State,
  TransportKind,
} from "vscode-languageclient/node";
import type { Command } from "./launch";
import { Crashes } from "./restarting";
import { within } from "./within";

const START_MILLISECONDS = 60_000;
const SCHEMES = ["file", "untitled", "vscode-notebook-cell"];

/** How the server is. */
export type Condition =
  | { readonly kind: "stopped" }
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly client: LanguageClient }
  | { readonly kind: "failed"; readonly reason: string };

/** What a server needs from outside. */
export interface Needs {
  /** The folder of the extension, where the server runs: Python looks for modules in its working folder first. */
  readonly folder: string;
  readonly channel: vscode.LogOutputChannel;
  readonly middleware: Middleware;
  readonly initializationOptions: () => unknown;
  /** What starts the server, or the sentence that says why nothing does; undefined where it is switched off. */
  readonly command: () => Promise<Command | { readonly refused: string } | undefined>;
}

/** Says what goes wrong in the log alone: what a user has to know is said once, by us. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** The one server of this window. */
export class Server implements vscode.Disposable {
  readonly #needs: Needs;
  readonly #changed = new vscode.EventEmitter<Condition>();
  #condition: Condition = { kind: "stopped" };
  #client: QuietClient | undefined;
  #isStarting = false;
  #last: Promise<void> = Promise.resolve();

  /** Tells each change of the condition. */
  readonly onDidChange = this.#changed.event;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  get condition(): Condition {
    return this.#condition;
  }

  /** The client of a server that runs. */
  get client(): LanguageClient | undefined {
    return this.#condition.kind === "running" ? this.#condition.client : undefined;
  }

  /** Starts the server anew, once whatever was asked before is done. */
  restart(): Promise<void> {
    return this.#then(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  stop(): Promise<void> {
    return this.#then(() => this.#stop());
  }

  dispose(): void {
    this.#changed.dispose();
  }

  /** Does a step after those before it, whatever became of them. */
  #then(step: () => Promise<void>): Promise<void> {
    const done = this.#last.then(step).catch((error: unknown) => {
      this.#needs.channel.error(error instanceof Error ? error : String(error));
      this.#become({ kind: "failed", reason: vscode.l10n.t("The language server of MeshLens did not start.") });
    });
    this.#last = done;
    return done;
  }

  #become(condition: Condition): void {
    this.#condition = condition;
    this.#changed.fire(condition);
  }

  async #start(): Promise<void> {
    this.#become({ kind: "starting" });
    const command = await this.#needs.command();
    if (command === undefined) {
      this.#become({ kind: "stopped" });
      return;
    }
    if ("refused" in command) {
      this.#become({ kind: "failed", reason: command.refused });
      return;
    }
    const client = this.#make(command);
    this.#client = client;
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) {
        this.#become({ kind: "running", client });
      } else if (newState === State.Starting) {
        this.#become({ kind: "starting" });
      }
    });
    this.#isStarting = true;
    const started = client.start().then(() => true);
    started.catch((error: unknown) => {
      this.#needs.channel.error(error instanceof Error ? error : String(error));
    });
    const isRunning = await within(START_MILLISECONDS, started);
    this.#isStarting = false;
    if (isRunning !== true) {
      client.serverProcess?.kill();
      this.#become({ kind: "failed", reason: vscode.l10n.t("The language server of MeshLens did not start.") });
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      // It would not end in time, or had never begun; its process ends with its pipes.
      this.#needs.channel.debug(String(error));
    }
    this.#become({ kind: "stopped" });
  }

  #make(command: Command): QuietClient {
    const { folder, channel, middleware, initializationOptions } = this.#needs;
    const run: Executable = {
      command: command.program,
      args: [...command.args],
      transport: TransportKind.stdio,
      options: { cwd: folder, env: command.environment },
    };
    const crashes = new Crashes();
    const options: LanguageClientOptions = {
      documentSelector: SCHEMES.map((scheme) => ({ language: "python", scheme })),
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => this.#closed(client, crashes),
      },
      initializationFailedHandler: () => false,
      initializationOptions,
      markdown: { supportThemeIcons: true },
      middleware,
      outputChannel: channel,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      stdioOptions: { stdout: logLines, stderr: logLines },
      traceOutputChannel: channel,
    };
    const client = new QuietClient("meshlens", "MeshLens", { run, debug: run }, options);
    return client;
  }

  /** A server that has run is started again after a while; one that does not even start would fail the same way. */
  async #closed(client: QuietClient, crashes: Crashes): Promise<CloseHandlerResult> {
    if (this.#isStarting) {
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    const wait = crashes.another(Date.now());
    if (wait === undefined) {
      this.#become({ kind: "failed", reason: vscode.l10n.t("The language server of MeshLens stopped.") });
      return { action: CloseAction.DoNotRestart, handled: true };
    }
    this.#become({ kind: "starting" });
    this.#needs.channel.warn(`the server ended; it is started again in ${wait / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, wait));
    const isWanted = this.#client === client;
    return { action: isWanted ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
  }
}

/** What the server says on stderr is its log, not a list of errors. */
function logLines(stream: Readable, channel: vscode.LogOutputChannel): void {
  createInterface({ input: stream }).on("line", (line) => {
    channel.info(line);
  });
}
