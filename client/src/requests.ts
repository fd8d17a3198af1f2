// The requests that MeshLens adds to the protocol, and how we handle servers without them.

import type { Location, Position, WorkspaceEdit } from "vscode-languageclient/node";

/** A request with the types of its parameters and answer; the library's own type would load the library. */
export class Request<P, R> {
  declare readonly types: (params: P) => R;

  constructor(readonly method: string) {}
}

/** Devices as the server sees them. */
export interface Devices {
  /** A few words: "8 × H100", "target 2x4, here 1 CPU". */
  readonly summary: string;
  readonly detected: unknown;
  readonly failure: string | null;
  readonly target: { readonly text: string; readonly count: number; readonly shape: readonly number[] } | null;
  readonly interpreter: string | null;
}

/** An axis with its size, if known, and its color number. */
export interface Axis {
  readonly name: string;
  readonly size: number | null;
  readonly color?: number | null;
}

/** A place in a document, in lines and UTF-16 columns. */
export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** A mesh of a file, and the ids of its devices if known. */
export interface Mesh {
  readonly label: string;
  readonly axes: readonly Axis[];
  readonly range: Range;
  readonly devices: readonly number[] | null;
}

/** A function of a file and the axes bound while it runs. */
export interface MappedFunction {
  readonly name: string;
  readonly range: Range;
  readonly axes: readonly Axis[];
  readonly binder: string;
}

/** What each device of a mesh holds, for the cursor: a block of an array, or the devices that it exchanges with. */
export interface Focus {
  readonly kind: "array" | "collective";
  /** The spec or the collective as written. */
  readonly label: string;
  readonly detail: string;
  readonly axes: readonly Axis[];
  readonly devices: readonly number[] | null;
  readonly cells: readonly { readonly text: string; readonly group: number }[];
}

/** An axis name in a document, and its color number. */
export interface AxisName {
  readonly name: string;
  readonly color: number;
  readonly range: Range;
}

export interface Meshes {
  readonly meshes: readonly Mesh[];
  readonly functions: readonly MappedFunction[];
  readonly focus?: Focus | null;
}

/** What a function can be converted to. */
export type Map = "jit" | "pmap" | "shard_map" | "vmap";

/** What happens to the state: each device gets a copy, or a part of it. */
export type Strategy = "data" | "fsdp";

/** Why something cannot be done. */
export interface Refused {
  readonly code: string;
  readonly message: string;
}

/** One way to run a function on several devices. */
export interface Way {
  readonly to: Map;
  readonly strategy: Strategy;
  readonly title: string;
  readonly detail: string;
  readonly refused: Refused | null;
}

/** What the function at a place can be converted to; `name` is null if there is none. */
export interface Ways {
  readonly name: string | null;
  readonly ways: readonly Way[];
  readonly arguments: readonly string[];
  readonly defaults: { readonly axisName: string; readonly devices: string };
}

export interface ConvertParams {
  readonly textDocument: { readonly uri: string; readonly version: number };
  readonly position: Position;
  readonly to: Map;
  readonly axisName?: string;
  readonly devices?: string;
  readonly strategy?: Strategy;
  readonly batch?: string;
}

export interface Converted {
  readonly edit: WorkspaceEdit | null;
  readonly refused: Refused | null;
  readonly defaults: { readonly axisName: string; readonly devices: string };
  /** The number of places that the edit changes. */
  readonly places: number;
}

/** How to run a program on virtual devices; a failure says why that is impossible. */
export interface VirtualDevices {
  readonly env: Record<string, string>;
  readonly interpreter: string | null;
  readonly failure: string | null;
}

/** A collective of a trace, described in words. */
export interface Cost {
  readonly title: string;
  readonly size: string;
  readonly time: string;
  readonly where: string;
  readonly location: Location | null;
}

/** The result of a trace, and whether the code has changed since. */
export interface Traced {
  readonly entry: string;
  readonly target: string;
  readonly summary: string;
  readonly stale: boolean;
  readonly collectives: readonly Cost[];
  readonly trace: { readonly suggestion: string | null };
}

export interface TraceParams {
  readonly textDocument: { readonly uri: string };
  readonly position: Position;
}

export const DEVICES = new Request<{ uri?: string; refresh?: boolean }, Devices>("meshlens/devices");
export const MESHES = new Request<{ uri: string; position?: Position }, Meshes>("meshlens/meshes");
export const AXIS_NAMES = new Request<{ uri: string }, readonly AxisName[]>("meshlens/axisNames");
export const CONVERT = new Request<ConvertParams, Converted>("meshlens/convert");
export const WAYS = new Request<Omit<ConvertParams, "to">, Ways>("meshlens/waysToParallelize");
export const VIRTUAL_DEVICES = new Request<{ devices: number; uri: string }, VirtualDevices>("meshlens/virtualDevices");
export const TRACE = new Request<TraceParams, Traced>("meshlens/trace");
export const TRACES = new Request<{ uri: string }, readonly Traced[]>("meshlens/traces");
