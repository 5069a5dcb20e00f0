import type { ParentOfLogin } from "../../auth/issue.ts";
import { EXPLAINED_ADDRESS, LAST_CHECKS, type LoginAttempt, type VerifiedClient } from "../../auth/login-attempt.ts";
import type { Route } from "../../auth/route.ts";
import { bindAddress, tokenTerms } from "../../auth/token-settings.ts";
import { currentTime } from "../../base/clock.ts";
import { attempted } from "../../base/lost-call-retry.ts";
import { LOST } from "../../base/platform-errors.ts";
import { err, invalid, ok, type Result, refuse } from "../../base/result.ts";
import { type Mount, mountTtl, narrowTtl } from "../../system/mount.ts";
import { decodeStoredId } from "../../token/ids.ts";
import { addressAllowed } from "../../token/rules/bound-cidrs.ts";
import { fieldSchema, type Values } from "../../wire/field-schema.ts";
import { text } from "../../wire/fields.ts";
import { loginRoutes } from "../login-routes.ts";
import { appRoleAuthAt, type NamedRole } from "./app-role-auth.ts";
import { type AppRole, MAX_ROLE_ID } from "./role.ts";
import { roleWithId } from "./role-copies.ts";
import { MAX_SECRET_ID, type SecretId } from "./secret-id.ts";
import { placeOfSecretId, secretIdShardAt, shardOfAccessor } from "./secret-id-shards.ts";
import { excludingList, tokenNetworks } from "./secret-id-use.ts";
import type { TokenOfUse } from "./token-parents.ts";

/** Descriptions of the checks of a login. */
export const APPROLE_CHECKS = {
  role: "The role exists.",
  form: "A secret-id was sent, if the role needs one.",
  address: "The client's address is in a network that the role is bound to.",
  secret_id: "The secret-id is one of the role, has not ended and has a use left.",
  secret_id_address: "The client's address is in a network that the secret-id is bound to.",
  ...LAST_CHECKS,
} as const;

type Attempt = LoginAttempt<keyof typeof APPROLE_CHECKS>;

/** What a client presents. An explanation can name the secret-id by its accessor. */
interface Credentials {
  readonly roleId: string;
  /** "" without one. */
  readonly secretId: string;
  readonly accessor: string | null;
}

/**
 * One message for an unknown role-id and a wrong secret-id, as in the reference. It hides no role: a login without a
 * secret-id is answered otherwise where the role needs one. A role-id is no secret.
 */
const WRONG = invalid("invalid role or secret ID");
const WRONG_NETWORK = "source address unauthorized through CIDR restrictions on the";

/**
 * Makes the checks of a login. The check of the secret-id is the last one, since it counts a use: no other check here
 * costs one. The last checks of all methods (`issueToken`) come after it. So a login of a disabled entity costs a use,
 * as in the reference: a client without a secret-id must not learn the state of an entity. An explanation makes all
 * checks, and counts no use.
 */
async function verifyClient(attempt: Attempt, credentials: Credentials): Promise<Result<VerifiedClient>> {
  const { env, mount, clientAddress, notes, checks } = attempt;
  const { roleId } = credentials;
  if (roleId === "") return checks.record("role", {}, refuse("missing role_id"));
  const named = roleId.length > MAX_ROLE_ID ? null : await roleWithId(env, mount, roleId);
  const found = checks.record("role", { actual: named?.name ?? null }, orWrong(named));
  if (!found.ok) return found;
  const { name, role } = found.value;
  notes.role = name;
  notes.roleExists = true;
  const form = role.bindSecretId ? checks.record("form", {}, formOf(credentials)) : ok(null);
  const address = checks.record("address", { bound: role.boundCidrs, actual: clientAddress }, networkOf(role, attempt));
  if (!form.ok) return form;
  if (!address.ok && !checks.goesOn) return address;
  const verified = role.bindSecretId ? await verifySecretId(attempt, found.value, credentials) : ok(null);
  if (!verified.ok) return verified;
  if (!address.ok) return address;
  const { secretId = null, parent = null, networks: boundCidrs = role.token.boundCidrs } = verified.value ?? {};
  const bound = bindAddress({ ...role.token, boundCidrs }, clientAddress);
  if (!bound.ok) return checks.record("address", { bound: boundCidrs, actual: clientAddress }, bound);
  const metadata = { ...secretId?.metadata, role_name: name };
  const ending = role.tokenEndsWithSecretId ? secretId : null;
  return ok({
    alias: { name: role.roleId, metadata, groups: [] },
    token: {
      ...tokenTerms(role.token, bound.value),
      displayName: "",
      metadata,
      internal: { role: name, role_key: role.id },
      ...(ending && ending.expiresAt !== null && { endsBy: ending.expiresAt }),
    },
    ...(ending && { parent: parentFinder(attempt, found.value, ending.accessor, parent) }),
  });
}

/** Finds the parent of the tokens of a secret-id. @param known its accessor, if there is one already. */
function parentFinder(
  { env, installation, mount }: Attempt,
  { name, role }: NamedRole,
  accessor: string,
  known: string | null,
): ParentOfLogin {
  return async (again) => {
    const shard = shardOfAccessor(accessor);
    if (shard === null) return { ok: false, error: WRONG };
    const at = again || known === null ? null : decodeStoredId(known);
    if (at) return ok(at);
    const { path, uuid, config } = mount;
    const wanted = {
      mount: { path, uuid },
      name,
      location: config.locationHint,
      watermark: installation.watermarks.newest,
    };
    const found = await secretIdShardAt(env, mount, shard).parentOf(role.id, accessor, wanted);
    if (!found.ok) return found;
    return orWrong(found.value === null ? null : decodeStoredId(found.value));
  };
}

function formOf({ secretId, accessor }: Credentials): Result<null> {
  if (secretId === "" && accessor === null) return refuse("missing secret_id");
  return secretId.length > MAX_SECRET_ID ? { ok: false, error: WRONG } : ok(null);
}

/** Checks the networks of the role. Those of its tokens are left out if a secret-id can have others. */
function networkOf({ boundCidrs, bindSecretId, token }: NamedRole["role"], { clientAddress }: Attempt): Result<null> {
  if (!addressAllowed(boundCidrs, clientAddress)) return refuse(`${WRONG_NETWORK} role`);
  const bound = bindAddress({ ...token, boundCidrs: bindSecretId ? [] : token.boundCidrs }, clientAddress);
  return bound.ok ? ok(null) : bound;
}

/** A secret-id that is good for a login. */
interface VerifiedSecretId {
  readonly secretId: SecretId;
  /** The networks of its tokens; empty: any. */
  readonly networks: readonly string[];
  /** Accessor of the parent of its tokens, if there is one. */
  readonly parent: string | null;
}

async function verifySecretId(
  attempt: Attempt,
  named: NamedRole,
  credentials: Credentials,
): Promise<Result<VerifiedSecretId>> {
  const { checks, clientAddress, notes } = attempt;
  const read = await readSecretId(attempt, named, credentials);
  if (!read.ok) return read;
  const { tokenCidrs, used } = read.value;
  const { secretId, excludedBy } = used;
  const actual = secretId?.accessor ?? null;
  const found = checks.record("secret_id", { actual }, orWrong(secretId));
  if (!found.ok) return found;
  // A login that is refused from here on names it, too: its sender has the secret-id.
  notes.principal = found.value.accessor;
  notes.secretId = found.value.accessor;
  const { value } = found;
  const networks = tokenNetworks(value, tokenCidrs);
  const bound = excludedBy === "token_bound_cidrs" ? (networks ?? []) : value.cidrs;
  return checks.record("secret_id_address", { bound, actual: clientAddress }, admit());

  function admit(): Result<VerifiedSecretId> {
    if (excludedBy === "cidr_list") return refuse(`${WRONG_NETWORK} secret ID`);
    if (networks === null) return refuse("token_bound_cidrs of the secret ID are outside of those of the role");
    if (excludedBy !== null) return refuse(`${WRONG_NETWORK} token of the secret ID`);
    return ok({ secretId: value, networks, parent: used.parent });
  }
}

/** Uses the secret-id of a login. Only reads that of an explanation. */
async function readSecretId(attempt: Attempt, { role }: NamedRole, { secretId, accessor }: Credentials) {
  const { env, installation, mount, clientAddress, checks } = attempt;
  const now = currentTime();
  const tokenCidrs = role.token.boundCidrs;
  const client = { address: clientAddress, tokenCidrs };
  const judged = (found: SecretId | null) => {
    const excludedBy = found && excludingList(found, client);
    return ok({ tokenCidrs, used: { secretId: found, excludedBy, parent: null } });
  };
  if (accessor !== null) {
    const shard = shardOfAccessor(accessor);
    const found = shard === null ? null : secretIdShardAt(env, mount, shard).findByAccessor(role.id, accessor, now);
    return judged(await found);
  }
  const { shard, hash } = await placeOfSecretId(installation.keys, mount, role, secretId);
  const object = secretIdShardAt(env, mount, shard);
  if (checks.goesOn) return judged(await object.find(role.id, hash, now));
  const { answer: used, isRepetition } = await attempted(env, (again) =>
    object.use(role.id, hash, client, now, tokenOfUse(mount, role), again),
  );
  return isRepetition && !used.secretId && !used.isUnused ? err(LOST) : ok({ tokenCidrs, used });
}

function tokenOfUse(mount: Mount, { tokenEndsWithSecretId = false, token }: AppRole): TokenOfUse {
  const { maxSeconds } = narrowTtl(mountTtl(mount), token.maxTtl);
  return { endsWithSecretId: tokenEndsWithSecretId, lasts: maxSeconds * 1000 };
}

function orWrong<T>(value: T | null): Result<T> {
  return value === null ? { ok: false, error: WRONG } : ok(value);
}

const LOGIN_FIELDS = fieldSchema({
  role_id: text().describe("The id of the role"),
  secret_id: text().describe("The secret-id, unless the role needs none"),
});

const EXPLAIN_FIELDS = fieldSchema({
  ...LOGIN_FIELDS.shape,
  secret_id_accessor: text().describe("The accessor of a secret-id, in the place of one"),
  ...EXPLAINED_ADDRESS,
});

function readExplained(fields: Values<typeof EXPLAIN_FIELDS>): Result<Credentials> {
  const { secret_id: secretId, secret_id_accessor: accessor } = fields;
  if (secretId !== "" && accessor !== "") return refuse("supply a secret_id or its accessor, not both");
  return ok({ ...credentialsOf(fields), accessor: accessor === "" ? null : accessor });
}

function credentialsOf({ role_id: roleId, secret_id: secretId }: Values<typeof LOGIN_FIELDS>): Credentials {
  return { roleId: roleId.trim(), secretId: secretId.trim(), accessor: null };
}

export const APP_ROLE_LOGIN_ROUTES: readonly Route[] = loginRoutes({
  summary: "Gives a token for a role-id and a secret-id.",
  checks: APPROLE_CHECKS,
  fields: LOGIN_FIELDS,
  explainFields: EXPLAIN_FIELDS,
  read: credentialsOf,
  readExplained,
  verify: verifyClient,
  proofs: ["secret_id"],
  lastChecks: ["entity", "token"],
  objectAt: appRoleAuthAt,
});
