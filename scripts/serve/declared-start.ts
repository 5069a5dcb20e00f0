import { randomBytes } from "node:crypto";
import type { UpstreamAddress } from "../../gateway/upstream.ts";
import { err, type Result } from "../../src/base/result.ts";
import { startFromFile } from "../declare/start-from-file.ts";
import { GroveClient, type Send } from "../grove/client.ts";
import { exchange } from "../local/wait-until-answers.ts";

/** Time limit of an answer (ms). */
const ANSWER_MS = 60_000;

/**
 * The init token of a server that starts from a file. Without GROVE_INIT_TOKEN it is random and secret, so that no
 * client can initialize the server before the file has done so, neither past its gateway nor at another node.
 */
export function initTokenOf({ GROVE_INIT_TOKEN }: Readonly<Record<string, string | undefined>>): string {
  return GROVE_INIT_TOKEN?.trim() || randomBytes(24).toString("hex");
}

/**
 * Initializes a new installation with what a file declares, past the gateway, before the server accepts requests. Result
 * and error are lines for the operator.
 *
 * @param gone resolves to the reason when the server ends meanwhile.
 */
export function startDeclaredAt(
  address: UpstreamAddress,
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
  gone: Promise<unknown>,
  warn: (line: string) => void,
): Promise<Result<string, string>> {
  const send: Send = ({ method, path, token, body }) =>
    exchange(address, { method, path, headers: token === "" ? [] : [`X-Vault-Token: ${token}`], body }, ANSWER_MS);
  const as = (token: string) => new GroveClient("http://localhost", token, { repeats: true, send });
  const initToken = environment.GROVE_INIT_TOKEN?.trim() ?? "";
  const broken = gone.then((reason) => err(`the start from ${file} was broken off: ${String(reason)}`));
  return Promise.race([startFromFile(file, environment, { as, initToken, warn }), broken]);
}
