import { documentOf } from "../../../../test/support/cloud-login.ts";
import { text } from "../client.ts";
import { ACCOUNT, LOGIN_ROLE, REGION } from "../fake-environment.ts";
import type { Action, WriterClient } from "../writer-client.ts";

/** Logins of instances by their signed document, and the end of their tokens and of what is remembered of them. */
export const LOGIN_ACTIONS: readonly Action[] = [logIn, logIn, logOut, forget];

async function logIn(writer: WriterClient): Promise<boolean> {
  const { cloud, signer } = writer.environment;
  const instance = cloud.world.addInstance(ACCOUNT, REGION);
  const { pkcs7 } = signer.sign(documentOf(instance));
  const answer = await writer.ask("POST", "v1/auth/cloud/login", { role: LOGIN_ROLE, pkcs7 }, { token: "" });
  // It does not log in again, and a list that only grows would slow the fake cloud down.
  cloud.world.instances.splice(cloud.world.instances.indexOf(instance), 1);
  if (!answer) return false;
  writer.made("login token", text(answer, "auth", "client_token"), null, text(answer, "auth", "accessor"));
  writer.made("access-list entry", instance.id, null);
  return true;
}

async function logOut(writer: WriterClient): Promise<boolean> {
  const token = writer.pick("login token");
  if (!token) return true;
  return writer.end([token], () => writer.ask("POST", "v1/auth/token/revoke-self", {}, { token: token.id }));
}

async function forget(writer: WriterClient): Promise<boolean> {
  const entry = writer.pick("access-list entry");
  if (!entry) return true;
  return writer.end([entry], () => writer.ask("DELETE", `v1/auth/cloud/identity-accesslist/${entry.id}`));
}
