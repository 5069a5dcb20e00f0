import { documentOf } from "../../../test/support/cloud-login.ts";
import { ACCOUNT, REGION } from "../../servers/cloud.ts";
import { LOGIN_ROLE } from "../environment.ts";
import { type Action, ending } from "../writer.ts";

const logIn: Action = async (writer) => {
  const { cloud, signer } = writer.environment;
  const instance = cloud.world.addInstance(ACCOUNT, REGION);
  const { pkcs7 } = signer.sign(documentOf(instance));
  try {
    const answer = await writer.ask("POST", "v1/auth/cloud/login", { role: LOGIN_ROLE, pkcs7 }, { token: "" });
    writer.madeToken("login token", answer, null);
    writer.made("access-list entry", instance.id, null);
  } finally {
    // It does not log in again, and a list that only grows would slow the fake cloud down.
    cloud.world.instances.splice(cloud.world.instances.indexOf(instance), 1);
  }
};

const logOut = ending("login token", (writer, { id }) => {
  return writer.ask("POST", "v1/auth/token/revoke-self", {}, { token: id });
});

const forget = ending("access-list entry", (writer, { id }) => {
  return writer.ask("DELETE", `v1/auth/cloud/identity-accesslist/${id}`);
});

/** Logins of instances by their signed document, and the end of their tokens and of what is remembered of them. */
export const LOGIN_ACTIONS: readonly Action[] = [logIn, logIn, logOut, forget];
