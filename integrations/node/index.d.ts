export type Status = "held" | "violated" | "unknown" | "not-applicable";
export type Property = "exclusion" | "lease" | "resource" | "ownership" | "fencing" | "progress" | "claims" | "once";
export type Verdicts = Record<Property, Status>;

/** A granted lock. `askedAt` is when the command that took it was sent, by `performance.now()`. */
export interface Grant {
  token: string;
  fence?: number;
  askedAt?: number;
}

type Answer<T> = T | Promise<T>;

/** The class that a lock's module exports by default. It has `tryAcquire`, or `acquire` if it waits by itself. */
export interface Lock {
  tryAcquire?(key: string, ttlMs: number): Answer<string | Grant | null | false>;
  acquire?(key: string, ttlMs: number, waitMs: number, signal?: AbortSignal): Answer<string | Grant | null | false>;
  release(key: string, token: string): Answer<boolean | null | void>;
  extend?(key: string, token: string, ttlMs: number): Answer<boolean | Grant | null>;
  sectionFailed?(key: string, token: string): Answer<boolean | null | void>;
  releaseUnheld?(key: string): Answer<boolean | null | void>;
  /** For a semaphore: called before the first acquisition, with the number of permits that exist. */
  setCapacity?(permits: number): void;
  acquirePermits?(key: string, permits: number, ttlMs: number, waitMs: number, signal?: AbortSignal): Answer<string | Grant | null | false>;
  /** For a read/write lock: lets a reader in. */
  acquireShared?(key: string, ttlMs: number, waitMs: number, signal?: AbortSignal): Answer<string | Grant | null | false>;
  /** For a leader election: returns the epoch, true if there are no epochs, or null if the client does not lead. */
  act?(key: string, token: string): Answer<number | boolean | null>;
  /** Milliseconds for which the key stays after a release, on purpose. */
  minHoldMs?: number;
  /** Milliseconds by which the key can live longer than the lease. */
  leaseMarginMs?: number;
  /** Cleans up when the process receives SIGTERM. */
  terminate?(): Answer<void>;
}

export interface RunSettings {
  /** What the lock is. Default: mutex */
  kind?: "mutex" | "semaphore" | "rwlock" | "leader";
  /** The built-in lock whose properties yours must keep. Default: set-nx-px, redlock with several nodes, and semaphore, rwlock
   * or leader for a lock of that kind. */
  reference?: string;
  /** Required statuses, in place of a reference. */
  expect?: Partial<Verdicts>;
  backend?: "auto" | "process" | "docker" | "external";
  seed?: number;
  nodes?: number;
  ttl?: string;
  options?: Record<string, string | number | boolean>;
  /** Directory of the failed runs. Default: .picklock */
  out?: string;
  signal?: AbortSignal;
}

export interface SuiteSettings extends RunSettings {
  /** Names of scenarios, patterns such as `late-*`, or paths of scenario files. */
  scenarios?: string[];
  profile?: "quick";
  /** Treatment of an inconclusive run. Default: fail */
  unknown?: "fail" | "skip";
}

/** Defines one test per scenario with the `test` of node:test, Vitest or Jest. `lock` is the file of the lock. */
export function scenarios(test: (...words: any[]) => unknown, lock: string | URL, settings?: SuiteSettings): void;

/** Runs a lock through a scenario, and returns the status of each property. Throws if it fails. Facts that no property
 * judges, such as requests that failed without a fault, are warnings of the process: PicklockWarning. */
export function run(lock: string | URL, scenario: string, settings?: RunSettings): Promise<Verdicts>;

export class PicklockError extends Error {}
export class Inconclusive extends PicklockError {}
export class NotApplicable extends PicklockError {}
export class Violation extends Error {
  verdicts: Record<Property, { status: Status; cause?: string; story?: string[] }>;
}

/** What a fault of the proxy matches. `picklock docs proxy` explains the fields. */
export interface FaultFields {
  command?: string;
  key?: string;
  nth?: number;
  times?: number;
  for_ms?: number;
  error?: ServerError;
}

export type ServerError = "READONLY" | "LOADING" | "MISCONF" | "CLUSTERDOWN" | "NOREPLICAS" | "BUSY";
export type Fault = FaultFields & { id: number; on: string; effect: string; matched: number; fired: number };

export interface AddedFault extends AsyncDisposable {
  id: number;
  remove(): Promise<unknown>;
}

/** A proxy between a test and its Redis server. */
export interface RedisProxy extends AsyncDisposable {
  /** The URL for clients of Redis. */
  url: string;
  /** The URL of the control API. */
  control: string;
  fault(on: "request" | "reply", effect: "delay" | "drop" | "hold" | "cut" | "answer", fields?: FaultFields): Promise<AddedFault>;
  dropRequest(fields?: FaultFields): Promise<AddedFault>;
  dropReply(fields?: FaultFields): Promise<AddedFault>;
  delayRequest(forMs: number, fields?: FaultFields): Promise<AddedFault>;
  delayReply(forMs: number, fields?: FaultFields): Promise<AddedFault>;
  answer(error: ServerError, fields?: FaultFields): Promise<AddedFault>;
  faults(): Promise<Fault[]>;
  commands(afterNs?: number): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Starts a proxy in front of a Redis server of this machine. */
export function startProxy(upstream: string): Promise<RedisProxy>;
