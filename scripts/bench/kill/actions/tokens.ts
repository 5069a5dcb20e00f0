import { text } from "../client.ts";
import type { Entry } from "../ledger.ts";
import type { Action, WriterClient } from "../writer-client.ts";

const FIELDS = { ttl: "24h", policies: ["root"] };

/** The policy of tokens that make batch tokens. */
export const PASSING_POLICY = "passing";

/** Tokens of a role that are worth a walk. */
const MANY = 8;

/** Creations and revocations of tokens, of all shapes. */
export const TOKEN_ACTIONS: readonly Action[] = [
  (writer) => create(writer, writer.kept.maker),
  (writer) => create(writer, writer.pick("token") ?? writer.kept.maker),
  (writer) => create(writer, null),
  (writer) => revoke(writer, "revoke", false),
  (writer) => revoke(writer, "revoke", false),
  (writer) => revoke(writer, "revoke-orphan", true),
  createByRole,
  createByRole,
  revokeRole,
  pass,
  pass,
];

async function create(writer: WriterClient, parent: Entry | null): Promise<boolean> {
  const path = `v1/auth/token/${parent ? "create" : "create-orphan"}`;
  const answer = await writer.ask("POST", path, FIELDS, parent ? { token: parent.id } : {});
  if (!answer) return false;
  writer.made("token", text(answer, "auth", "client_token"), parent, text(answer, "auth", "accessor"));
  return true;
}

async function revoke(writer: WriterClient, endpoint: string, alone: boolean): Promise<boolean> {
  const token = writer.pick("token");
  if (!token) return true;
  return writer.end([token], () => writer.ask("POST", `v1/auth/token/${endpoint}`, { token: token.id }), { alone });
}

/** An orphan of a role, so that the tokens of one path are in many trees. */
async function createByRole(writer: WriterClient): Promise<boolean> {
  writer.role ??= await writeRole(writer);
  if (writer.role === null) return false;
  const answer = await writer.ask("POST", `v1/auth/token/create/${writer.role}`, FIELDS);
  if (!answer) return false;
  writer.made("role token", text(answer, "auth", "client_token"), null, text(answer, "auth", "accessor"));
  return true;
}

/** A token of a tree of its own that ends at once, with what hangs on it: its tree is taken again by one that is made later. */
async function pass(writer: WriterClient): Promise<boolean> {
  const fields = { ttl: "24h", policies: [PASSING_POLICY] };
  const answer = await writer.ask("POST", "v1/auth/token/create-orphan", fields);
  if (!answer) return false;
  const token = writer.made(
    "passing token",
    text(answer, "auth", "client_token"),
    null,
    text(answer, "auth", "accessor"),
  );
  const batch = await writer.ask("POST", "v1/auth/token/create", { type: "batch", ttl: "24h" }, { token: token.id });
  if (!batch) return false;
  writer.made("batch token", text(batch, "auth", "client_token"), token);
  return writer.end([token], () => writer.ask("POST", "v1/auth/token/revoke", { token: token.id }));
}

async function writeRole(writer: WriterClient): Promise<string | null> {
  const name = writer.newName();
  const fields = { orphan: true, allowed_policies: "root" };
  return (await writer.ask("POST", `v1/auth/token/roles/${name}`, fields)) ? name : null;
}

/** All tokens of a role at once, by the path that made them: a walk through every shard. */
async function revokeRole(writer: WriterClient): Promise<boolean> {
  const tokens = writer.living("role token");
  if (tokens.length < MANY || writer.role === null) return true;
  const path = `v1/sys/leases/revoke-prefix/auth/token/create/${writer.role}`;
  // A token that is made while the walk goes on may or may not be met: the next ones have another path.
  writer.role = null;
  return writer.end(tokens, () => writer.ask("POST", path, { sync: false }), { promised: true });
}
