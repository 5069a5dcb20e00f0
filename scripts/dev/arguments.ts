import { err, ok } from "../../src/base/result.ts";
import { checkCustomId } from "../../src/token/ids.ts";
import { type CommandOf, readWords } from "../local/command-line.ts";
import { parsePrivateHosts } from "../local/listen-address.ts";

export const HELP = `Usage: npm run dev -- [options]

Starts Grove on this machine for development, with a root token, and reloads it when a source file changes.
Data is kept between starts.

  --port N           port on 127.0.0.1 (default 8200; 0 for any free one)
  --data DIR         where data and keys are kept (default .grove/dev)
  --fresh            start empty: forget data, keys and the root token
  --root-token ID    the root token of a new installation (default a random one)
  --apply FILE       what the server should have (docs/self-hosting.md): each start writes what differs
  --allow-private-host LIST
                     hosts, separated by commas, that the Worker may call beside public ones, also by http:
                     addresses, CIDR blocks and names (default none)
  --help             this text
  --version          the release

Settings of the Worker (docs/operations.md) are taken from the environment, as in POLICY_CACHE_SECONDS=0 npm run dev.

Example:
  npm run dev -- --port 8300 --data /tmp/grove
`;

/** What the command line asks for. */
export type DevCommand = CommandOf<typeof parseDevArguments>;

export function parseDevArguments(argv: readonly string[]) {
  const flags = readWords(argv, {
    port: { type: "string", default: "8200" },
    data: { type: "string", default: ".grove/dev" },
    fresh: { type: "boolean", default: false },
    "root-token": { type: "string" },
    apply: { type: "string" },
    "allow-private-host": { type: "string", default: "" },
  });
  if (!flags.ok) return flags;
  const { port, data, fresh, apply, "root-token": rootToken } = flags.value.values;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) return err("--port takes a number from 0 to 65535");
  if (data === "") return err("--data takes a directory");
  const problem = rootToken === undefined ? null : rootToken === "" ? "it is empty" : checkCustomId(rootToken);
  if (problem !== null) return err(`--root-token cannot be used: ${problem}`);
  const privateHosts = parsePrivateHosts(flags.value.values["allow-private-host"]);
  if (!privateHosts.ok) return privateHosts;
  return ok({ port: Number(port), data, fresh, rootToken, apply, privateHosts: privateHosts.value });
}
