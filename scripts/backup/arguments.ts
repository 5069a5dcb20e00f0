import { err, ok } from "../../src/base/result.ts";
import { type CommandOf, readWords } from "../local/command-line.ts";
import { addressProblem } from "../local/server-address.ts";

export const HELP = `Usage: npm run backup -- --address URL --to DIR [options]
       npm run backup -- --address URL --to r2
       npm run backup -- --address URL --fetch DIR [--backup NAME]
       npm run backup -- [--data DIR] --to DIR [options]
       npm run backup -- --verify DIR

With --address, downloads all that a server has stored, on Cloudflare or on a machine, into --to: sealed, as it is stored.
"grove restore" restores it, on either. If it is interrupted, the next call continues.
VAULT_TOKEN is a token with read, update and sudo on sys/backup/*.

A server on Cloudflare's network makes backups in its R2 bucket by itself. --to r2 makes one now, and waits for it. --fetch downloads the newest, or
the one that --backup names, from the bucket into a directory, for --verify and "grove restore". It also works with a deployment that was never
initialized: VAULT_TOKEN is its GROVE_INIT_TOKEN then.

Without --address, copies the files of a server of this machine, also while it runs, into a new directory below --to, and opens every
database of the copy to verify it. The server is paused for as long as it takes to copy what changed during the copy.

  --address URL  the server to ask
  --data DIR     the data directory of the server of this machine (default .grove/data)
  --to DIR       where backups are kept; r2 is the bucket of the server (a directory of that name is ./r2)
  --fetch DIR    where a backup from the bucket of the server is to be
  --backup NAME  which one
  --keep N       deletes the oldest backups there, so that N are left (default: all are kept)
  --verify DIR   reads all of the newest backup there, of either kind, and compares it with the SHA-256 that the backup noted; says whether
                 GROVE_SEAL_KEY, if set, opens it. DIR may be one copy of files, too
  --json         what was done as JSON
  --help         this text
  --version      the release

Exit codes: 0 done and verified, 1 no backup was made, or that of --verify is not
whole, or not opened by the seal keys that are set, 2 the command line is wrong. The seal key is not part of the data:
keep it elsewhere (docs/self-hosting.md).

Example:
  npm run backup -- --address https://grove.example --to /backup --keep 30
`;

/** What the command line asks for. `keep` is 0 for all, `name` is "" for the newest. */
export type BackupCommand = CommandOf<typeof parseBackupArguments>;

export function parseBackupArguments(argv: readonly string[]) {
  const flags = readWords(argv, {
    data: { type: "string" },
    address: { type: "string" },
    verify: { type: "string" },
    to: { type: "string" },
    fetch: { type: "string" },
    backup: { type: "string" },
    keep: { type: "string", default: "0" },
    json: { type: "boolean", default: false },
  });
  if (!flags.ok) return flags;
  const { data, address, verify, to = "", fetch, backup, keep, json } = flags.value.values;
  if (verify !== undefined) {
    return verify !== "" && to === "" && data === undefined && address === undefined && fetch === undefined
      ? ok({ kind: "verify", directory: verify, json } as const)
      : err("--verify takes a directory, and stands alone");
  }
  if (data !== undefined && address !== undefined) return err("--data and --address exclude each other");
  if (data === "") return err("--data takes a directory");
  const badAddress = address === undefined ? null : addressProblem("--address", address);
  if (badAddress !== null) return err(badAddress);
  if (fetch !== undefined) {
    if (fetch === "" || address === undefined || to !== "")
      return err("--fetch takes a directory, beside --address and without --to");
    return ok({ kind: "fetch", address, directory: fetch, name: backup ?? "", json } as const);
  }
  if (backup !== undefined) return err("--backup stands beside --fetch");
  if (to === "") return err("--to says where backups are kept");
  if (!/^\d{1,4}$/.test(keep)) return err(`--keep takes a number of backups, not "${keep}"`);
  const kept = { to, keep: Number(keep), json };
  if (address === undefined) return ok({ kind: "copy", data: data ?? ".grove/data", ...kept } as const);
  if (to !== "r2") return ok({ kind: "ask", address, ...kept } as const);
  return keep === "0"
    ? ok({ kind: "bucket", address, json } as const)
    : err("BACKUP_KEEP of the server says how many stay in its bucket");
}
