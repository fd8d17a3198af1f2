// With a server that only pretends: what the client asks and does with the answers.

import assert from "node:assert/strict";
import * as vscode from "vscode";
import { answering, open, type Tests, toldTo, until, withPretender, withSetting } from "./harness";

const ALL = "devices,meshes,convert,virtualDevices";

function last(log: string, method: string): Record<string, unknown> {
  const found = toldTo(log).findLast(([name]) => name === method);
  assert.ok(found, `nobody asked ${method}`);
  return found[1] as Record<string, unknown>;
}

const count = (log: string, method: string) => toldTo(log).filter(([name]) => name === method).length;

export const pretended: Tests = {
  "the server learns whether the workspace is trusted, and which Python it has": () =>
    withPretender(ALL, async (log) => {
      const options = last(log, "initialize")["initializationOptions"];
      assert.deepEqual(options, { trusted: vscode.workspace.isTrusted, interpreter: null, devicesDidChange: true });
      await Promise.resolve();
    }),

  "the devices are asked for, and again when another file comes to the front": () =>
    withPretender(ALL, async (log) => {
      await open("single.py");
      await until("the question", () => String(last(log, "meshlens/devices")["uri"]).endsWith("single.py"));
      await open("03_helper_outside_the_map.py");
      await until("the next one", () => String(last(log, "meshlens/devices")["uri"]).endsWith("map.py"));
    }),

  "a refresh says what was found": () =>
    withPretender(ALL, async (log) => {
      const shown = await answering("showInformationMessage", [], () =>
        Promise.resolve(vscode.commands.executeCommand("meshlens.refreshDevices")),
      );
      assert.equal(last(log, "meshlens/devices")["refresh"], true);
      assert.deepEqual(shown, [["MeshLens: target 2x4, here 1 CPU"]]);
    }),

  "parallelize asks two questions with the server's answers in them, and makes the edit": () =>
    withPretender(ALL, async (log) => {
      const document = await open("single.py", "step(params");
      const asked = await answering("showInputBox", [" workers ", "4"], () =>
        Promise.resolve(vscode.commands.executeCommand("meshlens.parallelizeWithPmap")),
      );
      const values = asked.map(([options]) => (options as vscode.InputBoxOptions).value);
      assert.deepEqual(values, ["batch", "8"]);
      assert.equal(document.lineAt(0).text, "# pmap over workers on 4");
      const { to, axisName, devices, textDocument } = last(log, "meshlens/convert");
      assert.deepEqual([to, axisName, devices], ["pmap", "workers", "4"]);
      assert.equal(typeof (textDocument as { version: unknown }).version, "number");
      await vscode.commands.executeCommand("workbench.action.files.revert");
    }),

  "a question that is left unanswered changes nothing": () =>
    withPretender(ALL, async (log) => {
      const document = await open("single.py", "step(params");
      await answering("showInputBox", ["workers", undefined], () =>
        Promise.resolve(vscode.commands.executeCommand("meshlens.parallelizeWithPmap")),
      );
      assert.ok(!document.isDirty);
      assert.equal(count(log, "meshlens/convert"), 1);
    }),

  "a refusal is told with its reason": () =>
    withPretender(ALL, async () => {
      const document = await open("single.py", "step(params");
      const shown = await answering("showInformationMessage", [], () =>
        answering("showInputBox", ["taken", ""], () =>
          Promise.resolve(vscode.commands.executeCommand("meshlens.parallelizeWithPmap")),
        ),
      );
      assert.deepEqual(shown, [['MeshLens: the axis "taken" is bound already (axis-name)']]);
      assert.ok(!document.isDirty);
    }),

  "migrating to shard_map asks nothing": () =>
    withPretender(ALL, async () => {
      const document = await open("single.py", "step(params");
      const asked = await answering("showInputBox", [], () =>
        Promise.resolve(vscode.commands.executeCommand("meshlens.migrateToShardMap")),
      );
      assert.deepEqual(asked, []);
      assert.equal(document.lineAt(0).text, "# shard_map over batch on 8");
      await vscode.commands.executeCommand("workbench.action.files.revert");
    }),

  "the target topology is written where the workspace keeps its settings": () =>
    withPretender(ALL, async () => {
      const chosen = (items: vscode.QuickPickItem[]) => items.find(({ label }) => label === "2x4");
      await answering("showQuickPick", [chosen], () =>
        Promise.resolve(vscode.commands.executeCommand("meshlens.chooseTargetTopology")),
      );
      const section = () => vscode.workspace.getConfiguration("meshlens").inspect("devices");
      assert.equal(section()?.workspaceValue, "2x4");
      const none = (items: vscode.QuickPickItem[]) => items.find(({ label }) => label === "None");
      await answering("showQuickPick", [none], () =>
        Promise.resolve(vscode.commands.executeCommand("meshlens.chooseTargetTopology")),
      );
      assert.equal(section()?.workspaceValue, undefined);
    }),

  "a file runs on virtual devices, in the environment that the server names": () =>
    withPretender(ALL, async () => {
      const document = await open("virtual.py");
      const ended = new Promise<number | undefined>((resolve) => {
        const listener = vscode.tasks.onDidEndTaskProcess(({ exitCode }) => {
          listener.dispose();
          resolve(exitCode);
        });
      });
      const asked = await answering("showInputBox", ["3"], () =>
        Promise.resolve(vscode.commands.executeCommand("meshlens.runOnVirtualDevices")),
      );
      assert.equal((asked[0]?.[0] as vscode.InputBoxOptions).value, "8");
      assert.equal(await ended, 3, document.fileName);
    }),

  "the view asks for the meshes of the file in front": () =>
    withPretender(ALL, async (log) => {
      await open("single.py");
      await vscode.commands.executeCommand("meshlens.meshes.focus");
      await until("the question", () => toldTo(log).some(([method]) => method === "meshlens/meshes"));
      await vscode.commands.executeCommand("workbench.view.explorer");
    }),

  "what an older server does not know is asked once, and said": () =>
    withPretender("", async (log) => {
      await open("single.py", "step(params");
      const command = () => Promise.resolve(vscode.commands.executeCommand("meshlens.parallelizeWithPmap"));
      const shown = await answering("showInformationMessage", [], async () => {
        await command();
        await command();
      });
      assert.equal(count(log, "meshlens/convert"), 1);
      assert.equal(shown.length, 2);
    }),

  "the menu leaves out what the server does not know": async () => {
    const labels = async () => {
      const [asked] = await answering("showQuickPick", [], () =>
        Promise.resolve(vscode.commands.executeCommand("meshlens.showMenu")),
      );
      return (asked?.[0] as vscode.QuickPickItem[]).map(({ label }) => label).join();
    };
    await withPretender(ALL, async () => {
      assert.match(await labels(), /Refresh Devices/);
    });
    await withPretender("", async (log) => {
      await open("single.py");
      await until("the question", () => count(log, "meshlens/devices") > 0);
      await until("the answer", async () => !(await labels()).includes("Refresh Devices"));
      assert.match(await labels(), /Restart Server/);
    });
  },

  "a server that does not start is said in one sentence": async () => {
    const shown = await answering("showErrorMessage", [], (asked) =>
      withSetting("path", [process.execPath, "-e", "process.exit(1)"], async () => {
        await until("the sentence", () => asked.length > 0);
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }),
    );
    assert.deepEqual(
      shown.map(([sentence]) => sentence),
      ["The language server of MeshLens did not start."],
    );
  },
};
