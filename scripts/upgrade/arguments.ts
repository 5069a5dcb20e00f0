import { err, ok } from "../../src/base/result.ts";
import { clientVariables } from "../local/client-environment.ts";
import { type CommandOf, readWords } from "../local/command-line.ts";
import { addressProblem } from "../local/server-address.ts";

export const HELP = `Usage: npm run -s upgrade -- [options]

Checks, with the new release, whether a server on this machine may be upgraded to it. Changes nothing. Start it before the server is
stopped, with the environment of the server.

  --data DIR            the data of the server (default .grove/data)
  --backups DIR         where npm run backup puts backups; all of the newest is read
  --max-age HOURS       how old the newest backup may be (default 24)
  --address URL         where the server answers (default VAULT_ADDR or BAO_ADDR, else http://127.0.0.1:8200)
  --help                this text
  --version             the release

Exit codes: 0 go on, 1 something is in the way, 2 the command line is wrong.

Example:
  npm run -s upgrade -- --data /var/lib/grove --backups /backup
`;

/** What the command line asks for. */
export type UpgradeCommand = CommandOf<typeof parseUpgradeArguments>;

export function parseUpgradeArguments(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
) {
  const words = readWords(argv, {
    data: { type: "string", default: ".grove/data" },
    backups: { type: "string" },
    "max-age": { type: "string", default: "24" },
    address: { type: "string", default: environment[clientVariables(environment).address] || "http://127.0.0.1:8200" },
  });
  if (!words.ok) return words;
  const { data, backups, address, "max-age": maxAge } = words.value.values;
  if (backups === undefined) return err("--backups DIR says where the backups are");
  if (!/^\d{1,4}$/.test(maxAge)) return err("--max-age takes whole hours");
  const badAddress = addressProblem("--address", address);
  if (badAddress !== null) return err(badAddress);
  return ok({ data, backups, maxAgeMs: Number(maxAge) * 3_600_000, address });
}
