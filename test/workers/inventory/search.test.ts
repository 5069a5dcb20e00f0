import { beforeAll, describe, expect, it } from "vitest";
import { Meter } from "../../support/meter.ts";
import { call, createToken, dataOf, initialized } from "../../support/service.ts";

let root: string;
let made: Record<string, { readonly accessor: string; readonly client_token: string }>;

const post = (path: string, body: unknown, token = root) => call("POST", path, { token, body });

/** The accessors that a search finds, by the names of the tokens; `others` for those that are none of these. */
async function found(search: string, more = ""): Promise<string[]> {
  const answer = await call("GET", `sys/tokens?search=${encodeURIComponent(search)}${more}`, { token: root });
  expect(answer.status).toBe(200);
  const { tokens } = dataOf<{ tokens: { accessor: string }[] }>(answer);
  const nameOf = new Map(Object.entries(made).map(([name, { accessor }]) => [accessor, name]));
  return tokens.map(({ accessor }) => nameOf.get(accessor) ?? "others");
}

beforeAll(async () => {
  root = await initialized();
  await post("auth/token/roles/person", { allowed_entity_aliases: "*" });
  const ofPerson = async (entity_alias: string, display_name: string) =>
    (await post("auth/token/create/person", { entity_alias, display_name })).body.auth;
  made = {
    api: await createToken(root, {
      display_name: "payments-api",
      meta: { owner: "Ledger Team", "run id": "a1b2_100%" },
    }),
    worker: await createToken(root, { display_name: "payments-worker", meta: { quote: `"it's" \\ or` } }),
    web: await createToken(root, { display_name: "web", no_parent: true, meta: { city: "İzmir", empty: "" } }),
    alice: await ofPerson("alice@example.com", "first"),
    other: await ofPerson("ALICE-2", "second"),
    bob: await ofPerson("bob", "third"),
  };
});

describe("a search", () => {
  it.each([
    ["payments", ["api", "worker"]],
    ["PAYMENTS-API", ["api"]],
    ["token-payments-api", ["api"]],
    ["ledger", ["api"]],
    ["run id=a1", ["api"]],
    ["er=Ledger T", ["api"]],
    ["create/per", ["alice", "other", "bob"]],
    ["alice", ["alice", "other"]],
    ["alice@EXAMPLE", ["alice"]],
    ["İZM", ["web"]],
    ["empty=", ["web"]],
    ["_100%", ["api"]],
    ["%%%", []],
    ["___", []],
    ['"it', ["worker"]],
    ["\\ or", ["worker"]],
    ['" OR 1=1 --', []],
    ["pay* OR web", []],
    ["日本語", []],
    ["  payments-api  ", ["api"]],
  ])("finds %j", async (text, names) => expect(await found(text)).toEqual(names));

  it("reads a few rows for each entity, to know which have the text in their names", async () => {
    const meter = new Meter();
    const read = async () => {
      meter.reset();
      expect(await found("nobody-is-called-so")).toEqual([]);
      const costs = await meter.costs();
      return ["Identity.searchNames", "EntityShard.searchAliases"].map((method) => costs[method]?.rowsRead ?? 0);
    };
    const before = await read();
    const MORE = 20;
    for (let at = 0; at < MORE; at++) {
      await post("auth/token/create/person", { entity_alias: `person-${at}`, display_name: "crowd", ttl: "1m" });
      await post("identity/entity", { name: `named-${at}` });
    }
    const [names = 0, aliases = 0] = (await read()).map((rows, at) => rows - (before[at] ?? 0));
    meter.stop();
    expect(names).toBeGreaterThan(0);
    expect(names).toBeLessThanOrEqual(2 * MORE);
    expect(aliases).toBeGreaterThan(0);
    expect(aliases).toBeLessThanOrEqual(6 * MORE);
  });

  it("finds a part of an accessor, and all of it", async () => {
    const accessor = made.web?.accessor ?? "";
    expect(await found(accessor)).toEqual(["web"]);
    expect(await found(accessor.slice(0, 12))).toContain("web");
    // Letters of both cases are in nearly every part of this length; where they are not, it is a word.
    const part = accessor.slice(50, 74);
    expect(await found(part)).toEqual(/[a-z]/.test(part) && /[A-Z]/.test(part) ? ["web"] : []);
  });

  it("applies with every other filter, in every order", async () => {
    expect(await found("payments", "&sort=-created")).toEqual(["worker", "api"]);
    expect(await found("payments", "&metadata=owner=Ledger Team")).toEqual(["api"]);
    expect(await found("payments", "&orphan=true")).toEqual([]);
    expect(await found("payments", "&mount=token&limit=1")).toEqual(["api"]);
  });

  it("finds the name and the id of an entity, and forgets an alias that is gone", async () => {
    const place = await call("GET", `sys/tokens/${made.bob?.accessor}`, { token: root });
    const id = dataOf<{ token: { entity_id: string } }>(place).token.entity_id;
    const entity = dataOf<{ name: string; aliases: { id: string }[] }>(
      await call("GET", `identity/entity/id/${id}`, { token: root }),
    );
    expect(await found(entity.name)).toEqual(["bob"]);
    expect(await found(id)).toEqual(["bob"]);
    await post(`identity/entity/id/${id}`, { name: "Robert Night" });
    expect(await found("bert nig")).toEqual(["bob"]);
    expect(await found("bob")).toEqual(["bob"]);
    await call("DELETE", `identity/entity-alias/id/${entity.aliases[0]?.id}`, { token: root });
    expect(await found("bob")).toEqual([]);
  });

  it.each([
    ["ab", "3 to 128 characters"],
    ["x".repeat(129), "3 to 128 characters"],
    ["x".repeat(1500), "3 to 128 characters"],
    ["a\u0000b", "not printable"],
    ["pay\u200bments", "not printable"],
  ])("refuses %j", async (search, message) => {
    const listed = await call("GET", `sys/tokens?search=${encodeURIComponent(search)}`, { token: root });
    const revoked = await post("sys/tokens/revoke", { search });
    for (const { status, body } of [listed, revoked]) {
      expect(status).toBe(400);
      expect(body.errors[0]).toContain(message);
    }
  });

  it("refuses 10 kB and a token, and repeats neither", async () => {
    const long = "y".repeat(10_000);
    for (const search of [long, made.web?.client_token ?? "", root]) {
      const answer = await post("sys/tokens/revoke", { search });
      expect(answer.status).toBe(400);
      expect(JSON.stringify(answer.body)).not.toContain(search);
    }
  });
});

it("a search also selects the tokens of a revocation, whose trees check each of them again", async () => {
  const victims = [
    await createToken(root, { display_name: "stale", policies: ["default"], meta: { purpose: "Contain me" } }),
    await createToken(root, { display_name: "contained", policies: ["default"], no_parent: true }),
  ];
  const body = { search: "CONTAIN" };
  const preview = dataOf<{ count: number }>(await post("sys/tokens/revoke", body));
  expect(preview.count).toBe(2);
  expect((await post("sys/tokens/revoke", { search: "" })).status).toBe(400);
  const started = await post("sys/tokens/revoke", { ...body, dry_run: false, expected_count: 2 });
  const job = () => call("GET", `sys/tokens/jobs/${started.body.data.job}`, { token: root });
  await expect.poll(async () => (await job()).body.data.state).toBe("done");
  expect((await job()).body.data).toMatchObject({ filter: body, revoked: 2, mismatched: 0 });
  for (const { client_token } of victims) {
    expect((await call("GET", "auth/token/lookup-self", { token: client_token })).status).toBe(403);
  }
  expect((await call("GET", "auth/token/lookup-self", { token: made.api?.client_token ?? "" })).status).toBe(200);
});

it("no filter takes a token, in whatever field or form it is", async () => {
  const { client_token: token } = await createToken(root, { policies: ["default"] });
  for (const [name, value] of [
    ["display_name", token],
    ["display_name", `${token}*`],
    ["path_prefix", `auth/token/lookup/${token}`],
    ["metadata", { owner: token }],
    ["metadata", [`${token}=x`]],
    ["policy", ` ${root}`],
    ["search", token],
  ] as const) {
    const answer = await post("sys/tokens/revoke", { [name]: value, dry_run: false, expected_count: 0 });
    expect([answer.status, answer.body.errors]).toEqual([
      400,
      [`${name} must not contain a token: sys/tokens/find takes one in its body`],
    ]);
  }
  const forged = token.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
  expect((await post("sys/tokens/revoke", { display_name: forged })).status).toBe(200);
});
