import { type Client, member, send, TEAMS } from "./client.ts";
import type { Entry, Kind } from "./ledger.ts";

/** How the server is asked whether something is there. Undefined: an answer that says neither. */
type Probe = (root: Client, id: string) => Promise<boolean | undefined>;

const PROBES: Readonly<Record<Kind, Probe>> = {
  token: async ({ place }, id) => alive(await send({ place, token: id }, "GET", "v1/auth/token/lookup-self"), 403),
  "login token": (root, id) => PROBES.token(root, id),
  "role token": (root, id) => PROBES.token(root, id),
  "passing token": (root, id) => PROBES.token(root, id),
  "batch token": (root, id) => PROBES.token(root, id),
  async lease(root, id) {
    const answer = await send(root, "POST", "v1/sys/leases/lookup", { lease_id: id });
    // One that was given up is still shown, with the error.
    return alive(answer, 400) && member(answer.body, "data", "revoke_error") === undefined;
  },
  "wrapped answer": async (root, id) => alive(await send(root, "POST", "v1/sys/wrapping/lookup", { token: id }), 400),
  policy: async (root, id) => alive(await send(root, "GET", `v1/sys/policies/acl/${id}`), 404),
  team: async (root, id) => alive(await send(root, "GET", `${TEAMS}/teams/${id}`), 404),
  "team token": async ({ place }, id) =>
    alive(await send({ place, token: id }, "GET", `${TEAMS}/account/details`), 401),
  "access-list entry": async (root, id) =>
    alive(await send(root, "GET", `v1/auth/cloud/identity-accesslist/${id}`), 404),
};

/** Whether an entry is there now; undefined when the answer says neither. */
export function isThere(root: Client, { kind, id }: Entry): Promise<boolean | undefined> {
  return PROBES[kind](root, id);
}

function alive({ status }: { readonly status: number }, otherwise: number): boolean | undefined {
  return status === 200 ? true : status === otherwise ? false : undefined;
}
