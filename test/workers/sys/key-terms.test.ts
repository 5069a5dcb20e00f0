import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { AccessorShard } from "../../../src/listing/accessor-shard.ts";
import { dropTerms } from "../../../src/system/key-rotation.ts";
import { organizationNamed } from "../../../src/team/stubs.ts";
import { TIDY_ROWS } from "../../../src/tree/tidy/tree-tidy.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { directory, initializedAlone, shard } from "../../support/audit-store.ts";
import { atCalls, failing, ringAlarm } from "../../support/calls.ts";
import { fillCubbyhole } from "../../support/cubbyholes.ts";
import { addLeasesWithoutData, endLeasesAt, leaseFor } from "../../support/leases.ts";
import { rowsOf } from "../../support/rows.ts";
import { bindings, call, createToken, dataOf } from "../../support/service.ts";
import { changeRows } from "../../support/storage-writer.ts";
import { api, createOrganization, createTeam, generateToken, resource } from "../../support/teams.ts";
import { checkShards, holdTidy, hourlyTidy, tidyNow } from "../../support/tidy.ts";
import { holdInventory, holdSweeps, locate, sweep } from "../../support/trees.ts";

const DAY_MS = 86_400_000;
/** The longest life that the mounts of this file give, and some hours. */
const LONGEST_LIFE_DAYS = 33;

let root: string;

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  holdTidy();
  // Records would keep each term as long as they are kept themselves.
  root = await initializedAlone();
  await post("sys/auth/machines", { type: "aws" });
  await createOrganization(root, "acme");
});

beforeEach(() => {
  holdSweeps();
  holdInventory();
  holdTidy();
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(null, { status: 204 }));
});

afterAll(() => vi.useRealTimers());

const post = (path: string, body: unknown = {}) => call("POST", path, { token: root, body });
const remove = (path: string) => call("DELETE", path, { token: root });
const self = async (token: string) => (await call("GET", "auth/token/lookup-self", { token })).status;
const pass = (days: number) => vi.setSystemTime(Date.now() + days * DAY_MS);

/** Versions of the terms that are kept, newest first. */
async function terms(): Promise<readonly number[]> {
  pass(0.01);
  return dataOf<{ terms: number[] }>(await call("GET", "sys/key-status", { token: root })).terms;
}

/** Begins a term, hours after what was made before, and waits until it is used. Returns its version. */
async function begin(): Promise<number> {
  pass(0.1);
  expect((await call("PUT", "sys/rotate", { token: root })).status).toBe(204);
  const [newest = 0] = await terms();
  return newest;
}

/** Makes something in a term of its own, lets it age and tidies. Returns the version of the term. */
async function aged(make: () => Promise<unknown>): Promise<number> {
  const version = await begin();
  await make();
  await begin();
  pass(LONGEST_LIFE_DAYS);
  return version;
}

interface Case {
  readonly what: string;
  readonly make: () => Promise<unknown>;
  /** It ends, or is made anew. */
  readonly end: () => Promise<unknown>;
}

const made = { token: "", lease: "", laterLease: "", team: "", teamToken: "", webhook: "" };
const client = () => post("auth/machines/config/client", { access_key: "AKIA0123456789ABCDEF", secret_key: "secret" });

/** Ends a token, and has its tree remove it. */
async function revoke(token: string): Promise<void> {
  const { stub } = await locate(token);
  await post("auth/token/revoke", { token });
  await sweep(stub);
}

const CASES: readonly Case[] = [
  {
    what: "a token",
    make: async () => {
      made.token = (await createToken(root, { policies: ["root"] })).client_token;
    },
    end: () => revoke(made.token),
  },
  {
    what: "a token with a chosen id",
    make: () => post("auth/token/create", { id: "chosen", policies: ["root"] }),
    end: async () => {
      await post("auth/token/revoke", { token: "chosen" });
      await sweep((await locate(root)).stub);
    },
  },
  {
    what: "a value of a cubbyhole",
    make: () => post("cubbyhole/kept", { a: 1 }),
    end: () => post("cubbyhole/kept", { a: 2 }),
  },
  {
    what: "a value of a cubbyhole after as many as a step reads",
    make: async () => {
      await fillCubbyhole(root, TIDY_ROWS, 2);
      await post("cubbyhole/z", { a: 1 });
    },
    end: () => remove("cubbyhole/z"),
  },
  {
    what: "the data of a lease",
    make: async () => {
      made.lease = await leaseFor(root, root, { data: { user: "app" }, ttl: "1h" });
      await endLeasesAt(root, Date.now() + 1000 * DAY_MS);
    },
    end: () => post("sys/leases/revoke", { lease_id: made.lease, sync: true }),
  },
  {
    what: "the data of a lease after as many as a step reads",
    make: async () => {
      await addLeasesWithoutData(root, TIDY_ROWS);
      made.laterLease = await leaseFor(root, root, { data: { user: "app" }, ttl: "1h" });
      await endLeasesAt(root, Date.now() + 1000 * DAY_MS);
    },
    end: () => post("sys/leases/revoke", { lease_id: made.laterLease, sync: true }),
  },
  { what: "the secret key of a cloud mount", make: client, end: client },
  {
    what: "the key of a role's tags",
    make: async () => {
      await post("auth/machines/role/web", { auth_type: "ec2", bound_vpc_id: "v", role_tag: "role", policies: "ci" });
      expect((await post("auth/machines/role/web/tag", { policies: "ci" })).status).toBe(200);
    },
    end: () => remove("auth/machines/role/web"),
  },
  {
    what: "a key of the issuer",
    make: () => post("identity/oidc/key/ci", { rotation_period: "87600h", verification_ttl: "87600h" }),
    end: () => remove("identity/oidc/key/ci"),
  },
  {
    what: "a token of a team",
    make: async () => {
      made.team = await createTeam(root, "acme", "ops");
      made.teamToken = (await generateToken(root, made.team)).text;
      expect((await api("GET", "account/details", { token: made.teamToken })).status).toBe(200);
    },
    end: () => api("DELETE", `teams/${made.team}`, { token: root }),
  },
  {
    what: "the key of a webhook",
    make: async () => {
      const attributes = { name: "hook", url: "https://hooks.example.com/", token: "key", enabled: true };
      const answer = await api("POST", "organizations/acme/notification-configurations", {
        token: root,
        body: resource("notification-configurations", { ...attributes, "destination-type": "generic" }),
      });
      made.webhook = answer.body.data.id;
    },
    end: () => api("DELETE", `organizations/acme/notification-configurations/${made.webhook}`, { token: root }),
  },
];

describe("a term of the keys", () => {
  it("stays as long as one thing of any kind needs it, and goes with the next tidy run", async () => {
    const versions = new Map<string, number>();
    for (const { what, make } of CASES) {
      versions.set(what, await begin());
      await make();
    }
    await begin();
    pass(LONGEST_LIFE_DAYS);
    const kept = async () => {
      const all = await terms();
      return CASES.map(({ what }) => what).filter((what) => all.includes(versions.get(what) ?? 0));
    };
    expect(await tidyNow()).toMatchObject({ failures: 0, tampered: 0 });
    expect(await kept()).toEqual(CASES.map(({ what }) => what));
    for (const { end } of CASES) await end();
    expect((await tidyNow()).termsDropped).toBeGreaterThanOrEqual(CASES.length);
    expect(await kept()).toEqual([]);
    // The root token is of the first one.
    expect(await terms()).toContain(1);
    expect(await self(root)).toBe(200);
  });

  it("stays as long as a batch token that was made in it can live", async () => {
    const version = await begin();
    const { client_token: batch } = await createToken(root, { policies: ["default"], ttl: "768h", type: "batch" });
    await begin();
    pass(31);
    await tidyNow();
    // Nor is it dropped for a run that saw another ring.
    expect(await dropTerms(bindings, [version], Date.now())).toBe(0);
    expect(await terms()).toContain(version);
    expect(await self(batch)).toBe(200);
    pass(2);
    await tidyNow();
    expect(await terms()).not.toContain(version);
  });

  it("stays when a tree did not answer, or a row was tampered with", async () => {
    const version = await aged(async () => {});
    vi.spyOn(console, "error").mockReturnValue(undefined);
    failing(TokenTree, "tidy", "away", 1);
    expect(await tidyNow()).toMatchObject({ failures: 1, termsDropped: 0 });
    await post("sys/policies/acl/forged", { policy: 'path "a" { capabilities = ["read"] }' });
    const system = bindings.SYSTEM.getByName("system");
    await changeRows(system, "policies", { seal: new Uint8Array(18) }, { name: "forged" });
    expect(await tidyNow()).toMatchObject({ failures: 0, tampered: 1, termsDropped: 0 });
    expect(await terms()).toContain(version);
    await remove("sys/policies/acl/forged");
    expect((await tidyNow()).termsDropped).toBeGreaterThan(0);
    expect(await terms()).not.toContain(version);
  });

  it("that is needed stays when every step of the run is broken off once, and repeated", async () => {
    const version = await aged(() => post("cubbyhole/kept", { a: 3 }));
    vi.spyOn(console, "error").mockReturnValue(undefined);
    let fails = false;
    // Every page has something to describe anew: that is the last call of its step.
    atCalls(AccessorShard, "claims", async ({ proceed }) =>
      (await proceed()).map(({ accessor, entry }) => ({
        accessor,
        entry: typeof entry === "object" ? { ...entry, expiresAt: 1 } : entry,
      })),
    );
    atCalls(AccessorShard, "describeAnew", ({ proceed }) => {
      fails = !fails;
      if (fails) throw new Error("the process ends here");
      return proceed();
    });
    expect((await tidyNow()).failures).toBe(0);
    expect(await terms()).toContain(version);
    expect((await call("GET", "cubbyhole/kept", { token: root })).body.data).toEqual({ a: 3 });
  });

  it("goes with an hourly run only when the check of every shard has found nothing that needs it", async () => {
    const version = await aged(() => post("cubbyhole/kept", { a: 3 }));
    await hourlyTidy();
    expect(await terms()).toContain(version);
    await checkShards();
    await hourlyTidy();
    expect(await terms()).toContain(version);
    await post("cubbyhole/kept", { a: 3 });
    pass(1);
    await checkShards();
    await hourlyTidy();
    expect(await terms()).not.toContain(version);
    expect((await call("GET", "cubbyhole/kept", { token: root })).body.data).toEqual({ a: 3 });
  });

  it("makes room for the next, forty times", async () => {
    const [first = 0] = await terms();
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 8; i++) await begin();
      pass(LONGEST_LIFE_DAYS);
      expect(await tidyNow()).toMatchObject({ tampered: 0, failures: 0 });
    }
    const kept = await terms();
    expect([kept[0], kept.at(-1)]).toEqual([first + 40, 1]);
    expect(kept.length).toBeLessThan(5);
    expect(await self(root)).toBe(200);
    expect((await call("GET", "cubbyhole/kept", { token: root })).body.data).toEqual({ a: 3 });
    expect((await call("GET", "auth/machines/config/client", { token: root })).body.data.access_key).toMatch(/^AKIA/);
  });

  it("stays as long as a record of the audit store that was made in it", async () => {
    const version = await begin();
    Object.assign(bindings, { AUDIT_STORE: "on" });
    await post("sys/policies/acl/recorded", { policy: 'path "a" { capabilities = ["read"] }' });
    Object.assign(bindings, { AUDIT_STORE: "off" });
    await remove("sys/policies/acl/recorded");
    const objects = await directory().stored();
    for (const { name } of objects) await ringAlarm(shard(name));
    await begin();
    pass(LONGEST_LIFE_DAYS);
    await tidyNow();
    expect(await terms()).toContain(version);
    // The object is closed, then deleted.
    await ringAlarm(directory());
    await ringAlarm(directory());
    await tidyNow();
    expect(await terms()).not.toContain(version);
  });
});

it("seals the first write of an object that is awake since before it began", async () => {
  await createOrganization(root, "awake");
  const version = await begin();
  const body = resource("authentication-token", {});
  expect((await api("POST", "organizations/awake/authentication-token", { token: root, body })).status).toBe(201);
  const [row] = await rowsOf(organizationNamed(bindings, "awake"), "organization");
  const seal = row?.seal;
  if (!(seal instanceof Uint8Array)) throw new Error("the record has no seal");
  expect(new DataView(seal.buffer, seal.byteOffset).getUint16(0)).toBe(version);
});
