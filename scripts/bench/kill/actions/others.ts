import { text } from "../client.ts";
import type { Action, WriterClient } from "../writer-client.ts";

const WRAP = { headers: { "X-Vault-Wrap-TTL": "24h" } };

/** Policies that come and go, and wrapped answers, which can be taken once. */
export const OTHER_ACTIONS: readonly Action[] = [writePolicy, deletePolicy, wrap, unwrap, rewrap];

async function writePolicy(writer: WriterClient): Promise<boolean> {
  const name = writer.newName();
  const policy = 'path "secret/*" { capabilities = ["read"] }';
  if (!(await writer.ask("PUT", `v1/sys/policies/acl/${name}`, { policy }))) return false;
  writer.made("policy", name, null);
  return true;
}

async function deletePolicy(writer: WriterClient): Promise<boolean> {
  const policy = writer.pick("policy");
  if (!policy) return true;
  return writer.end([policy], () => writer.ask("DELETE", `v1/sys/policies/acl/${policy.id}`));
}

async function wrap(writer: WriterClient): Promise<boolean> {
  const answer = await writer.ask("POST", "v1/sys/wrapping/wrap", { by: writer.name }, WRAP);
  if (!answer) return false;
  writer.made("wrapped answer", text(answer, "wrap_info", "token"), null);
  return true;
}

async function unwrap(writer: WriterClient): Promise<boolean> {
  const wrapped = writer.pick("wrapped answer");
  if (!wrapped) return true;
  return writer.end([wrapped], () => writer.ask("POST", "v1/sys/wrapping/unwrap", { token: wrapped.id }));
}

/** The answer moves to another token. */
async function rewrap(writer: WriterClient): Promise<boolean> {
  const wrapped = writer.pick("wrapped answer");
  if (!wrapped) return true;
  let moved = "";
  const answered = await writer.end([wrapped], async () => {
    const answer = await writer.ask("POST", "v1/sys/wrapping/rewrap", { token: wrapped.id });
    if (answer) moved = text(answer, "wrap_info", "token");
    return answer;
  });
  if (answered) writer.made("wrapped answer", moved, null);
  return answered;
}
