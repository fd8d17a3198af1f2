// What a session has beside one file: other findings, completions, refusals, settings, folders, a large project.
import assert from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as lsp from 'vscode-languageserver-protocol/node';
import { Session, until } from './session.mjs';

const WRONG = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n';
const MAPS = `import jax
from jax.experimental.shard_map import shard_map
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))


def twice(params, x):
    return params, "é𝛼", jax.lax.psum(x, "inner")


f = jax.pmap(twice, axis_name="inner", in_axes=(None, 0))
g = jax.NamedSharding(mesh, P(""))
h = jax.vmap(jax.vmap(lambda x: jax.lax.psum(x, "rows"), axis_name="rows"), axis_name="taken")
old = jax.tree_map(len, [1])
`;

function labels(found) {
  return found.items.map((one) => one.label);
}

/** Findings with their marks, hovers of every kind, completions, refusals, a text without a file, all files. */
export async function rest(encoding, pulls) {
  const session = new Session(encoding, pulls, { workspaceDiagnostics: true, jaxVersion: '0.10.2' });
  writeFileSync(new URL(session.uri('closed.py')), WRONG);
  await session.begin();
  const uri = session.uri('maps.py');
  await session.open('maps.py', MAPS);
  await until('the settings came', async () => session.asked.includes('workspace/configuration'));
  const found = await until('no findings', async () => {
    const found = await session.findings(uri);
    return found.some((one) => one.code === 'AX501') ? found : undefined;
  });
  const dated = found.find((one) => one.code === 'AX502');
  assert.deepEqual(dated.tags, [lsp.DiagnosticTag.Deprecated]);
  assert.match(dated.codeDescription.href, /rules\.md#L\d+$/);
  const hovered = async (needle, shift) => (await session.ask(lsp.HoverRequest.type, session.place('maps.py', needle, shift))).contents;
  for (const [needle, shift, said] of [
    ['pmap(twice', 1, /twice\(params, x\)/], ['make_mesh', 1, /data:image\/svg\+xml/], ['"inner")\n', 2, /inner/],
    ['shard_map\n', 1, /deprecated since JAX 0\.8\.0/], ['tree_map', 1, /removed in JAX 0\.6\.0/],
  ]) {
    const { kind, value } = await hovered(needle, shift);
    assert.equal(kind, 'markdown');
    assert.match(value, said);
  }

  const offered = async (needle, shift) => session.ask(lsp.CompletionRequest.type, session.place('maps.py', needle, shift));
  const [start, end] = ['in_axes=', 'in_axes=(None, 0)'].map((text) => session.at('maps.py', text, text.length));
  await session.change(uri, [{ range: { start, end }, newText: '' }]);
  const [skeleton] = (await offered('in_axes=', 8)).items;
  assert.equal(skeleton.textEdit.newText, '(${1:None}, ${2:0})');
  assert.equal(skeleton.insertTextFormat, lsp.InsertTextFormat.Snippet);
  await session.change(uri, [{ range: { start, end: start }, newText: '(None, 0)' }]);
  assert.deepEqual(labels(await offered('P("")', 3)), ['data', 'model']);
  const renaming = { ...session.place('maps.py', '"rows")', 2), newName: 'taken' };
  await assert.rejects(session.ask(lsp.RenameRequest.type, renaming), /"taken" is already bound where "rows" is used/);
  const [token, seen] = ['asked', []];
  session.wire.onProgress(lsp.WorkDoneProgress.type, token, (value) => seen.push(value.kind));

  if (pulls) {
    const everywhere = await session.ask(lsp.WorkspaceDiagnosticRequest.type, { previousResultIds: [], workDoneToken: token });
    const closed = everywhere.items.find((one) => one.uri === session.uri('closed.py'));
    assert.deepEqual(closed.items.map((one) => one.code), ['AX101']);
    assert.deepEqual([seen[0], seen.at(-1)], ['begin', 'end']);
  }
  const untitled = 'untitled:Untitled-1';
  const textDocument = { uri: untitled, languageId: 'python', version: 1, text: WRONG };
  await session.tell(lsp.DidOpenTextDocumentNotification.type, { textDocument });
  await session.settled(untitled, ['AX101']);
  await session.end();
  rmSync(new URL(session.uri('closed.py')));
}

/** A folder of its own with settings that change, a configuration file that is watched, another folder, a large project. */
export async function settingsAndFolders(encoding, pulls) {
  const [folder, other, large] = ['one', 'two', 'large'].map((name) => mkdtempSync(join(tmpdir(), `meshlens-${name}-`)));
  const named = (where, name) => pathToFileURL(join(where, name)).href;
  try {
    const session = new Session(encoding, pulls, {});
    await session.begin(folder);
    const open = async (where, text) => {
      const uri = named(where, 'train.py');
      await session.tell(lsp.DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId: 'python', version: 1, text } });
      return uri;
    };
    const uri = await open(folder, WRONG);
    await session.settled(uri, ['AX101']);
    session.settings = { ignore: ['unbound-axis'] };
    await session.tell(lsp.DidChangeConfigurationNotification.type, { settings: null });
    await session.settled(uri, []);
    session.settings = {};
    await session.tell(lsp.DidChangeConfigurationNotification.type, { settings: null });
    await session.settled(uri, ['AX101']);

    writeFileSync(join(folder, 'pyproject.toml'), '[tool.meshlens]\nignore = ["AX101"]\n');
    const changes = [{ uri: named(folder, 'pyproject.toml'), type: lsp.FileChangeType.Created }];
    await session.tell(lsp.DidChangeWatchedFilesNotification.type, { changes });
    await session.settled(uri, []);
    writeFileSync(join(other, 'meshlens.toml'), 'ignore = ["AX101"]\n');
    const event = { added: [{ uri: pathToFileURL(other).href, name: 'two' }], removed: [] };
    await session.tell(lsp.DidChangeWorkspaceFoldersNotification.type, { event });
    await session.settled(await open(other, WRONG), []);

    for (let part = 0; part < 9; part += 1) writeFileSync(join(large, `part${part}.py`), `${WRONG}# ${'x'.repeat(30_000)}\n`);
    writeFileSync(join(large, 'pyproject.toml'), '');
    await session.settled(await open(large, WRONG), ['AX101']);
    const begun = await until('no progress', async () => session.progress.find((one) => one.kind === 'begin'));
    assert(begun.cancellable);
    await session.tell(lsp.WorkDoneProgressCancelNotification.type, { token: begun.token });
    await until('it did not end', async () => session.progress.find((one) => one.kind === 'end'));
    const symbols = await session.ask(lsp.WorkspaceSymbolRequest.type, { query: '' });
    assert.equal(symbols.filter((one) => one.location.uri.startsWith(pathToFileURL(large).href)).length, 10);
    await session.end();
  } finally {
    for (const room of [folder, other, large]) rmSync(room, { recursive: true });
  }
}
