// With a server that only pretends: what the client asks and does with the answers.

import assert from "node:assert/strict";
import * as vscode from "vscode";
import { answering, open, type Suite, told, until, withPretender, withSetting } from "./harness";

// A stand-in for the extension for Python has this command if it is installed.
const CHOOSE_PYTHON = "pythonStandIn.choose";
const ALL = "devices,meshes,convert,waysToParallelize,virtualDevices";

function last(method: string): Record<string, unknown> {
  const found = told().findLast(([name]) => name === method);
  assert.ok(found, `nobody asked ${method}`);
  return found[1] as Record<string, unknown>;
}

const count = (method: string) => told().filter(([name]) => name === method).length;
const command = async (name: string) => vscode.commands.executeCommand(`meshlens.${name}`);
const revert = () => vscode.commands.executeCommand("workbench.action.files.revert");

/** What the menu offers. */
async function menu(): Promise<string> {
  const [asked] = await answering("showQuickPick", [], () => command("showMenu"));
  return (asked?.[0] as vscode.QuickPickItem[]).map(({ label }) => label).join();
}

/** Chooses a topology by its label. */
async function choose(label: string): Promise<unknown> {
  const find = (items: vscode.QuickPickItem[]) => items.find((item) => item.label === label);
  await answering("showQuickPick", [find], () => command("chooseTargetTopology"));
  return vscode.workspace.getConfiguration("meshlens").inspect("devices")?.workspaceValue;
}

export const pretended: Suite = {
  around: (run) => withPretender(ALL, run),
  tests: {
    "the server learns whether the workspace is trusted, and which Python it has": async () => {
      const options = last("initialize")["initializationOptions"];
      const trusted = process.env["MESHLENS_TEST_TRUSTED"] !== "no";
      const interpreter = process.env["MESHLENS_TEST_INTERPRETER"] ?? null;
      const shown = {
        devicesDidChange: true,
        asksHow: true,
        lensCommands: true,
        tracesDidChange: true,
        axisColors: true,
      };
      assert.deepEqual(options, { trusted, interpreter, ...shown });
      await Promise.resolve();
    },

    "the server learns when another Python is chosen": async () => {
      if (process.env["MESHLENS_TEST_INTERPRETER"] === undefined) {
        return;
      }
      await vscode.commands.executeCommand(CHOOSE_PYTHON, "/another/python");
      await until("the news", () => count("meshlens/didChangeInterpreter") === 1);
      assert.equal(last("meshlens/didChangeInterpreter")["interpreter"], "/another/python");
    },

    "the devices are asked for when another file comes to the front": async () => {
      for (const name of ["single.py", "03_helper_outside_the_map.py"]) {
        await open(name);
        await until(
          "the question",
          () => count("meshlens/devices") > 0 && String(last("meshlens/devices")["uri"]).endsWith(name),
        );
      }
    },

    "a refresh says what was found": async () => {
      const shown = await answering("showInformationMessage", [], () => command("refreshDevices"));
      assert.equal(last("meshlens/devices")["refresh"], true);
      assert.deepEqual(shown, [["MeshLens: target 2x4, here 1 CPU"]]);
    },

    "parallelize asks two questions with the server's answers in them, and makes the edit": async () => {
      const document = await open("single.py", "step(params");
      const asked = await answering("showInputBox", [" workers ", "4"], () => command("parallelizeWithPmap"));
      const values = asked.map(([options]) => (options as vscode.InputBoxOptions).value);
      assert.deepEqual(values, ["batch", "8"]);
      assert.equal(document.lineAt(0).text, "# pmap over workers on 4");
      const { to, axisName, devices, textDocument } = last("meshlens/convert");
      assert.deepEqual([to, axisName, devices], ["pmap", "workers", "4"]);
      assert.equal(typeof (textDocument as { version: unknown }).version, "number");
      await revert();
    },

    "a question that is left unanswered changes nothing": async () => {
      const document = await open("single.py", "step(params");
      const before = count("meshlens/convert");
      await answering("showInputBox", ["workers", undefined], () => command("parallelizeWithPmap"));
      assert.ok(!document.isDirty);
      assert.equal(count("meshlens/convert"), before + 1);
    },

    "a refusal is told with its reason": async () => {
      const document = await open("single.py", "step(params");
      const shown = await answering("showInformationMessage", [], () =>
        answering("showInputBox", ["taken", ""], () => command("parallelizeWithPmap")),
      );
      assert.deepEqual(shown, [['MeshLens: the axis "taken" is bound already']]);
      assert.ok(!document.isDirty);
    },

    "migrating to shard_map asks nothing": async () => {
      const document = await open("single.py", "step(params");
      const asked = await answering("showInputBox", [], () => command("migrateToShardMap"));
      assert.deepEqual(asked, []);
      assert.equal(document.lineAt(0).text, "# shard_map over batch on 8");
      await revert();
    },

    "parallelize asks how and over what, the best way first, and makes the edit": async () => {
      const document = await open("single.py", "step(params");
      const first = (items: vscode.QuickPickItem[]) => items[0];
      const asked = await answering("showQuickPick", [first], () =>
        answering("showInputBox", ["rows", "2"], () => command("parallelize")),
      );
      const items = asked[0]?.[0] as vscode.QuickPickItem[];
      assert.deepEqual(
        items.map(({ label }) => label),
        ["jit + sharding", "$(circle-slash) pmap", "shard_map"],
      );
      assert.equal(items[1]?.detail, '"step" draws random numbers');
      assert.equal(document.lineAt(0).text, "# jit over rows on 2");
      await revert();
    },

    "what cannot be done says why and offers the nearest way that can": async () => {
      const document = await open("single.py", "step(params");
      const second = (items: vscode.QuickPickItem[]) => items[1];
      const shown = await answering("showInformationMessage", [undefined], () =>
        answering("showQuickPick", [second], () => command("parallelize")),
      );
      assert.deepEqual(shown, [['MeshLens: "step" draws random numbers', "Use jit + sharding"]]);
      assert.ok(!document.isDirty);
    },

    "the button of a refusal leads on to the way that it names": async () => {
      const document = await open("single.py", "step(params");
      const second = (items: vscode.QuickPickItem[]) => items[1];
      await answering("showInformationMessage", ["Use jit + sharding"], () =>
        answering("showQuickPick", [second], () =>
          answering("showInputBox", ["rows", "2"], () => command("parallelize")),
        ),
      );
      assert.equal(document.lineAt(0).text, "# jit over rows on 2");
      await revert();
    },

    "where only the batch is in question, it is asked for, with the axis of its rows": async () => {
      const document = await open("single.py", "step(params");
      const third = (items: vscode.QuickPickItem[]) => items[2];
      const asked = await answering("showQuickPick", [third, "batch"], () =>
        answering("showInputBox", [" 1", "rows", "2"], () => command("parallelize")),
      );
      assert.deepEqual(asked[1]?.[0], ["params", "batch"]);
      assert.equal(document.lineAt(0).text, "# shard_map over rows on 2 with batch:1");
      await revert();
    },

    "the target topology is written where the workspace keeps its settings": async () => {
      assert.equal(await choose("2x4"), "2x4");
      assert.equal(await choose("None"), undefined);
    },

    "a file runs on virtual devices, in the environment that the server names": async () => {
      await open("virtual.py");
      const ended = new Promise<number | undefined>((resolve) => {
        const listener = vscode.tasks.onDidEndTaskProcess(({ exitCode }) => {
          listener.dispose();
          resolve(exitCode);
        });
      });
      const asked = await answering("showInputBox", ["3"], () => command("runOnVirtualDevices"));
      assert.equal((asked[0]?.[0] as vscode.InputBoxOptions).value, "8");
      assert.equal(await ended, 3);
    },

    "the view asks for the meshes of the file in front": async () => {
      await open("single.py");
      await command("meshes.focus");
      await until("the question", () => count("meshlens/meshes") > 0);
      await vscode.commands.executeCommand("workbench.view.explorer");
    },

    "the menu offers what the server knows": async () => {
      assert.match(await menu(), /Refresh Devices.*Run on Virtual Devices.*Restart Server/);
    },
  },
};

export const older: Suite = {
  around: (run) => withPretender("", run),
  tests: {
    "what the server does not know is asked once, and said": async () => {
      await open("single.py", "step(params");
      const shown = await answering("showInformationMessage", [], async () => {
        await command("parallelizeWithPmap");
        await command("parallelizeWithPmap");
      });
      assert.equal(count("meshlens/convert"), 1);
      assert.equal(shown.length, 2);
    },

    "the menu leaves it out": async () => {
      await until("the answer", async () => !(await menu()).includes("Refresh Devices"));
      assert.match(await menu(), /Restart Server/);
    },
  },
};

export const failing: Suite = {
  tests: {
    "a server that does not start is said in one sentence": async () => {
      const shown = await answering("showErrorMessage", [], (asked) =>
        withSetting("path", [process.execPath, "-e", "process.exit(1)"], async () => {
          await until("the sentence", () => asked.length > 0);
          await new Promise((resolve) => setTimeout(resolve, 1000));
        }),
      );
      const sentences = shown.map(([sentence]) => sentence);
      assert.deepEqual(sentences, ["The MeshLens language server did not start."]);
    },
  },
};
