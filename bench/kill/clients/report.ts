import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { violationsOf } from "../../history/check.ts";
import type { Choices } from "../writer.ts";
import type { Recorder } from "./recorder.ts";

/** Most violations that are printed. */
const MOST_PRINTED = 20;

/** Parameters of a run that is checked by its history. */
export interface HistoryRun {
  /** Number of faults. */
  readonly rounds: number;
  /** No fault begins after this time (minutes). */
  readonly minutes: number;
  readonly directory: string | undefined;
  readonly choices: Choices;
  readonly say: (line: string) => void;
}

/** Checks a history and prints what was found. @returns the number of violations and of unexpected answers */
export function reportHistory(
  { history, surprises, requests, unanswered, changes }: Recorder,
  say: (line: string) => void,
) {
  const violations = violationsOf(history);
  for (const violation of violations.slice(0, MOST_PRINTED)) say(`BROKEN: ${violation}`);
  if (violations.length > 0) {
    // The history has numbers in place of tokens, so it contains no secret.
    const file = join(tmpdir(), `grove-history-${process.pid}.jsonl`);
    writeFileSync(file, history.map((event) => `${JSON.stringify(event)}\n`).join(""));
    say(`the history is in ${file}`);
  }
  for (const [line, times] of surprises) say(`UNEXPECTED: ${line} (${times} times)`);
  const count = (kind: string): number => history.filter((event) => event.kind === kind).length;
  const logins = history.filter((event) => event.kind === "create" && event.nonce !== null).length;
  process.stdout.write(
    `${violations.length} violations in ${history.length} events: ${requests} requests, ${unanswered} without an answer or with 5xx\n`,
  );
  process.stdout.write(
    `${count("create")} tokens, ${logins} of them logins; ${count("watermark")} watermarks, ${count("receipt")} receipts\n`,
  );
  const elsewhere =
    changes.onlyInStream > 0 ? `; ${changes.onlyInStream} are only in the log: no object took them` : "";
  process.stdout.write(`${changes.size} answered changes were looked for in the audit store${elsewhere}\n`);
  return violations.length + surprises.size;
}
