// Asks the Python extensions which Python a folder uses. Neither of them has to be installed.

import * as vscode from "vscode";
import type { Candidate } from "./findPython";
import { within } from "./within";

const LIMIT_MILLISECONDS = 3000;

/** The part of the API of https://github.com/microsoft/vscode-python-environments that we use. */
interface EnvironmentsApi {
  getEnvironment(scope: vscode.Uri | undefined): Promise<Environment | undefined>;
  readonly onDidChangeEnvironment: vscode.Event<unknown>;
}

interface Environment {
  readonly execInfo: { readonly run: { readonly executable: string } };
}

/** The part of the API of https://github.com/microsoft/vscode-python that we use. */
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

/** One extension: how to ask it, and how it reports that its answer has changed. */
interface Source {
  readonly name: string;
  readonly pythonOf: (folder: vscode.Uri | undefined) => Promise<string | undefined>;
  readonly onDidChange: vscode.Event<unknown>;
}

/** Asks the Python extensions, each with a time limit; a late answer is reported as a change. */
export class PythonExtensions implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #listeners: { dispose(): void }[] = [this.#changed];
  #sources: readonly Promise<Source | undefined>[] | undefined;

  /** Fires when another Python may have been chosen. */
  readonly onDidChange = this.#changed.event;

  /** Returns the Pythons that the extensions name for a folder, best first. */
  async of(folder: vscode.Uri | undefined): Promise<Candidate[]> {
    this.#sources ??= [
      this.#listened(activated<EnvironmentsApi>("ms-python.vscode-python-envs").then(fromEnvironments)),
      this.#listened(activated<PythonApi>("ms-python.python").then(fromPython)),
    ];
    const answers = await Promise.all(this.#sources.map((source) => within(LIMIT_MILLISECONDS, named(source, folder))));
    return answers.filter((answer) => answer !== undefined);
  }

  dispose(): void {
    vscode.Disposable.from(...this.#listeners).dispose();
  }

  async #listened(connecting: Promise<Source | undefined>): Promise<Source | undefined> {
    const begun = Date.now();
    const source = await connecting;
    if (source !== undefined) {
      const fire = () => {
        this.#changed.fire();
      };
      this.#listeners.push(source.onDidChange(fire));
      if (Date.now() - begun > LIMIT_MILLISECONDS) {
        fire();
      }
    }
    return source;
  }
}

/** Returns the Python that a source names for a folder. */
async function named(
  connecting: Promise<Source | undefined>,
  folder: vscode.Uri | undefined,
): Promise<Candidate | undefined> {
  const source = await connecting;
  const program = await source?.pythonOf(folder);
  return source === undefined || program === undefined ? undefined : { program, source: source.name };
}

async function activated<Api>(id: string): Promise<Api | undefined> {
  const extension = vscode.extensions.getExtension<Api | undefined>(id);
  try {
    return extension?.isActive === true ? extension.exports : await extension?.activate();
  } catch {
    return undefined;
  }
}

function fromEnvironments(api: EnvironmentsApi | undefined): Source | undefined {
  // Earlier versions of this extension had no API.
  if (typeof (api as Partial<EnvironmentsApi> | undefined)?.getEnvironment !== "function" || api === undefined) {
    return undefined;
  }
  return {
    name: "Python Environments",
    pythonOf: async (folder) => (await api.getEnvironment(folder))?.execInfo.run.executable,
    onDidChange: api.onDidChangeEnvironment,
  };
}

function fromPython(api: PythonApi | undefined): Source | undefined {
  const environments = (api as Partial<PythonApi> | undefined)?.environments;
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
