import { err, ok, type Result } from "../../src/base/result.ts";
import { type NotRun, readWords } from "../local/command-line.ts";

export const HELP = `Usage: npm run backup -- --data DIR --to DIR [options]

Copies the data of a server of this machine, also while it runs, into a new directory below --to, and opens every database
of the copy to verify it. The server is paused for as long as it takes to copy what changed during the copy.

  --data DIR   the server's data directory (default .grove/data)
  --to DIR     where backups are kept
  --keep N     deletes the oldest backups there, so that N are left (default: all are kept)
  --json       what was done as JSON
  --help       this text

Exit codes: 0 done and verified, 1 no backup was made, 2 the command line is wrong.
The seal key is not part of the data: keep it elsewhere (docs/self-hosting.md).
`;

/** What the command line asks for. */
export interface BackupCommand {
  readonly data: string;
  readonly to: string;
  /** 0: all. */
  readonly keep: number;
  readonly json: boolean;
}

/** Reads the command line. */
export function parseBackupArguments(argv: readonly string[]): Result<BackupCommand, NotRun> {
  const flags = readWords(argv, {
    data: { type: "string", default: ".grove/data" },
    to: { type: "string" },
    keep: { type: "string", default: "0" },
    json: { type: "boolean", default: false },
  });
  if (!flags.ok) return flags;
  const { data, to = "", keep, json } = flags.value.values;
  if (data === "") return err("--data takes a directory");
  if (to === "") return err("--to says where backups are kept");
  if (!/^\d{1,4}$/.test(keep)) return err(`--keep takes a number of backups, not "${keep}"`);
  return ok({ data, to, keep: Number(keep), json });
}
