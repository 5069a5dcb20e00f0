import { BATCH_CREATOR_POLICY } from "../environment.ts";
import type { Entry } from "../ledger.ts";
import { type Action, ending, type Writer } from "../writer.ts";

const FIELDS = { ttl: "24h", policies: ["root"] };

/** Minimum number of tokens of a role before they are revoked together. */
const MIN_ROLE_TOKENS = 8;

async function create(writer: Writer, parent: Entry | null): Promise<void> {
  const path = `v1/auth/token/${parent ? "create" : "create-orphan"}`;
  writer.madeToken("token", await writer.ask("POST", path, FIELDS, parent ? { token: parent.id } : {}), parent);
}

const revoke = ending("token", (writer, { id }) => writer.ask("POST", "v1/auth/token/revoke", { token: id }));

const revokeOrphan = ending(
  "token",
  (writer, { id }) => writer.ask("POST", "v1/auth/token/revoke-orphan", { token: id }),
  { alone: true },
);

/** Creates an orphan by a role. The tokens of a role share a path prefix but are in different trees. */
const createByRole: Action = async (writer) => {
  writer.role ??= await writeRole(writer);
  const answer = await writer.ask("POST", `v1/auth/token/create/${writer.role}`, FIELDS);
  writer.madeToken("role token", answer, null);
};

async function writeRole(writer: Writer): Promise<string> {
  const name = writer.newName();
  await writer.ask("POST", `v1/auth/token/roles/${name}`, { orphan: true, allowed_policies: "root" });
  return name;
}

/** Revokes all tokens of a role by their path prefix. The revocation reads every shard. */
const revokeRole: Action = async (writer) => {
  const tokens = writer.living("role token");
  if (tokens.length < MIN_ROLE_TOKENS || writer.role === null) return;
  const path = `v1/sys/leases/revoke-prefix/auth/token/create/${writer.role}`;
  // The revocation may or may not include a token that is created meanwhile, so later tokens use a new role.
  writer.role = null;
  await writer.end(tokens, () => writer.ask("POST", path, { sync: false }), { promised: true });
};

/**
 * Creates a token in a new tree and a batch token below it, then revokes the token.
 * A later token may reuse the tree, where the batch token must stay invalid.
 */
const createAndRevoke: Action = async (writer) => {
  const fields = { ttl: "24h", policies: [BATCH_CREATOR_POLICY] };
  const token = writer.madeToken(
    "short-lived token",
    await writer.ask("POST", "v1/auth/token/create-orphan", fields),
    null,
  );
  const made = await writer.ask("POST", "v1/auth/token/create", { type: "batch", ttl: "24h" }, { token: token.id });
  writer.madeToken("batch token", made, token);
  await writer.end([token], () => writer.ask("POST", "v1/auth/token/revoke", { token: token.id }));
};

/** Creations and revocations of tokens. */
export const TOKEN_ACTIONS: readonly [Action, ...Action[]] = [
  (writer) => create(writer, writer.kept.maker),
  (writer) => create(writer, writer.pick("token") ?? writer.kept.maker),
  (writer) => create(writer, null),
  revoke,
  revoke,
  revokeOrphan,
  createByRole,
  createByRole,
  revokeRole,
  createAndRevoke,
  createAndRevoke,
];
