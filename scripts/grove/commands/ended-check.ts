import { setTimeout as sleep } from "node:timers/promises";
import { MAX_NAMED_TOKENS } from "../../../src/base/limits.ts";
import { ok } from "../../../src/base/result.ts";
import { ENDED_CHECK, type EndedCheck } from "../answer-schemas.ts";
import type { Called, GroveClient } from "../client.ts";
import type { Terminal } from "../terminal.ts";

/** Interval of checks, and the longest wait for the trees and the targets of leases (ms). */
const CHECK_EVERY_MS = 1_000;
const WAIT_MS = 60_000;

/** Asks the trees whether tokens or leases have ended. @param question which ones. */
export function checkEnded(
  client: GroveClient,
  question: Readonly<Record<string, unknown>>,
): Promise<Called<EndedCheck>> {
  return client.post("sys/tokens/verify-ended", ENDED_CHECK, question);
}

/** The tokens that are not proved to be refused: those that are alive, and those whose tree does not answer. */
export const unprovenOf = ({ alive, unanswered }: EndedCheck): string[] => [...alive, ...unanswered];

/** Asks the trees about any number of tokens. Returns those that are not proved to be refused. */
export async function unproven(client: GroveClient, accessors: readonly string[]): Promise<Called<readonly string[]>> {
  const left: string[] = [];
  for (let at = 0; at < accessors.length; at += MAX_NAMED_TOKENS) {
    const checked = await checkEnded(client, { accessors: accessors.slice(at, at + MAX_NAMED_TOKENS) });
    if (!checked.ok) return checked;
    left.push(...unprovenOf(checked.value));
  }
  return ok(left);
}

/**
 * Repeats a check until nothing is pending, or the time is over. Returns the last answer.
 *
 * @param pending says for the operator what an answer still waits for; null: nothing.
 */
export async function repeatCheck(
  terminal: Pick<Terminal, "progress">,
  check: () => Promise<Called<EndedCheck>>,
  pending: (answer: EndedCheck) => string | null,
): Promise<Called<EndedCheck>> {
  for (let waited = 0; ; waited += CHECK_EVERY_MS) {
    const checked = await check();
    const waitsFor = checked.ok ? pending(checked.value) : null;
    const isOver = waitsFor === null || waited >= WAIT_MS;
    terminal.progress(isOver ? null : waitsFor);
    if (isOver) return checked;
    await sleep(CHECK_EVERY_MS);
  }
}
