// One session of VS Code's protocol library with a server: texts, places in them, edits, what was published.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as lsp from 'vscode-languageserver-protocol/node';

const [folder, command, ...args] = process.argv.slice(2);
const PATIENCE = 20_000;
const RECORDED = JSON.parse(readFileSync(new URL('../../recordings/vscode.json', import.meta.url), 'utf8'));
const LENGTH = {
  'utf-8': (text) => Buffer.byteLength(text),
  'utf-16': (text) => text.length,
  'utf-32': (text) => [...text].length,
};

/** What VS Code claims, with another encoding, and without pulling if it is to be pushed to. */
export function capabilities(encoding, pulls) {
  const made = structuredClone(RECORDED.capabilities);
  made.general.positionEncodings = [encoding];
  if (!pulls) delete made.textDocument.diagnostic;
  return made;
}

/** Waits until something holds that the server brings about by itself. */
export async function until(what, holds) {
  const end = Date.now() + PATIENCE;
  while (Date.now() < end) {
    const found = await holds();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(what);
}

export class Session {
  constructor(encoding, pulls, settings) {
    this.encoding = encoding;
    this.pulls = pulls;
    this.settings = settings;
    this.asked = [];
    this.progress = [];
    this.texts = new Map();
    this.published = new Map();
    this.process = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd: folder });
    this.ended = new Promise((resolve) => this.process.on('exit', resolve));
    const [out, into] = [this.process.stdout, this.process.stdin];
    const silent = { error: (text) => console.error(text), warn() {}, info() {}, log() {} };
    this.wire = lsp.createProtocolConnection(new lsp.StreamMessageReader(out), new lsp.StreamMessageWriter(into), silent);
    this.wire.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => this.published.set(params.uri, params));
    const noted = (type, answer = () => null) => this.wire.onRequest(type, (params) => (this.asked.push(type.method), answer(params)));
    noted(lsp.RegistrationRequest.type);
    noted(lsp.ConfigurationRequest.type, (params) => params.items.map(() => this.settings));
    noted(lsp.DiagnosticRefreshRequest.type);
    noted(lsp.InlayHintRefreshRequest.type);
    noted(lsp.CodeLensRefreshRequest.type);
    noted(lsp.WorkDoneProgressCreateRequest.type, ({ token }) => {
      this.wire.onProgress(lsp.WorkDoneProgress.type, token, (value) => this.progress.push({ token, ...value }));
      return null;
    });
    this.wire.listen();
  }

  /** Introduces itself as VS Code; gives what the server can. */
  async begin(...folders) {
    const named = [folder, ...folders].map((one) => ({ uri: pathToFileURL(one).href, name: one }));
    const { capabilities: can, serverInfo } = await this.ask(lsp.InitializeRequest.type, {
      processId: process.pid,
      clientInfo: RECORDED.clientInfo,
      rootUri: named[0].uri,
      workspaceFolders: named,
      capabilities: capabilities(this.encoding, this.pulls),
    });
    assert.equal(serverInfo.name, 'meshlens');
    assert.equal(can.positionEncoding, this.encoding);
    await this.tell(lsp.InitializedNotification.type, {});
    return can;
  }

  async end() {
    await this.ask(lsp.ShutdownRequest.type);
    await this.tell(lsp.ExitNotification.type);
    assert.equal(await this.ended, 0);
    this.wire.dispose();
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

  open(name, text = readFileSync(join(folder, name), 'utf8')) {
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
    return until(`no diagnostics of ${uri}`, () => {
      const params = this.published.get(uri);
      return params && (version === undefined || params.version === version) ? params.diagnostics : undefined;
    });
  }

  /** The findings in the newest text. */
  async findings(uri) {
    if (!this.pulls) return this.pushed(uri, this.texts.get(uri)?.version);
    return (await this.ask(lsp.DocumentDiagnosticRequest.type, { textDocument: { uri } })).items;
  }

  /** The findings once their codes are these. */
  async settled(uri, codes) {
    return until(`${uri} has not got ${codes}`, async () => {
      const found = await this.findings(uri);
      return found.map((one) => one.code).join() === codes.join() ? found : undefined;
    });
  }
}
