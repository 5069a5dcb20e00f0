import { runInDurableObject } from "cloudflare:test";
import { DurableObject } from "cloudflare:workers";
import { beforeEach } from "vitest";
import * as entry from "../../src/index.ts";

/*
 * Calls that a test counts, holds back or has fail. The platform gives every object bindings of its own, so a test meets a call
 * where it arrives: at the method of the class. This file is the only one that replaces methods; meter.ts counts all of them.
 */

type Class = abstract new (...args: never[]) => object;

type Methods<C extends Class> = {
  [Name in keyof InstanceType<C>]: InstanceType<C>[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof InstanceType<C>] &
  string;

type ArgumentsOf<C extends Class, Name extends Methods<C>> = InstanceType<C>[Name] extends (
  ...args: infer Args
) => unknown
  ? Args
  : never;

type AnswerOf<C extends Class, Name extends Methods<C>> = InstanceType<C>[Name] extends (
  ...args: never[]
) => infer Answer
  ? Answer
  : never;

/** A call that has arrived. */
export interface ArrivedCall<Args extends unknown[], Answer> {
  readonly args: Args;
  /** Of the object that is called; "" where a part of an object is. */
  readonly id: string;
  /** Does what the method does: with the arguments of the call, or with others. */
  readonly proceed: (...args: Args | []) => Answer;
}

type CallOf<C extends Class, Name extends Methods<C>> = ArrivedCall<ArgumentsOf<C, Name>, AnswerOf<C, Name>>;

/** Calls of one method, since a test asked for them. */
export interface Watched<Call> {
  readonly calls: readonly Call[];
  /** The method is itself again. */
  end(): void;
}

/** Over RPC an answer that comes later is as good as one that comes at once. */
type AnyAnswer<Answer> = Answer | Awaited<Answer> | Promise<Awaited<Answer>>;

/** What is replaced now, the newest last. */
let replaced: (() => void)[] = [];
const endAll = () => {
  for (const end of replaced.toReversed()) end();
  replaced = [];
};
// As with the runner's spies: what one test replaces is itself again before the next.
beforeEach(endAll);

/** From now on until the test ends `happens` stands in for a method; it may throw, wait and have the method proceed. */
export function atCalls<C extends Class, Name extends Methods<C>>(
  type: C,
  name: Name,
  happens: (call: CallOf<C, Name>) => AnyAnswer<AnswerOf<C, Name>>,
): Watched<CallOf<C, Name>> {
  const prototype: object = type.prototype;
  const property = Object.getOwnPropertyDescriptor(prototype, name);
  const original: unknown = Reflect.get(prototype, name);
  if (typeof original !== "function") throw new Error(`${type.name} has no ${name}`);
  const calls: CallOf<C, Name>[] = [];
  let isOver = false;
  const standIn = function (this: object, ...args: ArgumentsOf<C, Name>): unknown {
    const proceed = (...given: ArgumentsOf<C, Name> | []) =>
      Reflect.apply(original, this, given.length > 0 ? given : args) as AnswerOf<C, Name>;
    if (isOver) return proceed();
    const call: CallOf<C, Name> = { args, id: idOf(this), proceed };
    calls.push(call);
    return happens(call);
  };
  Object.defineProperty(prototype, name, { configurable: true, enumerable: false, writable: true, value: standIn });
  const end = () => {
    isOver = true;
    if (Reflect.get(prototype, name) !== standIn) return;
    if (property) Object.defineProperty(prototype, name, property);
    else Reflect.deleteProperty(prototype, name);
  };
  replaced.push(end);
  return { calls, end };
}

/** At the `nth` call from now on that is meant `happens` stands in for the method. */
export function atNth<C extends Class, Name extends Methods<C>>(
  type: C,
  name: Name,
  nth: number,
  happens: (proceed: () => Promise<Awaited<AnswerOf<C, Name>>>) => AnyAnswer<AnswerOf<C, Name>>,
  isMeant: (...args: ArgumentsOf<C, Name>) => boolean = () => true,
): Watched<CallOf<C, Name>> {
  let seen = 0;
  return atCalls(type, name, ({ args, proceed }) => {
    if (!isMeant(...args) || ++seen !== nth) return proceed();
    return happens((async () => proceed()) as () => Promise<Awaited<AnswerOf<C, Name>>>);
  });
}

/** The calls of a method from now on, which do what they always do. */
export function callsTo<C extends Class, Name extends Methods<C>>(type: C, name: Name): Watched<CallOf<C, Name>> {
  return atCalls(type, name, ({ proceed }) => proceed());
}

/** The calls of a method fail from now on, or the first `times` of them. Nothing is done. */
export function failing<C extends Class, Name extends Methods<C>>(
  type: C,
  name: Name,
  error: string | Error = "the object does not answer",
  times = Number.POSITIVE_INFINITY,
): Watched<CallOf<C, Name>> {
  let left = times;
  return atCalls(type, name, ({ proceed }) => {
    if (left-- <= 0) return proceed();
    throw error instanceof Error ? error : new Error(error);
  });
}

/** Objects whose node is gone: every call to one of the class is lost before it arrives, until the test ends. */
export function goneObjects(type: abstract new (...args: never[]) => DurableObject): { end(): void } {
  const lost = () => {
    throw new Error("Network connection lost.");
  };
  const gone = methodsOf(type.prototype).map((name) => atCalls(type, name as Methods<typeof type>, lost));
  return {
    end: () => {
      for (const one of gone) one.end();
    },
  };
}

function methodsOf(prototype: object): string[] {
  if (prototype === DurableObject.prototype) return [];
  const names = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => name !== "constructor" && name !== "alarm" && typeof value === "function")
    .map(([name]) => name);
  return [...new Set([...names, ...methodsOf(Object.getPrototypeOf(prototype))])];
}

/** What a call asks for is done, and its answer is lost. For those that `isMeant` picks, and no more than `times` of them. */
export function losingAnswers<C extends Class, Name extends Methods<C>>(
  type: C,
  name: Name,
  isMeant: (...args: ArgumentsOf<C, Name>) => boolean = () => true,
  times = Number.POSITIVE_INFINITY,
): Watched<CallOf<C, Name>> {
  let left = times;
  return atCalls(type, name, ({ args, proceed }) => {
    const answer = proceed();
    if (!isMeant(...args) || left-- <= 0) return answer;
    const lose = () => {
      throw new Error("the answer is lost");
    };
    return answer instanceof Promise ? answer.then(lose) : lose();
  });
}

type Alarmed = DurableObject & { alarm(): unknown };

type AlarmedClass = abstract new (...args: never[]) => Alarmed;

const isAlarmed = (type: unknown): type is AlarmedClass =>
  typeof type === "function" && type.prototype instanceof DurableObject && "alarm" in type.prototype;

const ALARMED = Object.values(entry).filter((type) => isAlarmed(type));
const ALARMS = new Map<object, Alarmed["alarm"]>(ALARMED.map(({ prototype }) => [prototype, prototype.alarm]));

/** No object works by itself until the test ends. `beforeEach(holdAlarms)` */
export function holdAlarms(): void {
  holdAlarmsOf(...ALARMED);
}

/** Keeps objects of these classes from working by themselves until the test ends: it decides when, with `ringAlarm`. */
export function holdAlarmsOf(...types: AlarmedClass[]): { end(): void } {
  const held = types.map((type) => atCalls(type, "alarm", () => undefined));
  return {
    end: () => {
      for (const one of held) one.end();
    },
  };
}

/** Does what one alarm of the object does, also while alarms are held. */
export async function ringAlarm(stub: DurableObjectStub<Alarmed>): Promise<void> {
  await runInDurableObject(stub, async (object: Alarmed, { storage }) => {
    // As the platform does when an alarm comes.
    await storage.deleteAlarm();
    const alarm = ALARMS.get(Object.getPrototypeOf(object));
    if (!alarm) throw new Error(`${object.constructor.name} has no alarm of its own`);
    await alarm.call(object);
  });
}

function idOf(object: object): string {
  return object instanceof DurableObject ? (Reflect.get(object, "ctx") as DurableObjectState).id.toString() : "";
}
