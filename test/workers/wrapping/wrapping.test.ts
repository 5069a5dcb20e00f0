import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ACCESSOR_SHARDS, accessorShard } from "../../../src/listing/accessor-shards.ts";
import { publishPending } from "../../../src/listing/updates/publish.ts";
import { decodeStoredId } from "../../../src/token/ids.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atCalls, callsTo, failing } from "../../support/calls.ts";
import { bindings, call, createToken, initialized, keysOf } from "../../support/service.ts";
import { holdSweeps, locate } from "../../support/trees.ts";

const INVALID = { errors: ["wrapping token is not valid or does not exist"] };
const HIDDEN = "the-hidden-value";
let root: string;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initialized();
});

afterEach(() => vi.useRealTimers());

const wrapHeader = (ttl: string) => ({ "X-Vault-Wrap-TTL": ttl });

async function wrapped(data: unknown = { secret: HIDDEN }, ttl = "5m") {
  const answer = await call("POST", "sys/wrapping/wrap", { token: root, body: data, headers: wrapHeader(ttl) });
  expect(answer.status).toBe(200);
  return answer.body.wrap_info;
}

const unwrap = (token: string, caller?: string) =>
  caller
    ? call("POST", "sys/wrapping/unwrap", { token: caller, body: { token } })
    : call("POST", "sys/wrapping/unwrap", { token });

const listAccessors = async () => keysOf(await call("GET", "auth/token/accessors?list=true", { token: root }));

/** Live wrapping tokens among those that are listed and not in `before`. */
async function wrappingTokensSince(before: readonly string[]): Promise<number> {
  const added = (await listAccessors()).filter((accessor) => !before.includes(accessor));
  const paths = await Promise.all(
    added.map(async (accessor) => {
      const seen = await call("POST", "auth/token/lookup-accessor", { token: root, body: { accessor } });
      return seen.body.data?.path;
    }),
  );
  return paths.filter((path) => path === "sys/wrapping/wrap").length;
}

describe("the TTL of a wrapping token", () => {
  it("is what the token mount allows at most, also when it is exchanged", async () => {
    const wrap = (ttl: string) =>
      call("POST", "sys/wrapping/wrap", { token: root, body: { secret: HIDDEN }, headers: wrapHeader(ttl) });
    const allowed = await wrap("768h");
    expect([allowed.body.wrap_info.ttl, allowed.body.warnings]).toEqual([768 * 3600, null]);
    const { wrap_info: long, warnings } = (await wrap("87600h")).body;
    expect([long.ttl, warnings]).toEqual([
      768 * 3600,
      ['TTL of "87600h" exceeded the effective max_ttl of "768h"; TTL value is capped accordingly'],
    ]);
    const lookedUp = await call("POST", "auth/token/lookup", { token: root, body: { token: long.token } });
    expect(lookedUp.body.data).toMatchObject({ creation_ttl: 768 * 3600, explicit_max_ttl: 768 * 3600 });
    const tune = (max_lease_ttl: string) =>
      call("POST", "sys/auth/token/tune", { token: root, body: { max_lease_ttl, default_lease_ttl: "1h" } });
    expect((await tune("1h")).status).toBe(204);
    const again = await call("POST", "sys/wrapping/rewrap", { token: root, body: { token: long.token } });
    expect(again.body.wrap_info.ttl).toBe(3600);
    expect((await tune("87600h")).status).toBe(204);
    expect((await wrap("87600h")).body).toMatchObject({ wrap_info: { ttl: 87_600 * 3600 }, warnings: null });
    expect((await tune("system")).status).toBe(204);
  });
});

describe("the envelope of a wrapped answer", () => {
  it("holds nothing but wrap_info, whose token gives the answer as it was", async () => {
    const made = await call("POST", "auth/token/create", {
      token: root,
      body: { policies: ["default"], meta: { a: "b" } },
      headers: wrapHeader("90s"),
    });
    const info = made.body.wrap_info;
    expect({ ...(made.body as object), wrap_info: null }).toEqual({
      request_id: "",
      lease_id: "",
      renewable: false,
      lease_duration: 0,
      data: null,
      wrap_info: null,
      warnings: null,
      auth: null,
    });
    expect(Object.keys(info)).toEqual([
      "token",
      "accessor",
      "ttl",
      "creation_time",
      "creation_path",
      "wrapped_accessor",
    ]);
    expect(info).toMatchObject({ ttl: 90, creation_path: "auth/token/create" });
    const { status, body } = await unwrap(info.token);
    expect(status).toBe(200);
    expect(body.request_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(body.auth).toMatchObject({ accessor: info.wrapped_accessor, policies: ["default"], metadata: { a: "b" } });
    expect((await call("GET", "auth/token/lookup-self", { token: body.auth.client_token })).status).toBe(200);
  });

  it("keeps warnings inside", async () => {
    const body = { policies: ["nowhere"], unknown_field: 1 };
    const made = await call("POST", "auth/token/create", { token: root, body, headers: wrapHeader("60") });
    expect(made.body.warnings).toBeNull();
    const inner = await unwrap(made.body.wrap_info.token);
    expect(inner.body.warnings).toEqual([
      'Policy "nowhere" does not exist',
      "Endpoint ignored these unrecognized parameters: [unknown_field]",
    ]);
  });

  it("may not be cached on the way, before and after unwrapping", async () => {
    const made = await call("GET", "auth/token/lookup-self", { token: root, headers: wrapHeader("60") });
    expect(made.headers.get("Cache-Control")).toBe("no-store");
    const inner = await unwrap(made.body.wrap_info.token);
    expect(inner.headers.get("Cache-Control")).toBe("no-store");
    expect(inner.headers.get("Content-Type")).toBe("application/json");
    expect(inner.body.data.display_name).toBe("root");
  });

  it("the token is a single-use orphan of its own with nothing but its policy, for exactly the time asked for", async () => {
    const info = await wrapped({ a: 1 }, "1h");
    const body = { accessor: info.accessor };
    const { data } = (await call("POST", "auth/token/lookup-accessor", { token: root, body })).body;
    expect(data).toMatchObject({
      policies: ["response-wrapping"],
      num_uses: 1,
      orphan: true,
      creation_ttl: 3600,
      explicit_max_ttl: 3600,
      renewable: false,
      path: "sys/wrapping/wrap",
      entity_id: "",
    });
    const renewed = await call("POST", "auth/token/renew-accessor", { token: root, body });
    expect([renewed.status, renewed.body.errors]).toEqual([400, ["lease is not renewable"]]);
  });

  it("an answer that needs no token is not stored: strangers can't fill the storage", async () => {
    const created = callsTo(TokenTree, "create");
    const mounts = await call("GET", "sys/internal/ui/mounts", { headers: wrapHeader("60") });
    expect([mounts.body.wrap_info, mounts.body.data]).toEqual([null, { auth: {}, secret: {} }]);
    const { token } = await wrapped();
    const lookup = await call("POST", "sys/wrapping/lookup", { body: { token }, headers: wrapHeader("60") });
    expect([lookup.body.wrap_info, lookup.body.data.creation_path]).toEqual([null, "sys/wrapping/wrap"]);
    const health = await call("GET", "sys/health", { headers: wrapHeader("60") });
    expect(health.body).toMatchObject({ initialized: true });
    // That of `wrapped`.
    expect(created.calls).toHaveLength(1);
  });

  it("may wait longer than the platform accepts alarms for", async () => {
    const { token } = await wrapped(undefined, "9223372036");
    // The shard that asks for its end gets it.
    await publishPending(bindings);
    const shards = Array.from({ length: ACCESSOR_SHARDS }, (_, number) => accessorShard(bindings, number));
    const listed = (await Promise.all(shards.map((shard) => shard.list("", 10_000)))).flat();
    const { treeId } = await locate(token);
    expect(listed.map((accessor) => decodeStoredId(accessor)?.treeId)).toContain(treeId);
    expect((await unwrap(token)).status).toBe(200);
  });
});

describe("never wrapped", () => {
  it.each([
    ["an error", "POST", "auth/token/lookup", { token: "s.unknown" }, 403],
    ["an answer without a body", "POST", "cubbyhole/x", { a: "b" }, 204],
    ["an empty list", "GET", "cubbyhole/empty?list=true", undefined, 404],
  ])("%s comes as it is", async (_, method, path, body, status) => {
    const answer = await call(method, path, { token: root, body, headers: wrapHeader("60") });
    expect(answer.status).toBe(status);
    expect(answer.body?.wrap_info).toBeUndefined();
  });

  it.each([
    ["soon", "error parsing X-Vault-Wrap-TTL header: it is not a duration"],
    ["-5s", "error parsing X-Vault-Wrap-TTL header: requested wrap ttl cannot be negative"],
  ])("a header that says %s is refused", async (ttl, message) => {
    const answer = await call("GET", "auth/token/lookup-self", { token: root, headers: wrapHeader(ttl) });
    expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
  });
});

describe("unwrap", () => {
  it("works with the body null, by which Go clients say that they send no data", async () => {
    const info = await wrapped();
    const answer = await call("POST", "sys/wrapping/unwrap", { token: info.token, raw: "null" });
    expect(answer).toMatchObject({ status: 200, body: { data: { secret: HIDDEN } } });
  });

  it("gives the answer once, to the wrapping token itself or to another caller", async () => {
    for (const caller of [undefined, root]) {
      const info = await wrapped();
      const first = await unwrap(info.token, caller);
      expect([first.status, first.body.data]).toEqual([200, { secret: HIDDEN }]);
      for (const again of [undefined, root]) {
        const second = await unwrap(info.token, again);
        expect([second.status, second.body]).toEqual([400, INVALID]);
      }
    }
  });

  it("takes the wrapping token as caller and in the body at once", async () => {
    const info = await wrapped();
    expect((await unwrap(info.token, info.token)).body.data).toEqual({ secret: HIDDEN });
  });

  it.each([undefined, "another caller"])("of 64 at once exactly one gets the answer (%s)", async (other) => {
    const info = await wrapped();
    const caller = other && root;
    const answers = await Promise.all(Array.from({ length: 64 }, () => unwrap(info.token, caller)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status, body }) => status === 400 && body.errors[0] === INVALID.errors[0])).toHaveLength(
      63,
    );
  });

  it("of unwrapping and rewrapping at once exactly one succeeds, and the others leave no token behind", async () => {
    const before = await listAccessors();
    let rewrapped = 0;
    for (let round = 0; round < 4; round++) {
      const info = await wrapped();
      const body = { token: info.token };
      const answers = await Promise.all(
        ["rewrap", "rewrap", "rewrap", "rewrap", round % 2 === 0 ? "rewrap" : "unwrap"].map((what) =>
          call("POST", `sys/wrapping/${what}`, { token: root, body }),
        ),
      );
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      if (won[0]?.body.wrap_info) rewrapped++;
    }
    expect(await wrappingTokensSince(before)).toBe(rewrapped);
  });

  it("needs the right to unwrap when the token is another's, and a refusal leaves the answer where it is", async () => {
    const bare = (await createToken(root, { policies: ["nothing"], no_default_policy: true })).client_token;
    const info = await wrapped();
    expect((await unwrap(info.token, bare)).status).toBe(403);
    expect((await call("POST", "sys/wrapping/unwrap", { body: { token: info.token } })).status).toBe(403);
    expect((await unwrap(info.token)).status).toBe(200);
  });

  it("of a token that holds no answer is refused and does not end it", async () => {
    const plain = (await createToken(root, { policies: ["default"] })).client_token;
    for (const answer of [await unwrap(plain), await unwrap(plain, root), await unwrap("s.unknown", root)]) {
      expect([answer.status, answer.body]).toEqual([400, INVALID]);
    }
    expect((await call("GET", "auth/token/lookup-self", { token: plain })).status).toBe(200);
    const unknown = await unwrap("s.unknown");
    expect([unknown.status, unknown.body]).toEqual([400, INVALID]);
  });

  it.each(["sys/wrapping/unwrap", "sys/wrapping/rewrap", "sys/wrapping/lookup"])(
    "%s says what is missing of the token",
    async (path) => {
      for (const [body, problem] of [
        [{}, "token is empty"],
        [{ token: "" }, "empty token in request body"],
        [{ token: 7 }, "could not decode token in request body"],
        [{ token: {} }, "could not decode token in request body"],
      ] as const) {
        const answers = [await call("POST", path, { body })];
        if (body.token !== undefined) answers.push(await call("POST", path, { token: root, body }));
        for (const answer of answers) {
          expect(answer.status).toBe(403);
          expect(answer.body.errors).toEqual([`error validating wrapping token: ${problem}`]);
        }
      }
    },
  );

  it("is over when the time is", async () => {
    const info = await wrapped({ a: "b" }, "5m");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 301_000 });
    expect((await unwrap(info.token)).status).toBe(400);
    expect((await unwrap(info.token, root)).status).toBe(400);
    expect((await call("POST", "sys/wrapping/lookup", { body: { token: info.token } })).status).toBe(400);
  });

  it("is refused after the token was revoked", async () => {
    const info = await wrapped();
    await call("POST", "auth/token/revoke-accessor", { token: root, body: { accessor: info.accessor } });
    expect((await unwrap(info.token)).status).toBe(400);
  });

  it("can be asked for wrapped again", async () => {
    const info = await wrapped();
    const again = await call("POST", "sys/wrapping/unwrap", { token: info.token, headers: wrapHeader("60") });
    expect(again.body.data).toBeNull();
    expect((await unwrap(again.body.wrap_info.token)).body.data).toEqual({ secret: HIDDEN });
  });
});

describe("reading cubbyhole/response", () => {
  it("works once, with a warning", async () => {
    const info = await wrapped();
    const read = await call("GET", "cubbyhole/response", { token: info.token });
    expect(JSON.parse(read.body.data.response as string)).toMatchObject({ data: { secret: HIDDEN } });
    expect(read.body.warnings[0]).toMatch(/^Reading from 'cubbyhole\/response' is deprecated/);
    expect((await call("GET", "cubbyhole/response", { token: info.token })).status).toBe(403);
    expect((await unwrap(info.token)).status).toBe(400);
  });

  it("of an ordinary token is an ordinary read", async () => {
    await call("POST", "cubbyhole/response", { token: root, body: { mine: "x", keys: [] } });
    const read = await call("GET", "cubbyhole/response", { token: root });
    expect([read.body.data, read.body.warnings]).toEqual([{ mine: "x", keys: [] }, null]);
  });

  it("the wrapping token can't replace what it holds, nor do anything else", async () => {
    const replaced = await wrapped();
    const write = await call("POST", "cubbyhole/response", { token: replaced.token, body: { a: "b" } });
    expect(write.status).toBe(403);
    for (const path of ["auth/token/lookup-self", "cubbyhole/other", "sys/policies/acl/default"]) {
      expect((await call("GET", path, { token: (await wrapped()).token })).status).toBe(403);
    }
  });
});

describe("wrap, lookup, rewrap", () => {
  it("wrap without the header is refused", async () => {
    for (const headers of [{}, wrapHeader("0")]) {
      const answer = await call("POST", "sys/wrapping/wrap", { token: root, body: { a: "b" }, headers });
      expect([answer.status, answer.body.errors]).toEqual([400, ["endpoint requires response wrapping to be used"]]);
    }
  });

  it("lookup needs no token and changes nothing, however often", async () => {
    const info = await wrapped({ a: "b" }, "2m");
    const seen = [
      await call("POST", "sys/wrapping/lookup", { body: { token: info.token } }),
      await call("POST", "sys/wrapping/lookup", { token: info.token }),
      await call("GET", "sys/wrapping/lookup", { token: info.token }),
    ];
    for (const { status, body } of seen) {
      expect(status).toBe(200);
      expect(body.data).toEqual({
        creation_path: "sys/wrapping/wrap",
        creation_time: info.creation_time,
        creation_ttl: 120,
      });
    }
    expect((await unwrap(info.token)).status).toBe(200);
    const after = await call("POST", "sys/wrapping/lookup", { body: { token: info.token } });
    expect([after.status, after.body]).toEqual([400, INVALID]);
  });

  it("lookup of a token of another kind tells nothing", async () => {
    for (const token of [root, (await createToken(root)).client_token, "b.x", "word"]) {
      const answer = await call("POST", "sys/wrapping/lookup", { body: { token } });
      expect([answer.status, answer.body]).toEqual([400, INVALID]);
    }
  });

  it("rewrap keeps path and time of creation span, and kills the old token", async () => {
    const made = await call("POST", "auth/token/create", { token: root, body: {}, headers: wrapHeader("77") });
    const old = made.body.wrap_info;
    const { status, body } = await call("POST", "sys/wrapping/rewrap", { token: root, body: { token: old.token } });
    expect(status).toBe(200);
    expect(body.request_id).toBe("");
    expect(body.wrap_info).toMatchObject({
      ttl: 77,
      creation_path: "auth/token/create",
      wrapped_accessor: old.wrapped_accessor,
    });
    expect(body.wrap_info.token).not.toBe(old.token);
    expect((await unwrap(old.token)).status).toBe(400);
    expect((await unwrap(body.wrap_info.token)).body.auth.accessor).toBe(old.wrapped_accessor);
  });

  it.each([
    ["before the new token is written", () => failing(TokenTree, "create", "the process ends here")],
    [
      "between the new token and the end of the old one",
      () =>
        atCalls(TokenTree, "act", ({ args: [action], proceed }) => {
          if ("take" in action && action.take) throw new Error("the process ends here");
          return proceed();
        }),
    ],
  ])("rewrap that fails %s leaves the answer with the old token, for one use", async (_, failsAt) => {
    const info = await wrapped();
    const dying = failsAt();
    const moved = await call("POST", "sys/wrapping/rewrap", { token: root, body: { token: info.token } });
    dying.end();
    expect(moved.status).toBeGreaterThanOrEqual(500);
    expect((await unwrap(info.token)).body.data).toEqual({ secret: HIDDEN });
    expect((await unwrap(info.token)).status).toBe(400);
  });

  it("rewrap is not for the wrapping token itself, nor for callers without the right", async () => {
    const info = await wrapped();
    const plain = (await createToken(root, { policies: ["default"] })).client_token;
    const body = { token: info.token };
    expect((await call("POST", "sys/wrapping/rewrap", { token: plain, body })).status).toBe(403);
    expect((await unwrap(info.token, plain)).status).toBe(200);
    const own = await wrapped();
    expect((await call("POST", "sys/wrapping/rewrap", { token: own.token })).status).toBe(403);
  });
});

describe("limits of policies on the time", () => {
  it("hold for the header", async () => {
    await call("POST", "sys/policies/acl/wrapped-only", {
      token: root,
      body: {
        policy: `path "auth/token/create" {
          capabilities = ["update"]
          min_wrapping_ttl = "5m"
          max_wrapping_ttl = "400"
        }`,
      },
    });
    const { client_token: token } = await createToken(root, { policies: ["wrapped-only"] });
    const create = (headers: Record<string, string>) => call("POST", "auth/token/create", { token, body: {}, headers });
    expect((await create({})).status).toBe(403);
    expect((await create(wrapHeader("50"))).status).toBe(403);
    expect((await create(wrapHeader("450"))).status).toBe(403);
    expect((await create(wrapHeader("350"))).body.wrap_info.ttl).toBe(350);
  });
});

describe("CVE-2025-62513, CVE-2025-62705: what is wrapped stays out of the log", () => {
  it("when it is made, read, moved and refused", async () => {
    const lines: string[] = [];
    const spies = (["log", "error", "warn", "info", "debug"] as const).map((level) =>
      vi.spyOn(console, level).mockImplementation((...args: unknown[]) => {
        lines.push(args.map(String).join(" "));
      }),
    );
    const one = await wrapped();
    const two = (await call("POST", "sys/wrapping/rewrap", { token: root, body: { token: one.token } })).body.wrap_info;
    await call("POST", "sys/wrapping/lookup", { body: { token: two.token } });
    await unwrap(one.token);
    await unwrap(two.token);
    const three = await wrapped();
    await call("GET", "cubbyhole/response", { token: three.token });
    for (const spy of spies) spy.mockRestore();
    const log = lines.join("\n");
    expect(lines.filter((line) => line.includes('"type":"response"'))).toHaveLength(7);
    expect(lines.filter((line) => line.includes('"status":200'))).toHaveLength(6);
    for (const secret of [HIDDEN, one.token, two.token, three.token]) expect(log).not.toContain(secret);
  });

  it("a token in a path does not become the creation path", async () => {
    const { client_token: token } = await createToken(root, { ttl: "1h" });
    const renewed = await call("POST", `auth/token/renew/${token}`, {
      token: root,
      body: {},
      headers: wrapHeader("60"),
    });
    expect(renewed.body.wrap_info.creation_path).toBe("auth/token/renew/:token");
  });
});
