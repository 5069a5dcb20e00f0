import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { teamRoute } from "../../../src/team/ids.ts";
import { teamAt } from "../../../src/team/stubs.ts";
import { rowsOf, storedText } from "../../support/rows.ts";
import { bindings, initialized, tokenUnder } from "../../support/service.ts";
import {
  type ApiResource,
  api,
  describeToken,
  errorOf,
  generateToken,
  idsOf,
  list,
  organizationWithTeam,
  resource,
  statusOf,
} from "../../support/teams.ts";

const NOW = Date.UTC(2085, 0, 1);
const DAY = 86_400_000;
const KEY = "a key that nobody else has";

let root: string;
let name: string;
let teamId: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  ({ organization: name, teamId } = await organizationWithTeam(root));
});

afterEach(() => {
  vi.useRealTimers();
});

const rotate = (id: string, attributes: Record<string, unknown>, token = root) =>
  api("POST", `authentication-tokens/${id}/actions/rotate`, {
    token,
    body: resource("authentication-tokens", attributes),
  });
const textOf = ({ body }: { body: { data: ApiResource } }) => body.data.attributes.token as string;
const iso = (ms: number) => new Date(ms).toISOString();
const configure = async (attributes: Record<string, unknown>) =>
  expect(
    (await api("PATCH", `organizations/${name}`, { token: root, body: resource("organizations", attributes) })).status,
  ).toBe(200);
const limitTo = (ms: number) =>
  api("PATCH", `organizations/${name}/token-ttl-policies`, {
    token: root,
    body: resource("organization-token-ttl-policies", {
      "token-ttl-policies": [{ "token-type": "team", "max-ttl-ms": ms }],
    }),
  });

describe("rotation", () => {
  it("201: a new token at once; the old one ends exactly at the end of the overlap", async () => {
    const old = await describeToken(root, teamId, "CI", iso(NOW + 90 * DAY));
    vi.setSystemTime(NOW + 80 * DAY);
    const answer = await rotate(old.id, { "overlap-seconds": 60 });
    expect(answer.status).toBe(201);
    // It lives as long as the old one was to.
    expect(answer.body.data).toMatchObject({
      type: "authentication-tokens",
      attributes: { description: "CI", "expired-at": iso(NOW + 170 * DAY), "last-used-at": null },
    });
    const next = { id: answer.body.data.id, text: textOf(answer) };
    expect([await statusOf(old.text), await statusOf(next.text)]).toEqual([200, 200]);
    const shown = await api("GET", `authentication-tokens/${old.id}`, { token: root });
    expect(shown.body.data.attributes).toMatchObject({
      "expired-at": iso(NOW + 80 * DAY + 60_000),
      "rotated-at": iso(NOW + 80 * DAY),
      "rotated-to": next.id,
    });
    expect(idsOf(await list(root, name, "team-tokens"))).toEqual([old.id, next.id]);
    vi.setSystemTime(NOW + 80 * DAY + 59_999);
    expect([await statusOf(old.text), await statusOf(next.text)]).toEqual([200, 200]);
    vi.setSystemTime(NOW + 80 * DAY + 60_000);
    expect([await statusOf(old.text), await statusOf(next.text)]).toEqual([401, 200]);
  });

  it("with no overlap ends the old one at once; an end of its own that comes first stays", async () => {
    const none = await describeToken(root, teamId, "none");
    expect((await rotate(none.id, { "overlap-seconds": 0 })).body.data.attributes["expired-at"]).toBeNull();
    expect(await statusOf(none.text)).toBe(401);
    const soon = await describeToken(root, teamId, "soon", iso(NOW + 1000));
    await rotate(soon.id, { "overlap-seconds": 3600, "expired-at": iso(NOW + DAY) });
    vi.setSystemTime(NOW + 1000);
    expect(await statusOf(soon.text)).toBe(401);
  });

  it("of the token without a description leaves the new one in its place", async () => {
    const old = await generateToken(root, teamId);
    const next = (await rotate(old.id, { "overlap-seconds": 60 })).body.data.id;
    expect((await api("GET", `teams/${teamId}/authentication-token`, { token: root })).body.data.id).toBe(next);
    const replaced = await generateToken(root, teamId);
    expect(idsOf(await list(root, name, "team-tokens?sort=expired-at"))).toEqual([old.id, replaced.id]);
    expect((await rotate(teamId, { "overlap-seconds": 60 })).status).toBe(404);
  });

  it("repeated with the same key answers the same token, also when two come at once", async () => {
    const old = await describeToken(root, teamId, "CI");
    const request = { "overlap-seconds": 60, "idempotency-key": KEY };
    const both = await Promise.all([rotate(old.id, request), rotate(old.id, request)]);
    vi.setSystemTime(NOW + DAY - 1);
    const later = await rotate(old.id, request);
    expect([...both, later].map((answer) => answer.status)).toEqual([201, 201, 201]);
    expect(new Set([...both, later].map(textOf)).size).toBe(1);
    expect(await statusOf(textOf(later))).toBe(200);
    expect(idsOf(await list(root, name, "team-tokens"))).toHaveLength(2);
  });

  it("422: a second time without the key, with another, with other attributes, after a day, or after the new one is gone", async () => {
    const old = await describeToken(root, teamId, "CI");
    const request = { "overlap-seconds": 60, "idempotency-key": KEY };
    const first = await rotate(old.id, request);
    for (const other of [
      { "overlap-seconds": 60 },
      { ...request, "idempotency-key": `${KEY}!` },
      { ...request, "overlap-seconds": 61 },
      { ...request, "expired-at": iso(NOW + DAY) },
    ]) {
      const answer = await rotate(old.id, other);
      expect(answer.status).toBe(422);
      expect(JSON.stringify(answer.body)).not.toContain("atlasv1");
    }
    await api("DELETE", `authentication-tokens/${first.body.data.id}`, { token: root });
    expect((await rotate(old.id, request)).status).toBe(422);
    const plain = await describeToken(root, teamId, "plain");
    await rotate(plain.id, { "overlap-seconds": 60 });
    expect((await rotate(plain.id, { "overlap-seconds": 60 })).status).toBe(422);
    const late = await describeToken(root, teamId, "late");
    await rotate(late.id, request);
    vi.setSystemTime(NOW + DAY);
    expect((await rotate(late.id, request)).status).toBe(422);
  });

  it("keeps the text of the new token sealed, and nothing of it when the old token goes", async () => {
    const old = await describeToken(root, teamId, "CI");
    const next = await rotate(old.id, { "overlap-seconds": 60, "idempotency-key": KEY });
    const team = teamAt(bindings, teamRoute(teamId));
    const replays = async () => (await rowsOf(team, "tokens")).map(({ replay }) => replay);
    expect((await replays()).filter((replay) => replay !== null)).toHaveLength(1);
    expect(await storedText(team)).not.toContain("atlasv1");
    for (const due of [NOW + 60_000, NOW + DAY]) {
      expect(await runInDurableObject(team, (_, state) => state.storage.getAlarm())).toBe(due);
      vi.setSystemTime(due);
      await runDurableObjectAlarm(team);
    }
    expect((await api("GET", `authentication-tokens/${old.id}`, { token: root })).status).toBe(404);
    expect(idsOf(await list(root, name, "team-tokens"))).toEqual([next.body.data.id]);
    expect((await replays()).every((replay) => replay === null)).toBe(true);
    expect(await runInDurableObject(team, (_, state) => state.storage.getAlarm())).toBeNull();
  });

  it("422: of a token that has ended; 404: of one that is unknown", async () => {
    const old = await describeToken(root, teamId, "CI", iso(NOW + 1000));
    vi.setSystemTime(NOW + 1000);
    expect((await rotate(old.id, { "overlap-seconds": 60 })).status).toBe(422);
    for (const id of ["at-AAAAAAAAAAAAAAAA", "x"]) {
      expect((await rotate(id, { "overlap-seconds": 60 })).status).toBe(404);
    }
  });

  it.each([
    ["overlap-seconds", {}],
    ["overlap-seconds", { "overlap-seconds": -1 }],
    ["overlap-seconds", { "overlap-seconds": 2_592_001 }],
    ["overlap-seconds", { "overlap-seconds": "60" }],
    ["idempotency-key", { "overlap-seconds": 60, "idempotency-key": "short" }],
    ["expired-at", { "overlap-seconds": 60, "expired-at": "2020-01-01T00:00:00Z" }],
  ])("422: a wrong %s", async (attribute, attributes) => {
    const old = await describeToken(root, teamId, "CI");
    const answer = await rotate(old.id, attributes);
    expect(answer.status).toBe(422);
    expect(errorOf(answer).source).toEqual({ pointer: `/data/attributes/${attribute}` });
    expect(idsOf(await list(root, name, "team-tokens"))).toEqual([old.id]);
  });

  it("404: for a caller without the right to it, which a policy can give for one organization", async () => {
    const old = await describeToken(root, teamId, "CI");
    const reader = await tokenUnder(root, `path "authentication-tokens/+" { capabilities = ["read", "update"] }`);
    expect((await rotate(old.id, { "overlap-seconds": 60 }, reader)).status).toBe(404);
    const rotator = await tokenUnder(
      root,
      `path "organizations/${name}/teams/+/authentication-tokens/+/actions/rotate" { capabilities = ["update"] }`,
    );
    expect((await rotate(old.id, { "overlap-seconds": 60 }, rotator)).status).toBe(201);
  });
});

describe("lifetimes of an organization's tokens", () => {
  const endOf = async (id: string) =>
    (await api("GET", `authentication-tokens/${id}`, { token: root })).body.data.attributes["expired-at"];

  it("are as the specification says until it says otherwise: without an end a token never ends", async () => {
    expect(await endOf((await generateToken(root, teamId)).id)).toBeNull();
  });

  it("have a default for tokens without an end", async () => {
    await configure({ "default-team-token-ttl-ms": DAY });
    expect(await endOf((await generateToken(root, teamId)).id)).toBe(iso(NOW + DAY));
    const given = await describeToken(root, teamId, "given", "2099-01-01T00:00:00Z");
    expect(await endOf(given.id)).toBe("2099-01-01T00:00:00Z");
    await configure({ "default-team-token-ttl-ms": null });
    expect(await endOf((await generateToken(root, teamId)).id)).toBeNull();
  });

  it("have a maximum, which applies while it is enabled, to earlier tokens as well", async () => {
    const before = await describeToken(root, teamId, "before");
    const limited = await limitTo(DAY);
    expect(limited.status).toBe(200);
    const shown = await api<ApiResource[]>("GET", `organizations/${name}/token-ttl-policies`, { token: root });
    expect(shown.body.data).toEqual(limited.body.data);
    expect(shown.body.data.map(({ attributes }) => [attributes["token-type"], attributes["max-ttl-ms"]])).toEqual([
      ["organization", 63_072_000_000],
      ["team", DAY],
      ["user", 63_072_000_000],
      ["audit_trails", 63_072_000_000],
    ]);
    expect(await endOf((await generateToken(root, teamId)).id)).toBeNull();
    await configure({ "max-ttl-enabled": true });
    expect(await endOf((await generateToken(root, teamId)).id)).toBe(iso(NOW + DAY));
    const body = resource("", { description: "x", "expired-at": iso(NOW + DAY + 1) });
    const refused = await api("POST", `teams/${teamId}/authentication-tokens`, { token: root, body });
    expect(refused.status).toBe(422);
    expect(errorOf(refused).source).toEqual({ pointer: "/data/attributes/expired-at" });
    vi.setSystemTime(NOW + DAY - 1);
    expect(await statusOf(before.text)).toBe(200);
    vi.setSystemTime(NOW + DAY);
    expect(await statusOf(before.text)).toBe(401);
    await configure({ "max-ttl-enabled": false });
    vi.setSystemTime(NOW + DAY + 5000);
    expect(await statusOf(before.text)).toBe(200);
  });

  it("limit a rotation: what is inherited is cut, what is asked for is refused", async () => {
    const long = await describeToken(root, teamId, "long", iso(NOW + 9 * DAY));
    await limitTo(2 * DAY);
    await configure({ "max-ttl-enabled": true });
    const asked = await rotate(long.id, { "overlap-seconds": 60, "expired-at": iso(NOW + 3 * DAY) });
    expect([asked.status, errorOf(asked).source]).toEqual([422, { pointer: "/data/attributes/expired-at" }]);
    const cut = await rotate(long.id, { "overlap-seconds": 60 });
    expect(cut.body.data.attributes["expired-at"]).toBe(iso(NOW + 2 * DAY));
  });

  it.each([[[]], [[{ "token-type": "team", "max-ttl-ms": 0 }]], [[{ "token-type": "x", "max-ttl-ms": 1 }]], ["team"]])(
    "422: %j as maximum lifetimes",
    async (policies) => {
      const body = resource("organization-token-ttl-policies", { "token-ttl-policies": policies });
      const answer = await api("PATCH", `organizations/${name}/token-ttl-policies`, { token: root, body });
      expect(answer.status).toBe(422);
    },
  );

  it("404: of an organization that does not exist", async () => {
    expect((await api("GET", "organizations/nowhere/token-ttl-policies", { token: root })).status).toBe(404);
  });
});
