import type { Ms } from "../../src/base/clock.ts";
import { helpAsCalled } from "../local/command-line.ts";

/** A fault of the disk is explained once in this time, however many lines workerd writes about it. */
const SAID_EVERY: Ms = 60_000;

const runbook = (section: string): string => helpAsCalled(`docs/runbook.md, ${section}`);

interface Fault {
  readonly line: RegExp;
  readonly meaning: (data: string) => string;
}

/** Faults of the disk, by the codes of SQLite in the output of workerd. */
const FAULTS: readonly Fault[] = [
  {
    line: /\bSQLITE_(?:FULL|IOERR_SHMSIZE)\b/,
    meaning: (data) =>
      `the disk of ${data} is full: writes are answered 503 until there is space (${runbook("The disk is full")})`,
  },
  {
    line: /\bSQLITE_(?:CORRUPT\w*|NOTADB)\b/,
    meaning: (data) =>
      `a database in ${data} is damaged, and requests that need it are answered 503: "backup --data" of these data names it, and an earlier backup restores it (${runbook("Restore")})`,
  },
];

/**
 * Shows lines of workerd's standard error. Of the lines about one fault of the disk, only the first in a minute is shown,
 * followed by its explanation.
 *
 * @param data the path of the data.
 * @param show gets a line of workerd, `say` one for the operator.
 */
export function explainingFaults(
  data: string,
  show: (line: string) => void,
  say: (line: string) => void,
  now: () => Ms = Date.now,
): (line: string) => void {
  const said = new Map<Fault, Ms>();
  return (line) => {
    const fault = FAULTS.find((one) => one.line.test(line));
    if (fault && now() - (said.get(fault) ?? Number.NEGATIVE_INFINITY) < SAID_EVERY) return;
    show(line);
    if (!fault) return;
    said.set(fault, now());
    say(fault.meaning(data));
  };
}
