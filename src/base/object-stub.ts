import { currentTime, type Ms } from "./clock.ts";
import type { Deployment } from "./deployment.ts";
import { within } from "./location.ts";
import { repeated } from "./lost-call-retry.ts";
import type { ObjectMoves } from "./object-moves.ts";
import { givenUp, isLostCall, isMissingMethod } from "./platform-errors.ts";

type Method<T> = keyof T & string;

/** How the methods of a class are called in a cluster. Other methods: see `objectNamed`. */
interface CallRules<T> {
  /** Methods that change nothing, or nothing more when they are called again. */
  readonly repeated: readonly Method<T>[];
  /** Methods whose callers repeat them, and let the object recognise the repetition. */
  readonly byCaller?: readonly Method<T>[];
}

interface StubEnv {
  readonly JURISDICTION?: string;
  readonly deployment: Pick<Deployment, "moves">;
}

/** Properties of a stub that are no methods of its object. */
const OF_STUB: ReadonlySet<string | symbol> = new Set(["id", "name", "fetch", "connect", "then", "dup"]);

/** After this time without an answer the object is pinged, and the ping may take as long. */
const SILENCE_MS: Ms = 5_000;

/**
 * Returns the stub of the object with this name. In a cluster, where objects move and nodes fall silent, its calls are
 * treated as `stubWith` says.
 */
export function objectNamed<T extends Rpc.DurableObjectBranded>(
  env: StubEnv,
  objects: DurableObjectNamespace<T>,
  name: string,
  rules: CallRules<DurableObjectStub<T>>,
): DurableObjectStub<T> {
  return stubWith(env, rules, () => within(env, objects).getByName(name));
}

/**
 * Returns a stub. In a cluster:
 *
 * - A lost call of a method in `rules.repeated` is repeated, see `repeated`.
 * - Another method may have been carried out, so it is not repeated. It is called when the object has answered a ping.
 *   The ping is repeated, and a call is not lost because the object was about to move before it.
 * - A method in `rules.byCaller` is called as it is.
 * - A call of an object that answers neither the call nor pings for ten seconds is given up. A call of an object that
 *   works for longer is not.
 *
 * @param find looks the object up: each repetition does so, because a stub whose call was lost is of no use any more.
 */
export function stubWith<Stub extends object>({ deployment }: StubEnv, rules: CallRules<Stub>, find: () => Stub): Stub {
  const { moves } = deployment;
  if (!moves) return find();
  const repeats: readonly string[] = rules.repeated;
  const byCaller: readonly string[] = rules.byCaller ?? [];
  return new Proxy(find(), {
    get(stub, name) {
      const property: unknown = Reflect.get(stub, name);
      if (typeof name === "symbol" || OF_STUB.has(name)) {
        return typeof property === "function" ? property.bind(stub) : property;
      }
      return async (...args: unknown[]): Promise<unknown> => {
        const call = (found: Stub) => answerOf(moves, found, invoke(found, name, args));
        if (repeats.includes(name)) return repeated(deployment, () => call(find()));
        if (byCaller.includes(name)) return call(find());
        return call(await repeated(deployment, () => reached(moves, find())));
      };
    },
  });
}

async function invoke(stub: object, name: string, args: readonly unknown[]): Promise<unknown> {
  const method: unknown = Reflect.get(stub, name);
  if (typeof method !== "function") throw new Error(`the stub has no ${name}`);
  return Reflect.apply(method, stub, args);
}

/** Returns the stub when its object has answered. */
async function reached<Stub extends object>(moves: ObjectMoves, stub: Stub): Promise<Stub> {
  await answerOf(moves, stub, ping(stub));
  return stub;
}

async function ping(stub: object): Promise<void> {
  try {
    await invoke(stub, "ping", []);
  } catch (error) {
    // An object of an earlier release has answered too.
    if (!isMissingMethod(error)) throw error;
  }
}

/** Returns the answer of a call, and notes a lost one. @throws the error of a lost call when the object falls silent. */
async function answerOf<T>(moves: ObjectMoves, stub: object, call: Promise<T>): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const after = (ms: Ms, work: () => void): void => {
    clearTimeout(timer);
    if (!isOver) timer = setTimeout(work, ms);
  };
  const check = (): void => {
    after(SILENCE_MS, () => reject(givenUp(new Error("no answer"))));
    const answered = () => after(SILENCE_MS, check);
    // An error is an answer: the call meets it too.
    ping(stub).then(answered, answered);
  };
  after(SILENCE_MS, check);
  try {
    return await Promise.race([call, silence]);
  } catch (error) {
    if (isLostCall(error)) moves.noteLostCall(error, currentTime());
    throw error;
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
