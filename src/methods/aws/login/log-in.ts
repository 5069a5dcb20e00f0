import type { IssuedLogin } from "../../../auth/issue-login.ts";
import { issueToken } from "../../../auth/login-attempt.ts";
import { ok, type Result } from "../../../base/result.ts";
import { accessShardFor } from "../mount/mount-config.ts";
import type { Attempt } from "./check-list.ts";
import { IAM_ORDER, VM_ORDER } from "./check-order.ts";
import { chooseKind, type LoginFields } from "./fields.ts";
import { issueForSignature } from "./iam.ts";
import type { Begun } from "./login-role.ts";

/** Makes the checks of a login in their order, and issues its token. */
export async function logIn(attempt: Attempt, fields: LoginFields): Promise<Result<IssuedLogin>> {
  const kind = attempt.checks.record("request", {}, chooseKind(fields));
  if (!kind.ok) return kind;
  const begun = { attempt, fields, kind: kind.value, claim: null, isDryRun: false };
  return kind.value === "vm" ? loginByInstance(begun) : loginByPrincipal(begun);
}

async function loginByInstance(begun: Begun<never>): Promise<Result<IssuedLogin>> {
  const checked = await VM_ORDER.run(begun);
  if (!checked.ok) return checked;
  const { sought, client, entered, generated } = checked.value;
  const { env, mount } = begun.attempt;
  let issued: Result<IssuedLogin> | null = null;
  try {
    issued = await issueToken(begun.attempt, client);
  } finally {
    // Without a token the client does not receive the nonce that its next login would need.
    if (!issued?.ok && entered)
      await accessShardFor(env, mount, sought.instanceId).list.undoLogin(sought.instanceId, entered);
  }
  if (!issued.ok || generated === null || !entered || entered.entry.nonceHash === null) return issued;
  // The nonce is only in the answer, and not in the stored metadata of the token, which others may look up.
  const auth = { ...issued.value.auth, secretMetadata: { nonce: generated } };
  return ok({ ...issued.value, auth });
}

async function loginByPrincipal(begun: Begun<never>): Promise<Result<IssuedLogin>> {
  const checked = await IAM_ORDER.run(begun);
  if (!checked.ok) return checked;
  const { caller, client } = checked.value;
  return caller.signature
    ? issueForSignature(begun.attempt, caller.signature, client)
    : issueToken(begun.attempt, client);
}
