import { text } from "../../servers/client.ts";
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

/** The answer moves to another token. */
const rewrap: Action = async (writer) => {
  const wrapped = writer.pick("wrapped answer");
  if (!wrapped) return;
  const answer = await writer.end([wrapped], () => {
    return writer.ask("POST", "v1/sys/wrapping/rewrap", { token: wrapped.id });
  });
  writer.made("wrapped answer", text(answer, "wrap_info", "token"), null);
};

/** Starts a run of tidy, unless one is under way. It must remove nothing that is alive. */
const tidy: Action = async (writer) => {
  await writer.ask("POST", "v1/auth/token/tidy", {});
};

/** Policies that come and go, wrapped answers, which can be taken once, and tidy. */
export const OTHER_ACTIONS: readonly Action[] = [writePolicy, deletePolicy, wrap, unwrap, rewrap, tidy];
