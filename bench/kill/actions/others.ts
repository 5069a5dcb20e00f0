import { documentOf } from "../../../test/support/cloud-login.ts";
import { TEAMS, text } from "../../servers/client.ts";
import { ACCOUNT, REGION } from "../../servers/cloud.ts";
import { LOGIN_ROLE, ORGANIZATION, TARGET_KINDS } from "../environment.ts";
import { type Action, ending } from "../writer.ts";

const WRAP = { headers: { "X-Vault-Wrap-TTL": "24h" } };

const writePolicy: Action = async (writer) => {
  const name = writer.newName();
  const policy = 'path "secret/*" { capabilities = ["read"] }';
  await writer.ask("PUT", `v1/sys/policies/acl/${name}`, { policy });
  writer.made("policy", name, null);
};

const deletePolicy = ending("policy", (writer, { id }) => writer.ask("DELETE", `v1/sys/policies/acl/${id}`));

const wrap: Action = async (writer) => {
  const answer = await writer.ask("POST", "v1/sys/wrapping/wrap", { by: writer.name }, WRAP);
  writer.made("wrapped answer", text(answer, "wrap_info", "token"), null);
};

const unwrap = ending("wrapped answer", (writer, { id }) => {
  return writer.ask("POST", "v1/sys/wrapping/unwrap", { token: id });
});

/** Moves a wrapped answer to a new wrapping token. */
const rewrap: Action = async (writer) => {
  const wrapped = writer.pick("wrapped answer");
  if (!wrapped) return;
  const answer = await writer.end([wrapped], () => {
    return writer.ask("POST", "v1/sys/wrapping/rewrap", { token: wrapped.id });
  });
  writer.made("wrapped answer", text(answer, "wrap_info", "token"), null);
};

/** Starts a tidy run. It must not remove anything that is alive. */
const tidy: Action = async (writer) => {
  await writer.ask("POST", "v1/auth/token/tidy", {});
};

/** Policies, wrapped answers and tidy. */
export const OTHER_ACTIONS: readonly Action[] = [writePolicy, deletePolicy, wrap, unwrap, rewrap, tidy];

const logIn: Action = async (writer) => {
  const { cloud, signer } = writer.environment;
  const instance = cloud.world.addInstance(ACCOUNT, REGION);
  const { pkcs7 } = signer.sign(documentOf(instance));
  try {
    const answer = await writer.ask("POST", "v1/auth/cloud/login", { role: LOGIN_ROLE, pkcs7 }, { token: "" });
    writer.madeToken("login token", answer, null);
    writer.made("access-list entry", instance.id, null);
  } finally {
    // The instance does not log in again. A growing list of instances would slow down the fake cloud.
    cloud.world.instances.splice(cloud.world.instances.indexOf(instance), 1);
  }
};

const logOut = ending("login token", (writer, { id }) => {
  return writer.ask("POST", "v1/auth/token/revoke-self", {}, { token: id });
});

const deleteAccessListEntry = ending("access-list entry", (writer, { id }) => {
  return writer.ask("DELETE", `v1/auth/cloud/identity-accesslist/${id}`);
});

/** Logins of instances by signed document, and deletion of their tokens and access-list entries. */
export const LOGIN_ACTIONS: readonly Action[] = [logIn, logIn, logOut, deleteAccessListEntry];

const create: Action = async (writer) => {
  const body = { data: { type: "teams", attributes: { name: writer.newName() } } };
  const answer = await writer.ask("POST", `${TEAMS}/organizations/${ORGANIZATION}/teams`, body);
  writer.made("team", text(answer, "data", "id"), null);
};

/** Replaces the token of a team. */
const generate: Action = async (writer) => {
  const team = writer.pick("team");
  if (!team) return;
  const previous = writer.living("team token").filter(({ parent }) => parent === team);
  const body = { data: { type: "authentication-tokens", attributes: {} } };
  const path = `${TEAMS}/teams/${team.id}/authentication-token`;
  const answer = await writer.end(previous, () => writer.ask("POST", path, body));
  writer.made("team token", text(answer, "data", "attributes", "token"), team);
};

const removeToken = ending("team token", (writer, { parent }) => {
  return writer.ask("DELETE", `${TEAMS}/teams/${parent?.id}/authentication-token`);
});

const removeTeam = ending("team", (writer, { id }) => writer.ask("DELETE", `${TEAMS}/teams/${id}`));

/** Creation and deletion of teams and of their tokens. A team has at most one token. */
export const TEAM_ACTIONS: readonly Action[] = [create, generate, generate, removeToken, removeTeam];

/**
 * Path prefix of leases, followed by the ledger number of the token that holds the lease.
 * The path identifies the holder even if the registration was not answered.
 */
export const LEASE_FOLDER = "kill/t";

/** One in this many leases has a target that refuses the first request, and one has a target that always refuses. */
const TARGET_VARIANTS = 12;

const register: Action = async (writer) => {
  const holder = writer.pick("token");
  if (!holder || writer.prefixRevoked.has(holder)) return;
  const targetKind = TARGET_KINDS[writer.choices.below(TARGET_VARIANTS)] ?? "willing";
  const answer = await writer.ask("POST", "v1/sys/leases/register", {
    token: holder.id,
    path: `${LEASE_FOLDER}${holder.number}`,
    ttl: "24h",
    target: writer.environment.engine.target(targetKind),
    data: { user: writer.name },
  });
  writer.made("lease", text(answer, "lease_id"), holder);
};

const revoke = ending("lease", (writer, { id }) => {
  return writer.ask("POST", "v1/sys/leases/revoke", { lease_id: id, sync: false });
});

/** Revokes all leases of one token by prefix. The revocation continues in the background after the answer. */
const revokeBelow: Action = async (writer) => {
  const holder = writer.pick("lease")?.parent;
  if (!holder) return;
  writer.prefixRevoked.add(holder);
  const leases = writer.living("lease").filter((lease) => lease.parent === holder);
  const path = `v1/sys/leases/revoke-prefix/${LEASE_FOLDER}${holder.number}`;
  await writer.end(leases, () => writer.ask("POST", path, { sync: false }), { promised: true });
};

/** Registration of leases, and their revocation individually and by prefix. */
export const LEASE_ACTIONS: readonly Action[] = [register, register, revoke, revokeBelow];
