import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { untilInEffect } from "../../../src/system/in-effect.ts";
import { System } from "../../../src/system/system.ts";
import { failing, holdAlarms } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { issuingMount } from "../../support/logins.ts";
import { bindings, call, dataOf, exampleBindings, initialized } from "../../support/service.ts";
import { TIME_HEADER } from "../../support/time-header.ts";
import { holdWalks } from "../../support/walks.ts";

let root: string;

beforeAll(async () => {
  runAs(NETWORK);
  root = await initialized();
});
beforeEach(() => {
  clockThere = 0;
  holdAlarms();
  holdWalks();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
});
afterEach(() => {
  vi.useRealTimers();
});

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });

/** The difference (ms) of the clock of the other isolate. */
let clockThere = 0;

/** The status of a look-up of oneself in another isolate, which has its own copies. */
async function statusThere(token: string): Promise<number> {
  const headers = { "X-Vault-Token": token, [TIME_HEADER]: String(Date.now() + clockThere) };
  const answer = await exampleBindings.OTHER_ISOLATE.fetch("http://grove.test/v1/auth/token/lookup-self", { headers });
  await answer.body?.cancel();
  return answer.status;
}

/** A batch token of a role: the Worker alone decides about it, by its copy. */
async function batchOfRole(name: string, fields: Record<string, unknown> = {}): Promise<string> {
  await post(`auth/token/roles/${name}`, { orphan: true, token_type: "default-service", allowed_entity_aliases: "*" });
  const made = await post(`auth/token/create/${name}`, { type: "batch", policies: ["default"], ttl: "1h", ...fields });
  if (made.status !== 200) throw new Error(JSON.stringify(made.body));
  return made.body.auth.client_token;
}

/** A batch token of a mount of this name. */
async function batchOfMount(name: string): Promise<string> {
  await post(`sys/auth/${name}`, { type: "jwt" });
  return (await issuingMount(name, ["default"])).token("batch");
}

/** A batch token of an entity, and the entity's id. */
async function batchOfEntity(name: string) {
  const token = await batchOfRole("people", { entity_alias: name });
  const { entity_id: entity } = dataOf<{ entity_id: string }>(await call("GET", "auth/token/lookup-self", { token }));
  return { token, entity };
}

interface Ending {
  readonly token: string;
  readonly end: () => ReturnType<typeof call>;
  /** True when the request is refused if it is repeated. */
  readonly isOnce?: boolean;
}

type Way = readonly [what: string, status: number, make: (name: string) => Promise<Ending>];

const WAYS: readonly Way[] = [
  [
    "a revocation by prefix",
    204,
    async (name) => ({
      token: await batchOfRole(name),
      end: () => post(`sys/leases/revoke-prefix/auth/token/create/${name}`),
    }),
  ],
  [
    "a revocation by force",
    204,
    async (name) => ({
      token: await batchOfRole(name),
      end: () => post(`sys/leases/revoke-force/auth/token/create/${name}`),
    }),
  ],
  [
    "the revocation of a role's tokens",
    204,
    async (name) => ({
      token: await batchOfRole(name),
      end: () => post(`auth/token/roles/${name}/revoke-tokens`),
    }),
  ],
  [
    "not_before of a mount",
    204,
    async (name) => ({
      token: await batchOfMount(name),
      end: () => post(`sys/auth/${name}/tune`, { not_before: "now" }),
    }),
  ],
  [
    "the disabling of a mount",
    204,
    async (name) => ({
      token: await batchOfMount(name),
      end: () => call("DELETE", `sys/auth/${name}`, { token: root }),
    }),
  ],
  [
    "the move of a mount",
    200,
    async (name) => ({
      token: await batchOfMount(name),
      end: () => post("sys/remount", { from: `auth/${name}`, to: `auth/${name}-moved` }),
      isOnce: true,
    }),
  ],
  [
    "not_before of an entity",
    204,
    async (name) => {
      const { token, entity } = await batchOfEntity(name);
      return { token, end: () => post(`identity/entity/id/${entity}/not-before`) };
    },
  ],
  [
    "the disabling of an entity",
    204,
    async (name) => {
      const { token, entity } = await batchOfEntity(name);
      return { token, end: () => post(`identity/entity/id/${entity}`, { disabled: true }) };
    },
  ],
  [
    "the deletion of an entity",
    204,
    async (name) => {
      const { token, entity } = await batchOfEntity(name);
      return { token, end: () => call("DELETE", `identity/entity/id/${entity}`, { token: root }) };
    },
  ],
  [
    "the deletion of many entities",
    204,
    async (name) => {
      const { token, entity } = await batchOfEntity(name);
      return { token, end: () => post("identity/entity/batch-delete", { entity_ids: [entity] }) };
    },
  ],
];

describe.each(WAYS)("%s", (what, status, make) => {
  const named = (how: string) => `${what} ${how}`.replaceAll(/[^a-z]+/g, "-");

  /** Ends a token that the other isolate has just accepted. `during`: what that isolate answers while the request waits. */
  async function ended(how: string, meanwhile: (token: string) => Promise<void> | void = () => {}) {
    const { token, end, isOnce } = await make(named(how));
    expect(await statusThere(token)).toBe(200);
    const during: number[] = [];
    const waits = vi.spyOn(scheduler, "wait").mockImplementation(async (ms) => {
      await meanwhile(token);
      const until = Date.now() + ms;
      for (; Date.now() < until; vi.setSystemTime(Math.min(until, Date.now() + 700))) {
        during.push(await statusThere(token));
      }
    });
    const answer = await end();
    expect([answer.status, answer.status === 204 ? answer.body : null]).toEqual([status, null]);
    return { token, end, isOnce, during, waits };
  }

  it("is answered when no isolate accepts the token, and so is its repetition", async () => {
    const { token, end, isOnce, during, waits } = await ended("read again");
    // The other isolate has read again meanwhile, and not at once.
    expect([during[0], during.at(-1)]).toEqual([200, 403]);
    for (let i = 0; i < 20; i++) expect(await statusThere(token)).toBe(403);
    if (isOnce) return;
    expect((await end()).status).toBe(204);
    expect(waits).toHaveBeenCalledTimes(2);
  });

  it("is not undone by an isolate that reaches no object and whose clock is set back", async () => {
    const away: { end(): void }[] = [];
    const { token, during } = await ended("cut off", () => {
      clockThere = -900;
      away.push(failing(System, "snapshot", "away"), failing(EntityShard, "entity", "away"));
    });
    // It uses its copy for POLICY_CACHE_SECONDS, and no longer.
    expect(during.filter((one) => one === 200).length).toBeGreaterThan(5);
    for (let i = 0; i < 20; i++) expect(await statusThere(token)).toBeGreaterThanOrEqual(500);
    for (const call of away) call.end();
    expect(await statusThere(token)).toBe(403);
  });

  it("is known at once to an isolate whose clock is set back by more than is waited for", async () => {
    const { during } = await ended("far back", async (token) => {
      clockThere = 3_000;
      expect(await statusThere(token)).toBe(200);
      clockThere = 1_000;
    });
    expect(new Set(during)).toEqual(new Set([403]));
  });

  it("holds although its request ends while it waits", async () => {
    const { token, end } = await make(named("ended"));
    expect(await statusThere(token)).toBe(200);
    vi.spyOn(scheduler, "wait").mockRejectedValue(new Error("the request ends here"));
    expect((await end()).status).toBe(500);
    vi.setSystemTime(Date.now() + 6_000);
    expect(await statusThere(token)).toBe(403);
  });

  it("takes no time where one process serves everything", async () => {
    runAs(ONE_PROCESS);
    try {
      const { end } = await make(named("alone"));
      const waits = vi.spyOn(scheduler, "wait");
      expect((await end()).status).toBe(status);
      expect(waits).not.toHaveBeenCalled();
    } finally {
      runAs(NETWORK);
    }
  });
});

describe("no time is taken", () => {
  it("by a revocation that need not be waited for", async () => {
    const waits = vi.spyOn(scheduler, "wait");
    const path = "sys/leases/revoke-prefix/auth/token/create/unawaited";
    expect((await post(path, { sync: false })).status).toBe(202);
    expect(waits).not.toHaveBeenCalled();
  });

  it("where no isolate uses copies", async () => {
    const waits = vi.spyOn(scheduler, "wait");
    await untilInEffect({ ...bindings, POLICY_CACHE_SECONDS: "0" });
    expect(waits).not.toHaveBeenCalled();
  });

  it("by changes of what tokens may do", async () => {
    const waits = vi.spyOn(scheduler, "wait");
    await post("sys/policies/acl/passing", { policy: 'path "a" { capabilities = ["read"] }' });
    for (const path of ["sys/policies/acl/passing", "auth/token/roles/people", "identity/group/name/none"]) {
      expect((await call("DELETE", path, { token: root })).status).toBe(204);
    }
    expect((await post("identity/entity/name/somebody", { policies: "a" })).status).toBe(200);
    expect((await post("identity/entity/name/somebody", { policies: "b" })).status).toBe(204);
    expect((await call("PUT", "sys/rotate", { token: root })).status).toBe(204);
    expect(waits).not.toHaveBeenCalled();
  });
});
