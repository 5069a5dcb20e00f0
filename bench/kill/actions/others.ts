import { documentOf } from "../../../test/support/cloud-login.ts";
import { TEAMS, text } from "../../servers/client.ts";
import { ACCOUNT, REGION } from "../../servers/cloud.ts";
import { LOGIN_ROLE, ORGANIZATION, TEMPERS } from "../environment.ts";
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

/** Moves the wrapped answer to another token. */
const rewrap: Action = async (writer) => {
  const wrapped = writer.pick("wrapped answer");
  if (!wrapped) return;
  const answer = await writer.end([wrapped], () => {
    return writer.ask("POST", "v1/sys/wrapping/rewrap", { token: wrapped.id });
  });
  writer.made("wrapped answer", text(answer, "wrap_info", "token"), null);
};

/** Starts a run of tidy, which must remove nothing that is alive. */
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
    // It does not log in again; a growing list would slow the fake cloud down.
    cloud.world.instances.splice(cloud.world.instances.indexOf(instance), 1);
  }
};

const logOut = ending("login token", (writer, { id }) => {
  return writer.ask("POST", "v1/auth/token/revoke-self", {}, { token: id });
});

const forget = ending("access-list entry", (writer, { id }) => {
  return writer.ask("DELETE", `v1/auth/cloud/identity-accesslist/${id}`);
});

/** Logins of instances by signed document, and the end of their tokens and access-list entries. */
export const LOGIN_ACTIONS: readonly Action[] = [logIn, logIn, logOut, forget];

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

/** Teams, each with at most one token. */
export const TEAM_ACTIONS: readonly Action[] = [create, generate, generate, removeToken, removeTeam];

/**
 * The path of a token's leases, before the number of the token in the ledger. So the holder of a lease is known even when its
 * registration had no answer.
 */
export const LEASE_FOLDER = "kill/t";

/** Of this many leases one has a target that refuses at first, and one a target that always refuses. */
const ODD = 12;

const register: Action = async (writer) => {
  const holder = writer.pick("token");
  if (!holder || writer.walked.has(holder)) return;
  const temper = TEMPERS[writer.choices.below(ODD)] ?? "willing";
  const answer = await writer.ask("POST", "v1/sys/leases/register", {
    token: holder.id,
    path: `${LEASE_FOLDER}${holder.number}`,
    ttl: "24h",
    target: writer.environment.engine.target(temper),
    data: { user: writer.name },
  });
  writer.made("lease", text(answer, "lease_id"), holder);
};

const revoke = ending("lease", (writer, { id }) => {
  return writer.ask("POST", "v1/sys/leases/revoke", { lease_id: id, sync: false });
});

/** Revokes all leases of one holder by prefix, in a walk that continues after the answer. */
const revokeBelow: Action = async (writer) => {
  const holder = writer.pick("lease")?.parent;
  if (!holder) return;
  writer.walked.add(holder);
  const leases = writer.living("lease").filter((lease) => lease.parent === holder);
  const path = `v1/sys/leases/revoke-prefix/${LEASE_FOLDER}${holder.number}`;
  await writer.end(leases, () => writer.ask("POST", path, { sync: false }), { promised: true });
};

/** Leases, and their revocation alone and by prefix. */
export const LEASE_ACTIONS: readonly Action[] = [register, register, revoke, revokeBelow];
