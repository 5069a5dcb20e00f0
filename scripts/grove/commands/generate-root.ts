import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import { isSendable } from "../../local/token-from-environment.ts";
import { type Called, failed } from "../client.ts";
import type { Session } from "../terminal.ts";

const BEGUN = z.object({ nonce: z.string(), otp: z.string() });
const COMPLETED = z.object({ encoded_token: z.string() });

const PATH = "sys/generate-root-token";

/**
 * Makes a root token for an operator without one, from the two secrets of the deployment, and prints it. The server
 * encodes the token with a one-time password, which is only in its first answer.
 *
 * @param cancel true to end an open attempt instead.
 */
export async function generateRoot(
  { client, terminal, json }: Session,
  cancel: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Called<number>> {
  const initToken = secretIn(environment, "GROVE_INIT_TOKEN");
  if (!initToken.ok) return initToken;
  const asked = client.as(initToken.value);
  if (cancel) {
    const ended = await asked.call("DELETE", `${PATH}/attempt`);
    if (!ended.ok) return ended;
    terminal.say("no attempt is open");
    return ok(0);
  }
  const key = secretIn(environment, "GROVE_SEAL_KEY");
  if (!key.ok) return key;
  for (let tried = 1; ; tried++) {
    const begun = await asked.post(`${PATH}/attempt`, BEGUN, {});
    if (!begun.ok) return begun.error.message === OPEN ? failed(`${OPEN}: ${CANCEL}`) : begun;
    const { nonce, otp } = begun.value;
    const completed = await asked.post(`${PATH}/update`, COMPLETED, { nonce, key: key.value });
    if (completed.ok) {
      const token = decoded(completed.value.encoded_token, otp);
      terminal.out(json ? JSON.stringify({ root_token: token }) : token);
      return ok(0);
    }
    if (completed.error.message === GONE && tried < MAX_ATTEMPTS) continue;
    // An open attempt would block others for an hour.
    await asked.call("DELETE", `${PATH}/attempt`);
    return completed.error.message === GONE ? failed(`${GONE}: ${WHY_GONE}`) : completed;
  }
}

const MAX_ATTEMPTS = 2;

/** The server's refusal when the attempt has ended. A call that failed inside the server ends it, and was sent again. */
const GONE = "no root generation in progress";
const WHY_GONE = "the server could not complete it (its log says why), or another caller ended it; try again";

/** The server's refusal while an attempt is open. */
const OPEN = "root generation already in progress";
const CANCEL = `${asCalled("generate-root --cancel")} ends it, also when another caller began it`;

function secretIn(
  environment: Readonly<Record<string, string | undefined>>,
  name: "GROVE_INIT_TOKEN" | "GROVE_SEAL_KEY",
): Called<string> {
  const text = environment[name]?.trim() ?? "";
  if (text === "") return failed(`${name} of the deployment has to be in the environment`);
  return isSendable(text) ? ok(text) : failed(`${name} has characters that no secret of a deployment has`);
}

function decoded(encoded: string, otp: string): string {
  const pad = Buffer.from(otp);
  return Buffer.from(Buffer.from(encoded, "base64").map((byte, at) => byte ^ (pad[at] ?? 0))).toString();
}
