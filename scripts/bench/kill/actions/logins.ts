import { documentOf } from "../../../../test/support/cloud-login.ts";
import { text } from "../client.ts";
import type { Action, Hand } from "../hand.ts";
import { ACCOUNT, LOGIN_ROLE, REGION } from "../world.ts";

/** Logins of instances by their signed document, and the end of their tokens and of what is remembered of them. */
export const LOGIN_ACTIONS: readonly Action[] = [logIn, logIn, logOut, forget];

async function logIn(hand: Hand): Promise<boolean> {
  const { cloud, signer } = hand.world;
  const instance = cloud.world.addInstance(ACCOUNT, REGION);
  const { pkcs7 } = signer.sign(documentOf(instance));
  const answer = await hand.ask("POST", "v1/auth/cloud/login", { role: LOGIN_ROLE, pkcs7 }, { token: "" });
  // It does not log in again, and a list that only grows would slow the fake cloud down.
  cloud.world.instances.splice(cloud.world.instances.indexOf(instance), 1);
  if (!answer) return false;
  hand.made("login token", text(answer, "auth", "client_token"), null, text(answer, "auth", "accessor"));
  hand.made("access-list entry", instance.id, null);
  return true;
}

async function logOut(hand: Hand): Promise<boolean> {
  const token = hand.pick("login token");
  if (!token) return true;
  return hand.end([token], () => hand.ask("POST", "v1/auth/token/revoke-self", {}, { token: token.id }));
}

async function forget(hand: Hand): Promise<boolean> {
  const entry = hand.pick("access-list entry");
  if (!entry) return true;
  return hand.end([entry], () => hand.ask("DELETE", `v1/auth/cloud/identity-accesslist/${entry.id}`));
}
