// Drives a server with the protocol library of VS Code, in every position encoding, pushed to and pulling.
//   node client.mjs FOLDER COMMAND…    one JSON line per session, then PASS; exits with 1 at the first surprise
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as lsp from 'vscode-languageserver-protocol/node';

const [folder, command, ...args] = process.argv.slice(2);
const PATIENCE = 20_000;
const SETTINGS = { devices: 8, codeLens: true, inlayHints: { axes: true, sizes: true } };
const LENGTH = {
  'utf-8': (text) => Buffer.byteLength(text),
  'utf-16': (text) => text.length,
  'utf-32': (text) => [...text].length,
};

function capabilities(encoding, pulls) {
  return {
    general: { positionEncodings: [encoding] },
    workspace: { workspaceEdit: { documentChanges: true }, configuration: true },
    notebookDocument: { synchronization: {} },
    textDocument: {
      publishDiagnostics: { versionSupport: true, relatedInformation: true },
      ...(pulls ? { diagnostic: {} } : {}),
      completion: { completionItem: { snippetSupport: true } },
      hover: { contentFormat: ['markdown', 'plaintext'] },
      rename: { prepareSupport: true },
      documentSymbol: { hierarchicalDocumentSymbolSupport: true },
      signatureHelp: { signatureInformation: { parameterInformation: { labelOffsetSupport: true } } },
      codeAction: {
        codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix', 'source.fixAll'] } },
        dataSupport: true,
        resolveSupport: { properties: ['edit'] },
      },
    },
  };
}

class Session {
  constructor(encoding) {
    this.encoding = encoding;
    this.texts = new Map();
    this.published = new Map();
    this.process = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd: folder });
    this.ended = new Promise((resolve) => this.process.on('exit', resolve));
    const [out, into] = [this.process.stdout, this.process.stdin];
    const silent = { error: (text) => console.error(text), warn() {}, info() {}, log() {} };
    this.wire = lsp.createProtocolConnection(new lsp.StreamMessageReader(out), new lsp.StreamMessageWriter(into), silent);
    this.wire.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => this.published.set(params.uri, params));
    this.wire.onRequest(lsp.RegistrationRequest.type, () => {});
    this.wire.onRequest(lsp.ConfigurationRequest.type, (params) => params.items.map(() => SETTINGS));
    this.wire.listen();
  }

  uri(name) {
    return pathToFileURL(join(folder, name)).href;
  }

  ask(type, params) {
    return this.wire.sendRequest(type, params);
  }

  tell(type, params) {
    return this.wire.sendNotification(type, params);
  }

  open(name) {
    const text = readFileSync(join(folder, name), 'utf8');
    this.texts.set(this.uri(name), { text, version: 1 });
    const textDocument = { uri: this.uri(name), languageId: 'python', version: 1, text };
    return this.tell(lsp.DidOpenTextDocumentNotification.type, { textDocument });
  }

  at(name, needle, shift = 0) {
    const { text } = this.texts.get(this.uri(name));
    const index = text.indexOf(needle) + shift;
    assert(index >= shift, `${needle} is not in ${name}`);
    const before = text.slice(0, index).split('\n');
    return { line: before.length - 1, character: LENGTH[this.encoding](before.at(-1)) };
  }

  place(name, needle, shift = 0) {
    return { textDocument: { uri: this.uri(name) }, position: this.at(name, needle, shift) };
  }

  offset(text, { line, character }) {
    const lines = text.split('\n');
    let [column, counted] = [0, 0];
    for (const letter of lines[line]) {
      if (counted >= character) break;
      counted += LENGTH[this.encoding](letter);
      column += letter.length;
    }
    return lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0) + column;
  }

  cut(name, { start, end }) {
    const { text } = this.texts.get(this.uri(name));
    return text.slice(this.offset(text, start), this.offset(text, end));
  }

  async change(uri, edits) {
    const known = this.texts.get(uri);
    const sorted = [...edits].sort((a, b) => this.offset(known.text, b.range.start) - this.offset(known.text, a.range.start));
    for (const { range, newText } of sorted) {
      known.text = known.text.slice(0, this.offset(known.text, range.start)) + newText + known.text.slice(this.offset(known.text, range.end));
    }
    known.version += 1;
    const contentChanges = sorted.map(({ range, newText }) => ({ range, text: newText }));
    await this.tell(lsp.DidChangeTextDocumentNotification.type, { textDocument: { uri, version: known.version }, contentChanges });
  }

  async apply(edit) {
    for (const { textDocument, edits } of edit.documentChanges) {
      assert([null, this.texts.get(textDocument.uri).version].includes(textDocument.version));
      await this.change(textDocument.uri, edits);
    }
  }

  async pushed(uri, version) {
    const end = Date.now() + PATIENCE;
    while (Date.now() < end) {
      const params = this.published.get(uri);
      if (params && (version === undefined || params.version === version)) return params.diagnostics;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`no diagnostics of ${uri}`);
  }
}

async function run(encoding, pulls) {
  const session = new Session(encoding);
  const { capabilities: can, serverInfo } = await session.ask(lsp.InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(folder).href,
    workspaceFolders: [{ uri: pathToFileURL(folder).href, name: 'folder' }],
    capabilities: capabilities(encoding, pulls),
  });
  assert.equal(serverInfo.name, 'meshlens');
  assert.equal(can.positionEncoding, encoding);
  await session.tell(lsp.InitializedNotification.type, {});
  await session.open('names.py');
  await session.open('train.py');
  const uri = session.uri('train.py');
  const findings = async () => {
    if (!pulls) return session.pushed(uri, session.texts.get(uri).version);
    return (await session.ask(lsp.DocumentDiagnosticRequest.type, { textDocument: { uri } })).items;
  };

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
  assert.deepEqual(actions.map((one) => one.kind), ['quickfix', 'quickfix', 'source.fixAll.meshlens', 'refactor.rewrite']);
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

  await session.ask(lsp.ShutdownRequest.type);
  await session.tell(lsp.ExitNotification.type);
  assert.equal(await session.ended, 0);
  session.wire.dispose();
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
