import { Api } from "../api.ts";
import { type Answer, done, failed } from "../result.ts";
import type { Credential } from "./credential.ts";

/** The token that a credential is exchanged for. */
export function tokenOf(credential: Credential): Promise<Answer<string>> {
  switch (credential.kind) {
    case "token":
      return Promise.resolve(done(credential.token));
    case "wrapping token":
      return unwrap(credential.token);
    case "login":
      return logIn(credential.path, credential.fields);
  }
}

async function unwrap(token: string): Promise<Answer<string>> {
  const answer = await new Api(token).call<{ readonly token?: string } | null>("sys/wrapping/unwrap", { body: {} });
  if (!answer.ok) return answer;
  const inner = answer.value.auth?.client_token ?? answer.value.data?.token;
  if (typeof inner === "string" && inner !== "") return done(inner);
  return failed({ status: 0, messages: ["What was wrapped is no token. It is used up now."], requestId: "" });
}

async function logIn(path: string, fields: Readonly<Record<string, string>>): Promise<Answer<string>> {
  const answer = await new Api("").call(path, { body: fields });
  return answer.ok ? done(answer.value.auth?.client_token ?? "") : answer;
}
