import { runInDurableObject } from "cloudflare:test";
import { DurableObject } from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { MountObject } from "../../src/auth/mount-object.ts";
import type { Env } from "../../src/env.ts";
import * as entry from "../../src/index.ts";
import type { Calls } from "./operations.ts";
import { bindings } from "./service.ts";

type Counted = DurableObject<Env>;
type Method = (this: Counted, ...args: unknown[]) => unknown;

/** One call of an object, with the statements that it has run so far. */
interface OpenCall {
  readonly method: string;
  readonly object: Counted;
  readonly id: string;
  /** Gives the object's stub in the context of the caller. */
  readonly stub: () => DurableObjectStub<Counted>;
  readonly cursors: { readonly rowsRead: number; readonly rowsWritten: number }[];
}

/** The report of an isolate to the history: beside any request, but once a minute, whatever that asks. */
const EVERY_MINUTE = "Tidy.keepHistory";
/** The objects of the audit store, which get a record of most requests: they are measured apart. */
const OF_AUDIT = /^Audit/;

/** Calls to objects, from anywhere, while something is measured; with the rows that each read and wrote. */
export class Meter {
  /** The call that the code runs in: also in what it left to a timer. */
  readonly #current = new AsyncLocalStorage<OpenCall>();
  #calls: OpenCall[] = [];
  #underWay = 0;
  readonly #watched = new Map<Counted, () => void>();
  readonly #restores: (() => void)[] = [];

  /** Counts from now on, until `stop`. @param what the audit store alone, or everything else. */
  constructor(what: "audit store" | "all but the audit store" = "all but the audit store") {
    for (const [name, type] of Object.entries(entry)) {
      if (OF_AUDIT.test(name) !== (what === "audit store")) continue;
      const prototype: unknown = "prototype" in type ? type.prototype : null;
      if (!(prototype instanceof DurableObject)) continue;
      for (const method of methodsOf(prototype)) {
        const counted = `${name}.${method}`;
        if (method !== "constructor" && counted !== EVERY_MINUTE)
          this.#count(prototype, method, counted, namespaceOf(name));
      }
    }
  }

  stop(): void {
    for (const restore of [...this.#restores, ...this.#watched.values()]) restore();
  }

  /** The methods that were called, in alphabetical order, as often as they were. */
  methods(): string[] {
    return this.inOrder().sort();
  }

  /** The same in the order in which the calls came. */
  inOrder(): string[] {
    return this.#calls.map(({ method }) => method);
  }

  /** Resolves when no call is under way and none has begun for `ms`: what requests before it left to timers is done. */
  async quiet(ms: number): Promise<void> {
    for (let before = -1; before !== this.#calls.length || this.#underWay > 0; ) {
      before = this.#calls.length;
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }

  /** Counts from zero again. */
  reset(): void {
    this.#calls = [];
  }

  /** What the calls have cost so far, in the form of the table. */
  async costs(): Promise<Calls> {
    const costs: Record<string, { times: number; rowsRead: number; rowsWritten: number }> = {};
    for (const call of this.#calls) {
      const cost = costs[call.method] ?? { times: 0, rowsRead: 0, rowsWritten: 0 };
      costs[call.method] = cost;
      cost.times++;
      // A statement that was not read to its end shows its rows in its own object only.
      await runInDurableObject(call.stub(), () => {
        for (const { rowsRead, rowsWritten } of call.cursors) {
          cost.rowsRead += rowsRead;
          cost.rowsWritten += rowsWritten;
        }
      });
    }
    return costs;
  }

  /** Rows that the calls of a method have read in the object with this id. */
  async rowsRead(method: string, id: string): Promise<number> {
    let rows = 0;
    for (const call of this.#calls.filter((one) => one.method === method && one.id === id)) {
      await runInDurableObject(call.stub(), () => {
        for (const { rowsRead } of call.cursors) rows += rowsRead;
      });
    }
    return rows;
  }

  #count(prototype: object, name: string, method: string, namespace: DurableObjectNamespace<Counted>): void {
    const property = Object.getOwnPropertyDescriptor(prototype, name);
    const original: unknown = property ? property.value : Reflect.get(prototype, name);
    if (typeof original !== "function") return;
    const meter = this;
    const counted: Method = function (...args) {
      meter.#watch(this);
      // What an object calls of itself is no call to an object.
      if (meter.#current.getStore()?.object === this) return Reflect.apply(original, this, args);
      const id = stateOf(this).id.toString();
      const stub = () => namespace.get(namespace.idFromString(id));
      const call: OpenCall = { method, object: this, id, stub, cursors: [] };
      meter.#calls.push(call);
      const answer: unknown = meter.#current.run(call, () => Reflect.apply(original, this, args));
      if (answer instanceof Promise) meter.#waitFor(answer);
      return answer;
    };
    Object.defineProperty(prototype, name, { configurable: true, writable: true, ...property, value: counted });
    this.#restores.push(() => {
      if (property) Object.defineProperty(prototype, name, property);
      else Reflect.deleteProperty(prototype, name);
    });
  }

  #waitFor(answer: Promise<unknown>): void {
    this.#underWay++;
    const ended = () => {
      this.#underWay--;
    };
    answer.then(ended, ended);
  }

  #watch(object: Counted): void {
    if (this.#watched.has(object)) return;
    const { sql } = stateOf(object).storage;
    const original = sql.exec;
    const current = this.#current;
    sql.exec = function exec(this: SqlStorage, ...args: Parameters<typeof original>) {
      const cursor = original.apply(sql, args);
      current.getStore()?.cursors.push(cursor);
      return cursor;
    } as typeof original;
    this.#watched.set(object, () => {
      sql.exec = original;
    });
  }
}

/** An object keeps its state to itself and its subclasses. */
function stateOf(object: Counted): DurableObjectState {
  return Reflect.get(object, "ctx") as DurableObjectState;
}

/** The binding of a class is named like the class, in capitals. */
function namespaceOf(name: string): DurableObjectNamespace<Counted> {
  const binding = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  return Reflect.get(bindings, binding) as DurableObjectNamespace<Counted>;
}

/** The methods of a class, with those that objects of mounts inherit. */
function methodsOf(prototype: object): string[] {
  const bases = [MountObject].filter((base) => prototype instanceof base);
  const inherited = bases.flatMap((base) => Object.getOwnPropertyNames(base.prototype));
  return [...new Set([...Object.getOwnPropertyNames(prototype), ...inherited])];
}
