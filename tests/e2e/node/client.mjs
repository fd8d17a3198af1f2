// Drives a server with the protocol library of VS Code, in every position encoding, pushed to and pulling.
//   node client.mjs FOLDER COMMAND…    one JSON line per session, then PASS; exits with 1 at the first surprise
import assert from 'node:assert';
import * as lsp from 'vscode-languageserver-protocol/node';
import { rest, settingsAndFolders } from './rest.mjs';
import { Session } from './session.mjs';

const SETTINGS = { devices: 8, codeLens: true, inlayHints: { axes: true, sizes: true } };

async function run(encoding, pulls) {
  const session = new Session(encoding, pulls, SETTINGS);
  await session.begin();
  await session.open('names.py');
  await session.open('train.py');
  const uri = session.uri('train.py');
  const findings = () => session.findings(uri);

  const [found, ...others] = await findings();
  assert.deepEqual(others, []);
  assert.equal(found.code, 'AX101');
  assert.equal(session.cut('train.py', found.range), '"bacth"');
  if (pulls) {
    const { resultId } = await session.ask(lsp.DocumentDiagnosticRequest.type, { textDocument: { uri } });
    const again = await session.ask(lsp.DocumentDiagnosticRequest.type, { textDocument: { uri }, previousResultId: resultId });
    assert.equal(again.kind, 'unchanged');
    assert.equal(session.published.size, 0);
  }

  const hover = await session.ask(lsp.HoverRequest.type, session.place('train.py', 'pmean', 1));
  assert.match(hover.contents.value, /batch/);
  assert.equal(await session.ask(lsp.HoverRequest.type, session.place('train.py', '"é', 1)), null);
  const completion = await session.ask(lsp.CompletionRequest.type, session.place('train.py', 'bacth', 0));
  assert.equal(completion.items[0].label, 'batch');
  const definition = await session.ask(lsp.DefinitionRequest.type, session.place('train.py', '"batch"', 2));
  assert(definition.some((one) => [session.uri('train.py'), session.uri('names.py')].includes(one.uri)));

  const actions = await session.ask(lsp.CodeActionRequest.type, {
    textDocument: { uri }, range: found.range, context: { diagnostics: [found] },
  });
  assert.deepEqual(actions.map((one) => one.kind), ['quickfix', 'quickfix', 'source.fixAll.meshlens']);
  const [, ignoring, fixAll] = await Promise.all(actions.map((one) => session.ask(lsp.CodeActionResolveRequest.type, one)));
  assert.match(ignoring.edit.documentChanges[0].edits[0].newText, /meshlens: ignore/);
  assert.equal(fixAll.edit.documentChanges[0].edits[0].newText, '"batch"');
  const best = actions.find((one) => one.isPreferred);
  assert.equal(best.kind, 'quickfix');
  assert.equal(best.edit, undefined);
  const resolved = await session.ask(lsp.CodeActionResolveRequest.type, best);
  await session.apply(resolved.edit);
  assert.deepEqual(await findings(), []);
  assert.equal(await session.ask(lsp.CompletionRequest.type, session.place('train.py', '"é', 2)), null);

  const shown = await everythingElse(session, uri);
  const prepared = await session.ask(lsp.PrepareRenameRequest.type, session.place('train.py', 'pmean(x, "batch"', 11));
  assert.equal(prepared.placeholder, 'batch');
  const renaming = { ...session.place('train.py', 'pmean(x, "batch"', 11), newName: 'rows' };
  const edit = await session.ask(lsp.RenameRequest.type, renaming);
  assert.deepEqual(edit.documentChanges.map((one) => one.textDocument.uri).sort(), [session.uri('names.py'), uri]);
  await session.apply(edit);
  assert.equal(session.texts.get(session.uri('names.py')).text, 'AXIS = "rows"\n');
  assert.match(session.texts.get(uri).text, /psum\(x, "rows"\), jax.lax.pmean\(x, "rows"\)/);
  assert.deepEqual(await findings(), []);
  const cells = await notebook(session, pulls);
  await session.end();
  await settingsAndFolders(encoding, pulls);
  await rest(encoding, pulls);
  console.log(JSON.stringify({ encoding, pulls, title: best.title, definition: definition.length, cells, shown }));
}

async function everythingElse(session, uri) {
  const at = session.place('train.py', 'pmean(x, "batch"', 11);
  const textDocument = { uri };
  const range = { start: { line: 0, character: 0 }, end: { line: 12, character: 0 } };
  const references = await session.ask(lsp.ReferencesRequest.type, { ...at, context: { includeDeclaration: true } });
  assert.deepEqual([...new Set(references.map((one) => one.uri))].sort(), [session.uri('names.py'), uri]);
  const highlights = await session.ask(lsp.DocumentHighlightRequest.type, at);
  assert(highlights.some((one) => session.cut('train.py', one.range) === '"batch"'));
  const inCall = session.place('train.py', 'parallel(rows', 'parallel('.length);
  const signature = await session.ask(lsp.SignatureHelpRequest.type, inCall);
  assert.equal(signature.signatures[0].label, 'step(x)');
  const symbols = await session.ask(lsp.DocumentSymbolRequest.type, { textDocument });
  const everywhere = await session.ask(lsp.WorkspaceSymbolRequest.type, { query: 'step' });
  const [item] = await session.ask(lsp.CallHierarchyPrepareRequest.type, session.place('train.py', 'def step', 5));
  const outgoing = await session.ask(lsp.CallHierarchyOutgoingCallsRequest.type, { item });
  const incoming = await session.ask(lsp.CallHierarchyIncomingCallsRequest.type, { item });
  const lenses = await session.ask(lsp.CodeLensRequest.type, { textDocument });
  const hints = await session.ask(lsp.InlayHintRequest.type, { textDocument, range });
  const information = await session.ask(lsp.ExecuteCommandRequest.type, { command: 'meshlens.printDebugInformation' });
  assert.match(information, /tree-sitter/);
  return {
    symbols: symbols.map((one) => one.name),
    everywhere: everywhere.map((one) => one.name),
    incoming: incoming.map((one) => one.from.name),
    outgoing: outgoing.map((one) => one.to.name),
    lenses: lenses.map((one) => one.command.title),
    hints: hints.map((one) => one.label),
  };
}

async function notebook(session, pulls) {
  const cells = ['%matplotlib inline\nimport jax', 'jax.pmap(lambda x: jax.lax.psum(x, "modle"), axis_name="model")'];
  const items = cells.map((text, number) => ({ uri: `vscode-notebook-cell://session/n.ipynb#${number}`, languageId: 'python', version: 1, text }));
  await session.tell(lsp.DidOpenNotebookDocumentNotification.type, {
    notebookDocument: {
      uri: session.uri('n.ipynb'), notebookType: 'jupyter-notebook', version: 1,
      cells: items.map(({ uri }) => ({ kind: lsp.NotebookCellKind.Code, document: uri })),
    },
    cellTextDocuments: items,
  });
  const found = [];
  for (const { uri } of items) {
    const report = pulls
      ? (await session.ask(lsp.DocumentDiagnosticRequest.type, { textDocument: { uri } })).items
      : await session.pushed(uri);
    found.push(report.map((one) => one.code));
  }
  assert.deepEqual(found, [[], ['AX101']]);
  return found;
}

for (const encoding of ['utf-8', 'utf-16', 'utf-32']) {
  for (const pulls of [false, true]) await run(encoding, pulls);
}
console.log('PASS');
