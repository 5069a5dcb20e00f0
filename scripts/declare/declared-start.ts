import { setTimeout as pause } from "node:timers/promises";
import { err, ok } from "../../src/base/result.ts";
import type { Called, CallFailure } from "../grove/client.ts";
import { isFields } from "./compare-fields.ts";
import type { Declaration } from "./declaration.ts";
import { refuseMistakes } from "./known-fields.ts";
import { applyRequests, dataIn, type Outcome, type Service } from "./plan-step.ts";

/** Longest wait (ms) for another program that has begun the same start, and the interval of checks (ms). */
const OTHER_MS = 60_000;
const LOOK_MS = 1_000;
/** Most attempts of a start that other programs take over. */
const MAX_BEGINS = 3;

/** The result of the declared start of an installation. */
export type Start =
  /** The installation was initialized by an earlier call or another program. */
  | { readonly kind: "initialized" }
  /** `rootToken` is "" when none is kept. */
  | { readonly kind: "started"; readonly rootToken: string }
  | { readonly kind: "refused"; readonly outcome: Outcome };

/** How a start reaches the service and waits. */
export interface Starting {
  /** The service, asked with this token. Repeats calls that got no answer. */
  readonly as: (token: string) => Service;
  readonly initToken: string;
  readonly warn: (line: string) => void;
  /** ms. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** True once the installation serves requests. */
export async function isInitialized(service: Service): Promise<Called<boolean>> {
  const read = await service.call("GET", "sys/init");
  return read.ok ? ok(isFields(read.value.body) && read.value.body.initialized === true) : read;
}

/**
 * Initializes a service with what a file declares, unless it is initialized. Continues a start that was interrupted.
 * When another program takes the start over, this waits for its end.
 */
export async function startDeclared(starting: Starting, declaration: Declaration): Promise<Called<Start>> {
  const { as, initToken, wait = pause } = starting;
  const asked = as(initToken);
  for (let begun = 1; ; begun++) {
    const initialized = await isInitialized(asked);
    if (!initialized.ok) return initialized;
    if (initialized.value) return ok({ kind: "initialized" });
    const tried = await startOnce(starting, declaration);
    if (tried.ok || !mayBeTakenOver(tried.error) || begun === MAX_BEGINS) return tried;
    for (let waited = 0; waited < OTHER_MS; waited += LOOK_MS) {
      const isDone = await isInitialized(asked);
      if (isDone.ok && isDone.value) break;
      await wait(LOOK_MS);
    }
  }
}

async function startOnce({ as, initToken, warn }: Starting, declaration: Declaration): Promise<Called<Start>> {
  const token = textOf(await as(initToken).call("POST", "sys/init/begin"), "setup_token");
  if (!token.ok) return token;
  const service = as(token.value);
  // To its own token the installation counts as initialized before the start is complete.
  const isDone = () => isInitialized(as(""));
  const { requests, rootTokenFile } = declaration;
  const known = await refuseMistakes(service, requests);
  if (!known.ok) return known;
  const outcome = await applyRequests(service, requests, ({ request }, warnings) => {
    for (const warning of warnings) warn(`${request.name} (line ${request.line}): ${warning}`);
  });
  if (outcome.refused) {
    const { failure } = outcome.refused;
    if (mayBeTakenOver(failure)) return err(failure);
    // Another program may have completed the start while a call was repeated: the setup token ended with that.
    const done = await isDone();
    return ok(done.ok && done.value ? { kind: "initialized" } : { kind: "refused", outcome });
  }
  const kept = rootTokenFile !== null;
  const finished = textOf(await service.call("POST", "sys/init/finish", { root_token: kept }), "root_token");
  const started = (rootToken: string) => ok({ kind: "started", rootToken } as const);
  if (finished.ok) return started(finished.value);
  // The answer can be lost, and the setup token has ended with it.
  const done = await isDone();
  return done.ok && done.value ? started("") : finished;
}

/** True for the status of an answer to a setup token that another program has replaced. */
function mayBeTakenOver({ status }: CallFailure): boolean {
  return status === 503;
}

function textOf(answered: Awaited<ReturnType<Service["call"]>>, name: string): Called<string> {
  if (!answered.ok) return answered;
  const text = dataIn(answered.value)?.[name];
  return typeof text === "string"
    ? ok(text)
    : err({ status: answered.value.status, message: `the server answered no ${name}: is it of an older release?` });
}
