import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { forgetCustomId } from "../../../src/auth/read-token.ts";
import { forgetEntities } from "../../../src/identity/entity-copies.ts";
import { EntityShard } from "../../../src/identity/shard/entity-shard.ts";
import { homeOf } from "../../../src/identity/stubs.ts";
import { publishPending } from "../../../src/listing/updates/publish.ts";
import { loadInstallation } from "../../../src/system/installation.ts";
import { System } from "../../../src/system/system.ts";
import { readAccessor } from "../../../src/token/ids.ts";
import { treeAt } from "../../../src/token/tree-stub.ts";
import { customIdsOf } from "../../../src/tree/custom-ids.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { callsTo, failing } from "../../support/calls.ts";
import { leaseFor } from "../../support/leases.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { alter } from "../../support/storage-writer.ts";
import { standInForTargets } from "../../support/targets.ts";
import { api, createOrganization, createTeam, resource } from "../../support/teams.ts";
import { evictTree, holdSweeps, locate, sweep } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(holdSweeps);

const post = (path: string, body: unknown, token = root) => call("POST", path, { token, body });
const find = async (token: string) =>
  dataOf<Record<string, unknown> & { message: string; token?: Record<string, unknown> }>(
    await post("sys/tokens/find", { token }),
  );

async function treeOfAccessor(accessor: string) {
  const installation = await loadInstallation(bindings);
  const address = installation.ok ? await readAccessor(installation.value.keys, accessor) : null;
  if (!address) throw new Error("not an accessor of this installation");
  return treeAt(bindings, address.treeId);
}

/** The text with another character at this place. */
const mistyped = (text: string, at: number) => text.slice(0, at) + (text[at] === "x" ? "y" : "x") + text.slice(at + 1);

describe("sys/tokens/find says of a text", () => {
  it("which token it is, without counting that as a use", async () => {
    const made = await createToken(root, { display_name: "api", no_parent: true, policies: ["default"] });
    const { client_token: token, accessor } = made;
    for (const text of [token, ` ${token}\n`, `${token.slice(0, 30)}\n${token.slice(30)}`]) {
      expect(await find(text)).toMatchObject({ state: "live", kind: "service", token: { accessor, last_used: null } });
    }
    for (const body of [{ accessor }, { token: accessor }]) {
      const answer = await post("sys/tokens/find", body);
      expect(answer.body.data).toMatchObject({ state: "live", kind: "service", token: { accessor } });
      expect(JSON.stringify(answer.body)).not.toContain(token);
    }
  });

  it("that it is the id of a lease, of whom, and whether its secret can still be used", async () => {
    let isDown = true;
    standInForTargets(() => (isDown ? 503 : 204));
    const { client_token: token, accessor } = await createToken(root, { no_parent: true, policies: ["default"] });
    const id = await leaseFor(root, token);
    expect(await find(id)).toMatchObject({ kind: "lease", state: "live", token: { accessor } });
    for (const other of [`https://grove.example/ui/${id}`, id.slice(id.indexOf("/") + 1)])
      expect(await find(other)).toMatchObject({ kind: "lease", state: "live" });
    await post("sys/leases/revoke", { lease_id: id, sync: true });
    const failing = await find(id);
    expect(failing).toMatchObject({ kind: "lease", state: "ended", token: { accessor } });
    expect(failing.message).toMatch(/can still be used: the target db\.example\.com answered 503; .* sent again/);
    const failure = { lease_id: id, accessor, error: expect.stringContaining("503") };
    const unrevoked_leases = { waiting: 0, failing: 1, failures: [failure] };
    expect(failing).toMatchObject({ unrevoked_leases });
    // Its holder is known after the holder's own end.
    await post("auth/token/revoke", { token });
    for (const text of [token, accessor])
      expect(await find(text)).toMatchObject({
        state: "ended",
        unrevoked_leases,
        message: expect.stringContaining("1 lease that it held has not been revoked: such a secret can still be used."),
      });
    expect(await find(id)).toMatchObject({ kind: "lease", token: { accessor }, ended: { how: "revoked" } });
    isDown = false;
    await post("sys/leases/revoke", { lease_id: id, sync: true });
    expect(await find(token)).not.toHaveProperty("unrevoked_leases");
    expect(await find(id)).toEqual({
      state: "ended",
      kind: "lease",
      message: "The id of a lease that has ended.",
      chosen_id: false,
    });
    // Who may use a lease id gets no accessor by it.
    expect((await post("sys/leases/lookup", { lease_id: await leaseFor(root, root) })).body.data).not.toHaveProperty(
      "accessor",
    );
  });

  it("from which networks it can be used, which is no use of it", async () => {
    const networks = { token_bound_cidrs: ["10.0.0.0/8", "192.0.2.0/24"], renewable: false };
    const end = "use it, from an address in 10.0.0.0/8 or 192.0.2.0/24, and from nowhere else.";
    for (const [token_type, fields] of [
      ["service", { num_uses: 1 }],
      ["batch", {}],
    ] as const) {
      await post("auth/token/roles/bound", { ...networks, token_type });
      const made = await post("auth/token/create/bound", { ...fields, ttl: "1h" });
      for (let times = 0; times < 2; times++) {
        const found = await find(made.body.auth.client_token);
        expect([found.state, String(found.message).endsWith(end)]).toEqual(["live", true]);
      }
    }
  });

  it("when it was used, also after its tree has forgotten that", async () => {
    const { client_token: token, accessor } = await createToken(root, { no_parent: true, policies: ["default"] });
    await call("GET", "auth/token/lookup-self", { token });
    const { stub } = await locate(token);
    const lastUses = async () => {
      const found = await find(token);
      const tree = dataOf<{ token: Record<string, unknown> }>(
        await call("GET", `sys/tokens/${accessor}/tree`, { token: root }),
      );
      return [found.token?.last_used, tree.token.last_used];
    };
    const hour = expect.stringMatching(/:00:00.000Z$/);
    expect(await lastUses()).toEqual([hour, hour]);
    await stub.publishUpdates();
    await evictTree(stub);
    expect(await lastUses()).toEqual([hour, hour]);
  });

  it("what its tree says that knows the newest watermark", async () => {
    const { client_token: token } = await createToken(root, { no_parent: true });
    await post("auth/token/roles/marked", {});
    await post("sys/leases/revoke-prefix/auth/token/create/marked", { sync: true });
    const { calls } = callsTo(TokenTree, "endOf");
    expect(await find(token)).toMatchObject({ state: "live" });
    const installation = await loadInstallation(bindings);
    const newest = installation.ok ? installation.value.watermarks.newest : 0;
    expect(newest).toBeGreaterThan(0);
    expect(calls.map(({ args }) => args[1])).toEqual([newest]);

    const [{ args } = { args: null }] = calls;
    if (!args) throw new Error("the tree was not asked");
    const { stub } = await locate(token);
    const reads = callsTo(System, "snapshot").calls;
    expect(await stub.endOf(args[0], newest)).toBeNull();
    expect(reads).toHaveLength(0);
    // A caller that knows a newer one: the copy of this isolate is too old.
    expect(await stub.endOf(args[0], newest + 1)).toBeNull();
    expect(reads).toHaveLength(1);
  });

  it("when, how and by whom the token ended, before and after the sweep", async () => {
    const { client_token: token, accessor } = await createToken(root, { display_name: "gone", no_parent: true });
    const child = await createToken(token, { policies: ["root"] });
    const { stub } = await locate(token);
    await post("auth/token/revoke", { token });
    const ended = { how: "revoked", by: { display_name: "root" }, request_id: expect.stringMatching(/-/) };
    for (const when of ["before", "after"]) {
      expect([when, await find(token)]).toMatchObject([
        when,
        { state: "ended", kind: "service", ended, token: { accessor } },
      ]);
      expect(await find(accessor)).toMatchObject({ state: "ended", ended, token: { accessor } });
      expect(await find(child.client_token)).toMatchObject({
        state: "ended",
        ended: { how: "revoked with its parent" },
      });
      await sweep(stub);
    }
  });

  it("that its entity has it refused, by the rule of requests, until the entity is enabled", async () => {
    await post("auth/token/roles/person", { allowed_entity_aliases: "*", allowed_policies: "default" });
    for (const type of ["service", "batch"]) {
      const fields = { entity_alias: "staff", policies: ["default"], type };
      const made = (await post("auth/token/create/person", fields)).body.auth;
      const { client_token: token, accessor, entity_id: entity } = made;
      const mayUse = async () => (await call("GET", "auth/token/lookup-self", { token })).status === 200;
      for (const disabled of [false, true, false]) {
        await post(`identity/entity/id/${entity}`, { disabled });
        const { state, message } = await find(token);
        expect([type, state, await mayUse()]).toEqual([type, disabled ? "refused" : "live", !disabled]);
        if (disabled) expect(message).toContain("alive, but refused: its entity is disabled");
        if (type === "batch") continue;
        const { message: ofAccessor } = await find(accessor);
        expect(ofAccessor).toContain(disabled ? "is alive, but refused: its entity is disabled." : "is alive. ");
      }
    }
  });

  it("that its entity was deleted or tampered with, and not that it can be enabled", async () => {
    const person = async (alias: string) => {
      const fields = { entity_alias: alias, policies: ["default"] };
      const { client_token: token, entity_id: id } = (await post("auth/token/create/person", fields)).body.auth;
      return { token: String(token), id: String(id) };
    };
    const refusal = async (token: string) => {
      const { state, message } = await find(token);
      const asked = await post("sys/explain/access", { token, path: "auth/token/lookup-self", operation: "read" });
      return [state, message, dataOf<{ reason: string; message: string }>(asked)] as const;
    };
    const gone = await person("gone");
    await call("DELETE", `identity/entity/id/${gone.id}`, { token: root });
    expect(await refusal(gone.token)).toEqual([
      "refused",
      "This token is alive, but refused: its entity was deleted. It can't be used any more.",
      expect.objectContaining({ reason: "entity", message: "The token is refused: its entity was deleted." }),
    ]);
    const changed = await person("changed");
    const home = homeOf(bindings, changed.id);
    if (!home) throw new Error("the entity has no shard");
    await alter(home, `UPDATE entities SET content = replace(content, 'changed', 'charmed') WHERE id = ?`, changed.id);
    forgetEntities();
    const [state, message, explained] = await refusal(changed.token);
    expect([state, explained.reason]).toEqual(["refused", "entity"]);
    for (const text of [message, explained.message]) expect(text).toContain("was changed by somebody else than Grove");
    const noMethod = new TypeError('The RPC receiver does not implement the method "isTampered".');
    const ofLastRelease = failing(EntityShard, "isTampered", noMethod);
    expect((await refusal(changed.token))[1]).toContain("its entity was deleted");
    ofLastRelease.end();
  });

  it("that these data have no record of a genuine token, which a restore can have left behind", async () => {
    const { client_token: token, accessor } = await createToken(root, { no_parent: true, policies: ["default"] });
    await alter((await locate(token)).stub, "DELETE FROM tokens");
    for (const text of [token, accessor]) {
      const found = await find(text);
      expect(found).toMatchObject({ state: "unknown", kind: "service" });
      expect(found.message).toContain("or it was made after the backup that they come from");
      expect(found.message).not.toContain("has ended");
    }
  });

  it("that it is a chosen id, while the token is alive and after its end, until another token has the id", async () => {
    const chosen = { id: "chosen-by-root", no_parent: true, policies: ["default"] };
    const { accessor } = await createToken(root, chosen);
    const stub = await treeOfAccessor(accessor);
    expect(await find(chosen.id)).toMatchObject({ state: "live", chosen_id: true, token: { accessor } });
    await post("auth/token/revoke", { token: chosen.id });
    for (const when of ["before", "after"]) {
      const ended = { how: "revoked", by: { display_name: "root" } };
      const found = { state: "ended", chosen_id: true, token: { accessor }, ended };
      expect([when, await find(chosen.id)]).toMatchObject([when, found]);
      await sweep(stub);
      // The isolate knows the address of an id for a while.
      forgetCustomId(chosen.id);
    }
    const next = await createToken(root, chosen);
    expect(await find(chosen.id)).toMatchObject({ state: "live", token: { accessor: next.accessor } });
  });

  it("nothing of an id whose token ended longer ago than ends are kept, and of an id that no token ever had", async () => {
    const key = "0123456789abcdef";
    const directory = customIdsOf(bindings, key);
    const address = { key, treeId: "a".repeat(64), row: 5 };
    await directory.release([address], 1_000);
    expect(await directory.findEnded(key)).toEqual({ treeId: address.treeId, row: 5 });
    await directory.release([], 1_000 + 31 * 86_400_000);
    expect(await directory.findEnded(key)).toBeNull();
    await directory.release([address]);
    expect(await directory.findEnded(key)).toBeNull();
  });

  it("that it is a wrapping token, and after it was unwrapped by whom", async () => {
    const headers = { "X-Vault-Wrap-TTL": "60s" };
    const wrapped = await call("POST", "sys/wrapping/wrap", { token: root, body: { a: "b" }, headers });
    const token = (wrapped.body.wrap_info as { token: string }).token;
    expect(await find(token)).toMatchObject({ state: "live", kind: "wrapping" });
    expect(await find(token)).not.toHaveProperty("wrapped_accessor");
    // Of one that holds a token, the accessor leads to that token. To ask spends nothing.
    const made = await call("POST", "auth/token/create", { token: root, body: { ttl: "1h" }, headers });
    const { token: holder, wrapped_accessor: inside } = made.body.wrap_info;
    expect(await find(holder)).toMatchObject({ kind: "wrapping", wrapped_accessor: inside });
    expect((await call("POST", "sys/wrapping/unwrap", { token: holder })).body.auth.accessor).toBe(inside);
    const { stub } = await locate(token);
    await post("sys/wrapping/unwrap", { token });
    await sweep(stub);
    expect(await find(token)).toMatchObject({ state: "ended", kind: "wrapping", ended: { how: "unwrapped" } });
  });

  it("what is in a batch token, and with which token it ends", async () => {
    const parent = await createToken(root, { no_parent: true, policies: ["root"] });
    const fields = { type: "batch", policies: ["default"], display_name: "job", ttl: "1h" };
    const token = (await post("auth/token/create", fields, parent.client_token)).body.auth.client_token;
    const credential = { display_name: "token-job", policies: ["default"], parent: parent.accessor };
    expect(await find(token)).toMatchObject({ state: "live", kind: "batch", credential });
    await post("auth/token/revoke-accessor", { accessor: parent.accessor });
    expect(await find(token)).toMatchObject({ state: "ended", kind: "batch", credential: { parent: null } });
    expect(await find(mistyped(token, 40))).toMatchObject({ state: "unjudged", kind: "part" });
  });

  it("of which team it is, also after its end", async () => {
    await createOrganization(root, "acme");
    const team = await createTeam(root, "acme", "platform");
    const path = `teams/${team}/authentication-token`;
    const made = await api("POST", path, { token: root, body: resource("authentication-tokens", {}) });
    const token = String(made.body.data.attributes.token);
    const metadata = { organization: "acme", team: "platform", team_id: team };
    expect(await find(token)).toMatchObject({
      state: "live",
      kind: "team",
      credential: { accessor: made.body.data.id, metadata },
    });
    await api("DELETE", path, { token: root });
    expect(await find(token)).toMatchObject({ state: "ended", kind: "team", credential: { metadata } });
    expect(await find(mistyped(token, 60))).toMatchObject({ state: "elsewhere" });
  });

  it("that a token is in it, glued to others, without its beginning, or in base64, and of several the worst", async () => {
    const fields = { no_parent: true, policies: ["default"] };
    const { client_token: token, accessor } = await createToken(root, fields);
    const { client_token: gone } = await createToken(root, fields);
    await post("auth/token/revoke", { token: gone });
    const batchFields = { type: "batch", policies: ["default"], ttl: "1h" };
    const batch: string = (await post("auth/token/create", batchFields)).body.auth.client_token;
    const live = { state: "live", kind: "service", token: { accessor } };
    for (const text of [
      token.slice(2),
      `token=${token.slice(2)}`,
      `${token}x`,
      `x${token}`,
      gone + token,
      token + gone,
      btoa(token),
      btoa(`A=b\nVAULT_TOKEN=${token}\n`).replaceAll("=", ""),
      `data:\n  token: ${btoa(token)}\n`,
      btoa(`data:\n  token: ${btoa(token)}\n`),
      btoa(token)
        .match(/.{1,76}/g)
        ?.join("\n") ?? "",
    ])
      expect([text, await find(text)]).toMatchObject([text, live]);
    expect((await find(gone + token)).message).toMatch(/It has 2 tokens; this is about one that is live/);
    expect(await find(gone.slice(2))).toMatchObject({ state: "ended", message: expect.stringContaining("without") });
    for (const text of [batch.slice(2), batch + gone, gone + batch, batch + batch, btoa(batch)])
      expect(await find(text)).toMatchObject({ state: "live", kind: "batch" });
    // A text of which not all was looked through is not said to be harmless.
    const many = Array.from({ length: 60 }, (_, at) => gone.replace("s.", `s.${at}`).slice(0, 86));
    expect(await find(many.join(" "))).toMatchObject({ state: "unjudged" });
    for (const start of ["", gone])
      expect(await find(start + " x".repeat(70_000))).toMatchObject({ state: "unjudged", kind: "text" });
    await createOrganization(root, "within");
    const team = await createTeam(root, "within", "glued");
    const path = `teams/${team}/authentication-token`;
    const made = await api("POST", path, { token: root, body: resource("authentication-tokens", {}) });
    const ofTeam = String(made.body.data.attributes.token);
    for (const text of [ofTeam + gone, batch + ofTeam, btoa(ofTeam)]) expect((await find(text)).state).toBe("live");
    expect(await find(`${gone}${ofTeam}`)).toMatchObject({ state: "live", kind: "team" });
  });

  it("that it is a part of a token of an unknown owner", async () => {
    const { client_token: token } = await createToken(root, { no_parent: true, policies: ["default"] });
    await createOrganization(root, "cut");
    const team = await createTeam(root, "cut", "part");
    const path = `teams/${team}/authentication-token`;
    const made = await api("POST", path, { token: root, body: resource("authentication-tokens", {}) });
    const ofTeam = String(made.body.data.attributes.token);
    for (const text of [token.slice(0, 40), token.slice(43), ofTeam.slice(0, -9), ofTeam.slice(14)])
      expect([text, await find(text)]).toMatchObject([text, { state: "unjudged", kind: "part" }]);
    for (const text of [
      "a".repeat(64),
      crypto.randomUUID(),
      "0".repeat(64),
      "some-long-name-of-a-thing-in-a-cluster-of-ours",
    ])
      expect(await find(text)).toMatchObject({ state: "unknown" });
  });

  it("that it is mistyped or cut off, and which token it begins like", async () => {
    const { client_token: token, accessor } = await createToken(root, { no_parent: true, policies: ["default"] });
    await publishPending(bindings);
    const near = { state: "mistyped", token: { accessor } };
    for (const text of [mistyped(token, 70), token.slice(0, 60), token.slice(2, 60), mistyped(accessor, 80)]) {
      expect(await find(text)).toMatchObject(near);
    }
    const ofTree = await find(mistyped(token, 50));
    expect(ofTree).toMatchObject({ state: "mistyped" });
    expect(ofTree).not.toHaveProperty("token");
    const damaged = [token.slice(30), mistyped(token, 10), mistyped(token.slice(2), 3), mistyped(accessor, 20)];
    for (const text of [...damaged, `${token.slice(0, 9)}!${token.slice(10)}`, token.slice(0, 9) + token.slice(10)]) {
      const found = await find(text);
      expect(found, text).toMatchObject(near);
      expect(found.message).toContain("its beginning is damaged or missing");
    }
    expect(await find(mistyped(mistyped(token, 10), 70))).toMatchObject({ state: "elsewhere" });
    await post("auth/token/revoke-accessor", { accessor });
    await sweep((await locate(token)).stub);
    expect(await find(mistyped(token, 70))).toMatchObject({ ...near, ended: { how: "revoked" } });
  });

  it.each([
    ["hvs.CAESIJ0m2nDwk1H0eHbA", "elsewhere"],
    ["s.made-up", "elsewhere"],
    ["b.made-up", "elsewhere"],
    ["x", "unknown"],
    ["chosen-by-nobody", "unknown"],
  ])("%s, that it is %s", async (text, state) => expect(await find(text)).toMatchObject({ state, kind: "" }));
});

it.each([[{}], [{ token: "a", accessor: "b" }], [{ token: "a", name: "b" }], [{ token: ["a"] }]])(
  "refuses %j",
  async (body) => expect((await post("sys/tokens/find", body)).status).toBe(400),
);

it("needs sudo as the list does", async () => {
  const policy = 'path "sys/tokens*" { capabilities = ["read", "update"] }';
  await post("sys/policies/acl/finder", { policy });
  const { client_token } = await createToken(root, { policies: ["finder"] });
  expect((await post("sys/tokens/find", { token: root }, client_token)).status).toBe(403);
});
