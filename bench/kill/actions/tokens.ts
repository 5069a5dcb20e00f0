import { PASSING_POLICY } from "../environment.ts";
import type { Entry } from "../ledger.ts";
import { type Action, ending, type Writer } from "../writer.ts";

const FIELDS = { ttl: "24h", policies: ["root"] };

/** Least number of tokens of a role before they are revoked together. */
const MANY = 8;

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

/** An orphan of a role, so that the tokens of one path are in many trees. */
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

/** All tokens of a role at once, by the path that made them: a walk through every shard. */
const revokeRole: Action = async (writer) => {
  const tokens = writer.living("role token");
  if (tokens.length < MANY || writer.role === null) return;
  const path = `v1/sys/leases/revoke-prefix/auth/token/create/${writer.role}`;
  // The walk may or may not meet a token that is made now, so later tokens get another path.
  writer.role = null;
  await writer.end(tokens, () => writer.ask("POST", path, { sync: false }), { promised: true });
};

/** A token in its own tree, with a batch token below it, that ends at once: a later token may get its tree. */
const pass: Action = async (writer) => {
  const fields = { ttl: "24h", policies: [PASSING_POLICY] };
  const token = writer.madeToken(
    "passing token",
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
  pass,
  pass,
];
