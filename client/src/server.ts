// The life cycle of the language server: start, restart after a crash, stop; one step at a time.

import * as vscode from "vscode";
import type { LanguageClient, Middleware } from "vscode-languageclient/node";
import type { ServerProcess } from "./launch";
import { Crashes } from "./restarting";
import { within } from "./within";

const START_MILLISECONDS = 60_000;
const END_MILLISECONDS = 2000;

/** The state of the server. */
export type Condition =
  | { readonly kind: "stopped" }
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly client: LanguageClient }
  | { readonly kind: "failed"; readonly reason: string };

/** A server process, or a sentence that says why there is none; undefined if MeshLens is disabled. */
export type Beginning = { readonly process: ServerProcess } | { readonly refused: string } | undefined;

/** What a server needs from its owner. */
export interface Needs {
  readonly channel: vscode.LogOutputChannel;
  readonly middleware: Middleware;
  readonly initializationOptions: () => unknown;
  readonly begin: () => Promise<Beginning>;
}

/** The only server of this window. */
export class Server implements vscode.Disposable {
  readonly #needs: Needs;
  readonly #changed = new vscode.EventEmitter<Condition>();
  #condition: Condition = { kind: "stopped" };
  #client: LanguageClient | undefined;
  #process: ServerProcess | undefined;
  #isStarting = false;
  #last: Promise<void> = Promise.resolve();

  /** Reports each change of the condition. */
  readonly onDidChange = this.#changed.event;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  get condition(): Condition {
    return this.#condition;
  }

  /** The client of a running server. */
  get client(): LanguageClient | undefined {
    return this.#condition.kind === "running" ? this.#condition.client : undefined;
  }

  /** Restarts the server once all earlier steps are done. */
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

  /** Runs a step after the earlier ones, even if they failed. */
  #then(step: () => Promise<void>): Promise<void> {
    const done = this.#last.then(step).catch((error: unknown) => {
      this.#needs.channel.error(error instanceof Error ? error : String(error));
      this.#become({ kind: "failed", reason: vscode.l10n.t("The MeshLens language server did not start.") });
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
    const beginning = this.#needs.begin();
    // The library loads while the server loads.
    beginning.catch(() => undefined);
    await new Promise(setImmediate);
    const { makeClient } = await import("./protocolClient");
    const begun = await beginning;
    if (begun === undefined) {
      this.#become({ kind: "stopped" });
      return;
    }
    if ("refused" in begun) {
      this.#become({ kind: "failed", reason: begun.refused });
      return;
    }
    const client = this.#make(makeClient, begun.process);
    this.#isStarting = true;
    const started = client.start().then(() => true);
    started.catch((error: unknown) => {
      this.#needs.channel.error(error instanceof Error ? error : String(error));
    });
    const isRunning = await within(START_MILLISECONDS, started);
    this.#isStarting = false;
    if (isRunning !== true) {
      this.#process?.kill("SIGKILL");
      this.#become({ kind: "failed", reason: vscode.l10n.t("The MeshLens language server did not start.") });
    }
  }

  async #stop(): Promise<void> {
    const [client, process] = [this.#client, this.#process];
    this.#client = undefined;
    this.#process = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      // The server did not end in time, or never started; its process ends once its pipes close.
      this.#needs.channel.debug(String(error));
    }
    setTimeout(() => process?.kill("SIGKILL"), END_MILLISECONDS).unref();
    this.#become({ kind: "stopped" });
  }

  #make(makeClient: typeof import("./protocolClient").makeClient, first: ServerProcess): LanguageClient {
    const { channel, middleware, initializationOptions } = this.#needs;
    const crashes = new Crashes();
    let next: ServerProcess | undefined = first;
    const client = makeClient({
      channel,
      middleware,
      initializationOptions,
      connect: async () => {
        this.#process = next ?? (await this.#again());
        next = undefined;
        if (hasEnded(this.#process)) {
          throw new Error("the server ended before it received a message");
        }
        return this.#process;
      },
      restartsAfterClose: async () => (await this.#mayRestart(crashes)) && this.#client === client,
      onStart: () => {
        this.#become({ kind: "starting" });
      },
      onRun: () => {
        this.#become({ kind: "running", client });
      },
    });
    this.#client = client;
    this.#process = first;
    return client;
  }

  async #again(): Promise<ServerProcess> {
    const begun = await this.#needs.begin();
    if (begun === undefined || "refused" in begun) {
      const reason = begun?.refused ?? "MeshLens is disabled";
      this.#become({ kind: "failed", reason });
      throw new Error(reason);
    }
    return begun.process;
  }

  /** Restarts a server that has run, after a delay; one that did not even start would fail the same way again. */
  async #mayRestart(crashes: Crashes): Promise<boolean> {
    if (this.#isStarting) {
      return false;
    }
    const wait = crashes.another(Date.now());
    if (wait === undefined) {
      this.#become({ kind: "failed", reason: vscode.l10n.t("The MeshLens language server stopped.") });
      return false;
    }
    this.#become({ kind: "starting" });
    this.#needs.channel.warn(`the server ended; restarting it in ${wait / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, wait));
    return true;
  }
}

function hasEnded({ exitCode, signalCode }: ServerProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
