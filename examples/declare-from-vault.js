/**
 * Prints the settings of a Vault, OpenBao or Grove server as a declaration for `grove apply` (docs/moving-from-vault.md):
 * policies, auth methods with their configuration and roles, token roles, entities and groups. Only reads:
 *
 *   node declare-from-vault.js [policies] [auth] [identity] > moved.json     # all three unless some are named
 *
 * VAULT_ADDR and VAULT_TOKEN are those of the server that is read; VAULT_NAMESPACE may name one of its namespaces. Settings
 * that the declaration leaves out are listed on standard error.
 */
const { VAULT_ADDR: address = "", VAULT_NAMESPACE: namespace = "" } = process.env;
const token = (process.env.VAULT_TOKEN ?? "").trim();
const KINDS = ["policies", "auth", "identity"];
/** Types that Grove has, with the paths of their configuration. */
const CONFIGS = {
  approle: [],
  jwt: ["config"],
  oidc: ["config"],
  kubernetes: ["config"],
  aws: ["config/client", "config/identity"],
};
/** Secret fields, which no server answers. */
const SECRETS = { oidc: "oidc_client_secret", kubernetes: "token_reviewer_jwt", aws: "secret_key" };
const TUNED = ["default_lease_ttl", "max_lease_ttl", "token_type", "listing_visibility"];

/** Names of the other server could control a terminal. */
const say = (line) => console.error(line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{fffd}"));
const encoded = (path) => path.split("/").map(encodeURIComponent).join("/");

/** The `data` of an answer; null for 404. */
async function read(path, query = "") {
  const headers = { "X-Vault-Token": token, ...(namespace !== "" && { "X-Vault-Namespace": namespace }) };
  const response = await fetch(`${address}/v1/${encoded(path)}${query}`, { headers, redirect: "error" });
  if (response.status === 404) return null;
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body.data ?? body;
  throw new Error(`GET ${path}: ${response.status} ${(body.errors ?? []).join("; ")}`);
}

/** The names at a path. A group may be named `../..`, and its address would be that of something else. */
async function list(path) {
  const names = (await read(path, "?list=true"))?.keys ?? [];
  return names.filter((name) => {
    const isRelative = /(?:^|\/)\.\.?(?:\/|$)/.test(name);
    if (isRelative) say(`${path}/${name}: left out, no address leads to it`);
    return !isRelative;
  });
}

/** False for the empty value of a field that is not set. A boolean counts as set: its default may be true. */
const isSet = (value) =>
  typeof value === "object" ? value !== null && Object.keys(value).length > 0 : value !== "" && value !== 0;

/** The fields of a record that are set, without old names beside new ones (`period` beside `token_period`). */
function settingsOf(record, without = []) {
  const isMoved = (name) => !without.includes(name) && !(`token_${name}` in record);
  return Object.fromEntries(Object.entries(record).filter(([name, value]) => isSet(value) && isMoved(name)));
}

/**
 * True when `grove apply` would read a part of the value from a file or the environment of its user. Metadata and claims can be
 * written by others: so they would get a secret of that user.
 */
const isReference = (value) =>
  typeof value === "object" &&
  value !== null &&
  ("eval_source" in value || "eval_type" in value || Object.values(value).some(isReference));

const requests = {};
function declare(path, data) {
  if (isReference(Object.values(data))) {
    say(
      `${path}: left out, grove apply would read a part of it from a file or the environment (eval_source, eval_type)`,
    );
    return;
  }
  requests[`r${Object.keys(requests).length + 1}`] = { operation: "update", path, data };
}

async function policies() {
  for (const name of (await list("sys/policies/acl")).filter((known) => known !== "root")) {
    const { policy, expiration = null } = await read(`sys/policies/acl/${name}`);
    // Declared without its expiration, a policy would grant its rights for longer.
    if (expiration && Date.parse(expiration) <= Date.now()) say(`sys/policies/acl/${name}: left out, it has expired`);
    else declare(`sys/policies/acl/${name}`, { policy, ...settingsOf({ expiration }) });
  }
}

async function auth() {
  for (const role of await list("auth/token/roles"))
    declare(`auth/token/roles/${role}`, settingsOf(await read(`auth/token/roles/${role}`), ["name"]));
  for (const [path, { type, description, config = {} }] of Object.entries(await read("sys/auth"))) {
    const at = `auth/${path.replace(/\/$/, "")}`;
    if (type === "token" || type === "ns_token") continue;
    if (!(type in CONFIGS)) {
      say(`${at}: left out, Grove has no method of the type ${type}`);
      continue;
    }
    const tuned = settingsOf(Object.fromEntries(TUNED.map((name) => [name, config[name] ?? null])));
    declare(`sys/${at}`, { type, ...settingsOf({ description, config: tuned }) });
    for (const name of CONFIGS[type]) {
      const settings = await read(`${at}/${name}`);
      if (settings) declare(`${at}/${name}`, settingsOf(settings));
      if (settings && name !== "config/identity" && type in SECRETS)
        say(`${at}/${name}: no server shows ${SECRETS[type]}; write it into the file if it is used`);
    }
    if (type === "aws") say(`${at}: config/sts and config/certificate, of each account, are not in the file`);
    for (const role of await list(`${at}/role`)) {
      declare(`${at}/role/${role}`, settingsOf(await read(`${at}/role/${role}`), ["role_id", "name"]));
      if (type === "approle") declare(`${at}/role/${role}/role-id`, await read(`${at}/role/${role}/role-id`));
    }
  }
}

async function identity() {
  for (const kind of ["entity", "group"]) {
    for (const name of await list(`identity/${kind}/name`)) {
      const { policies, metadata, disabled, type } = await read(`identity/${kind}/name/${name}`);
      declare(`identity/${kind}/name/${name}`, settingsOf({ policies, metadata, type, ...(disabled && { disabled }) }));
    }
  }
  say("identity: aliases of entities and members of groups have ids of their server, and are not in the file");
}

/**
 * False when the token or the address can't be sent: fetch would refuse it with a message that repeats the token or the
 * password.
 */
const canBeSent = () => /^[\x21-\x7e]+$/.test(token) && /^https?:\/\/[^@\s]+$/.test(address) && URL.canParse(address);

const named = process.argv.slice(2);
if (!canBeSent() || named.some((kind) => !KINDS.includes(kind))) {
  say("usage: VAULT_ADDR=… VAULT_TOKEN=… node declare-from-vault.js [policies] [auth] [identity] > moved.json");
  process.exit(2);
}
try {
  const wanted = named.length === 0 ? KINDS : named;
  for (const kind of wanted) await { policies, auth, identity }[kind]();
  console.log(JSON.stringify({ initialize: { moved: { request: requests } } }, null, 2));
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
