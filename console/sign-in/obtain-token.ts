import { Api } from "../api.ts";
import { type Answer, done } from "../result.ts";
import type { Credential } from "./credential.ts";
import { type GivenToken, unwrappedToken } from "./unwrapped-token.ts";

/** Exchanges a credential for a token. */
export function tokenOf(credential: Credential): Promise<Answer<GivenToken>> {
  switch (credential.kind) {
    case "token":
      return Promise.resolve(done({ token: credential.token, isOwn: false }));
    case "wrapping token":
      return unwrap(credential.token);
    case "login":
      return logIn(credential.path, credential.fields);
  }
}

async function unwrap(token: string): Promise<Answer<GivenToken>> {
  const answer = await new Api(token).call<{ readonly token?: unknown } | null>("sys/wrapping/unwrap", { body: {} });
  return answer.ok ? unwrappedToken(answer.value) : answer;
}

async function logIn(path: string, fields: Readonly<Record<string, string>>): Promise<Answer<GivenToken>> {
  const answer = await new Api("").call(path, { body: fields });
  return answer.ok ? done({ token: answer.value.auth?.client_token ?? "", isOwn: true }) : answer;
}
