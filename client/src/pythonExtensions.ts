// What the extensions for Python say: which Python a folder runs on. Neither of them has to be there.

import * as vscode from "vscode";
import type { Candidate } from "./findPython";
import { within } from "./within";

const LIMIT_MILLISECONDS = 3000;

/** The part of https://github.com/microsoft/vscode-python-environments that is used here. */
interface EnvironmentsApi {
  getEnvironment(scope: vscode.Uri | undefined): Promise<Environment | undefined>;
  readonly onDidChangeEnvironment: vscode.Event<unknown>;
}

interface Environment {
  readonly execInfo: { readonly run: { readonly executable: string } };
}

/** The part of https://github.com/microsoft/vscode-python that is used here. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(scope: vscode.Uri | undefined): { readonly path: string };
    resolveEnvironment(path: { readonly path: string }): Promise<Resolved | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

interface Resolved {
  readonly executable: { readonly uri: vscode.Uri | undefined };
}

/** One extension: how it is asked, and how it tells that its answer has changed. */
interface Source {
  readonly name: string;
  readonly pythonOf: (folder: vscode.Uri | undefined) => Promise<string | undefined>;
  readonly onDidChange: vscode.Event<unknown>;
}

/** Asks the extensions for Python; each question has a time limit, and a late answer is told as a change. */
export class PythonExtensions implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #listeners: { dispose(): void }[] = [this.#changed];
  #sources: Promise<Source[]> | undefined;

  /** Another Python may have been chosen. */
  readonly onDidChange = this.#changed.event;

  /** The Pythons that the extensions name for a folder, the best first. */
  async of(folder: vscode.Uri | undefined): Promise<Candidate[]> {
    const sources = (await within(LIMIT_MILLISECONDS, this.#connected())) ?? [];
    const answers = await Promise.all(
      sources.map(async ({ name, pythonOf }) => {
        const program = await within(LIMIT_MILLISECONDS, pythonOf(folder));
        return program === undefined ? [] : [{ program, source: name }];
      }),
    );
    return answers.flat();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#listeners).dispose();
  }

  #connected(): Promise<Source[]> {
    this.#sources ??= this.#connect();
    return this.#sources;
  }

  async #connect(): Promise<Source[]> {
    const begun = Date.now();
    const found = await Promise.all([
      activated<EnvironmentsApi>("ms-python.vscode-python-envs").then((api) => api && fromEnvironments(api)),
      activated<PythonApi>("ms-python.python").then((api) => api && fromPython(api)),
    ]);
    const sources = found.filter((source) => source !== undefined);
    for (const { onDidChange } of sources) {
      this.#listeners.push(
        onDidChange(() => {
          this.#changed.fire();
        }),
      );
    }
    if (Date.now() - begun > LIMIT_MILLISECONDS) {
      this.#changed.fire();
    }
    return sources;
  }
}

async function activated<Api>(id: string): Promise<Api | undefined> {
  const extension = vscode.extensions.getExtension<Api | undefined>(id);
  try {
    return extension?.isActive === true ? extension.exports : await extension?.activate();
  } catch {
    return undefined;
  }
}

function fromEnvironments(api: EnvironmentsApi): Source | undefined {
  // An extension of this name has been there before it had an API.
  if (typeof (api as Partial<EnvironmentsApi>).getEnvironment !== "function") {
    return undefined;
  }
  return {
    name: "Python Environments",
    pythonOf: async (folder) => (await api.getEnvironment(folder))?.execInfo.run.executable,
    onDidChange: api.onDidChangeEnvironment,
  };
}

function fromPython(api: PythonApi): Source | undefined {
  const environments = (api as Partial<PythonApi>).environments;
  if (environments === undefined) {
    return undefined;
  }
  return {
    name: "Python",
    pythonOf: async (folder) => {
      const active = environments.getActiveEnvironmentPath(folder);
      return (await environments.resolveEnvironment(active))?.executable.uri?.fsPath;
    },
    onDidChange: environments.onDidChangeActiveEnvironmentPath,
  };
}
