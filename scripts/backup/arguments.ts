import { readFlags } from "../../gateway/flags.ts";
import { err, ok, type Result } from "../../src/base/result.ts";

export const HELP = `Usage: npm run backup -- --data DIR --to DIR [options]

Copies the data of a server of this machine, also while it runs, into a new directory below --to, and opens every database
of the copy to verify it. The server holds still for as long as it takes to copy what changed during the copy.

  --data DIR   the server's data directory (default .grove/data)
  --to DIR     where backups are kept
  --keep N     deletes the oldest backups there, so that N are left (default: all are kept)
  --json       what was done as JSON
  --help       this text

Exit codes: 0 done and verified, 1 no backup was made, 2 the command line is wrong.
The seal key is not part of the data: keep it elsewhere (docs/self-hosting.md).
`;

/** What the command line asks for. */
export type BackupCommand =
  | { readonly kind: "help" }
  | {
      readonly kind: "run";
      readonly data: string;
      readonly to: string;
      /** 0: all. */
      readonly keep: number;
      readonly json: boolean;
    };

/** Reads the command line; the error is a text for the operator. */
export function parseBackupArguments(argv: readonly string[]): Result<BackupCommand, string> {
  const flags = readFlags(argv, {
    data: { type: "string", default: ".grove/data" },
    to: { type: "string" },
    keep: { type: "string", default: "0" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  });
  if (!flags.ok) return flags;
  const { data, to = "", keep, json, help } = flags.value;
  if (help) return ok({ kind: "help" });
  if (data === "") return err("--data takes a directory");
  if (to === "") return err("--to says where backups are kept");
  if (!/^\d{1,4}$/.test(keep)) return err(`--keep takes a number of backups, not "${keep}"`);
  return ok({ kind: "run", data, to, keep: Number(keep), json });
}
