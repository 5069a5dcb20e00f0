import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { createHmac } from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { forgetInstallation } from "../../../src/system/installation.ts";
import { System } from "../../../src/system/system.ts";
import { teamRoute } from "../../../src/team/ids.ts";
import { MAX_NOTICE_ATTEMPTS } from "../../../src/team/notices/notice-times.ts";
import { Organization } from "../../../src/team/organization.ts";
import { organizationNamed, teamAt } from "../../../src/team/stubs.ts";
import { failing } from "../../support/calls.ts";
import { storedText } from "../../support/rows.ts";
import { bindings, initialized } from "../../support/service.ts";
import { type ApiResource, api, describeToken, errorOf, organizationWithTeam, resource } from "../../support/teams.ts";

const NOW = Date.UTC(2095, 0, 1);
const DAY = 86_400_000;
const SECRET = "the key of the webhook";
const URL_OF_HOOK = "https://hooks.example.com/grove";

interface Arrived {
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown> & { notifications: { trigger: string }[] };
}

let root: string;
let name: string;
let teamId: string;
let arrived: Arrived[];
let answer: () => number | Error;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  vi.spyOn(console, "error").mockImplementation(() => {});
  arrived = [];
  answer = () => 200;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const request = new Request(input);
    const text = await request.text();
    expect(request.redirect).toBe("manual");
    arrived.push({ url: request.url, headers: request.headers, text, body: JSON.parse(text) });
    const status = answer();
    if (status instanceof Error) throw status;
    return new Response("what nobody reads", { status });
  });
  ({ organization: name, teamId } = await organizationWithTeam(root));
});

afterEach(() => {
  vi.useRealTimers();
});

const path = (rest = "") => `organizations/${name}/notification-configurations${rest}`;
const hook = (attributes: Record<string, unknown> = {}) =>
  api("POST", path(), {
    token: root,
    body: resource("notification-configurations", {
      name: "pager",
      url: URL_OF_HOOK,
      token: SECRET,
      enabled: true,
      "destination-type": "generic",
      ...attributes,
    }),
  });
const team = () => teamAt(bindings, teamRoute(teamId));
const triggers = () => arrived.map(({ body }) => body.notifications[0]?.trigger);
const iso = (ms: number) => new Date(ms).toISOString();
const deliveries = async (id: string) =>
  (await api<ApiResource[]>("GET", path(`/${id}/deliveries`), { token: root })).body.data.map(
    ({ attributes }) => attributes,
  );
const at = async (ms: number) => {
  vi.setSystemTime(ms);
  await runDurableObjectAlarm(team());
};

describe("a webhook of an organization", () => {
  it("201: made when it takes a signed verification; shown without its token; changed and deleted", async () => {
    const made = await hook();
    expect(made.status).toBe(201);
    expect(made.body.data).toEqual({
      id: expect.stringMatching(/^nc-/),
      type: "notification-configurations",
      attributes: {
        name: "pager",
        url: URL_OF_HOOK,
        enabled: true,
        token: null,
        triggers: ["team_token:expires_in_30_days", "team_token:expires_in_7_days", "team_token:expired"],
        "destination-type": "generic",
        "created-at": iso(NOW),
      },
    });
    const [verification] = arrived;
    expect([verification?.url, triggers()]).toEqual([URL_OF_HOOK, ["verification"]]);
    const signature = createHmac("sha512", SECRET)
      .update(verification?.text ?? "")
      .digest("hex");
    expect(verification?.headers.get("X-TFE-Notification-Signature")).toBe(signature);
    const { id } = made.body.data;
    const listed = await api<ApiResource[]>("GET", path(), { token: root });
    expect(listed.body.data).toEqual([made.body.data]);
    expect(JSON.stringify(listed.body)).not.toContain(SECRET);
    const stored = await storedText(organizationNamed(bindings, name));
    expect(stored).toContain(URL_OF_HOOK);
    expect(stored).not.toContain(SECRET);
    const off = await api("PATCH", path(`/${id}`), {
      token: root,
      body: resource("notification-configurations", { enabled: false, triggers: ["team_token:expired"] }),
    });
    expect(off.body.data.attributes).toMatchObject({ enabled: false, triggers: ["team_token:expired"], name: "pager" });
    expect((await api("POST", path(`/${id}/actions/verify`), { token: root })).status).toBe(200);
    expect(arrived).toHaveLength(2);
    expect((await api("DELETE", path(`/${id}`), { token: root })).status).toBe(204);
    for (const rest of [`/${id}`, `/${id}/deliveries`]) {
      expect((await api("GET", path(rest), { token: root })).status).toBe(404);
    }
    const body = resource("notification-configurations", { enabled: true });
    expect((await api("PATCH", path(`/${id}`), { token: root, body })).status).toBe(404);
  });

  it("422: that does not take the verification is not made, and no change to one is", async () => {
    for (const refusal of [500, 302, new TypeError("refused")]) {
      answer = () => refusal;
      const refused = await hook();
      expect(refused.status).toBe(422);
      expect(errorOf(refused).source).toEqual({ pointer: "/data/attributes/url" });
    }
    expect((await api<ApiResource[]>("GET", path(), { token: root })).body.data).toEqual([]);
    const off = await hook({ enabled: false });
    expect(off.status).toBe(201);
    const on = await api("PATCH", path(`/${off.body.data.id}`), {
      token: root,
      body: resource("notification-configurations", { enabled: true }),
    });
    expect(on.status).toBe(422);
    expect((await api("GET", path(`/${off.body.data.id}`), { token: root })).body.data.attributes.enabled).toBe(false);
  });

  it.each([
    ["url", "http://hooks.example.com/"],
    ["url", "https://127.0.0.1/"],
    ["url", "https://metadata.internal/"],
    ["url", "https://user:password@hooks.example.com/"],
    ["url", "service://SERVICE/x"],
    ["url", "x"],
    ["triggers", ["run:created"]],
    ["destination-type", "slack"],
    ["name", ""],
    ["name", "pager\u0007"],
    ["name", "pager\n"],
    ["name", "pager\u202e"],
    ["token", ""],
  ])("422: with %s %j", async (attribute, value) => {
    const answered = await hook({ [attribute]: value });
    expect(answered.status).toBe(422);
    expect(errorOf(answered).source).toEqual({ pointer: `/data/attributes/${attribute}` });
    expect(arrived).toEqual([]);
  });

  it("422: a change to a name with control characters", async () => {
    const { id } = (await hook({ enabled: false })).body.data;
    const body = resource("notification-configurations", { name: "pager\u001b[2J" });
    expect((await api("PATCH", path(`/${id}`), { token: root, body })).status).toBe(422);
    expect((await api("GET", path(`/${id}`), { token: root })).body.data.attributes.name).toBe("pager");
  });

  it("404, 422: a change that waited for the verification undoes neither a deletion nor another change", async () => {
    const change = (id: string, attributes: Record<string, unknown>) =>
      api("PATCH", path(`/${id}`), { token: root, body: resource("notification-configurations", attributes) });
    const duringVerification = (happens: () => Promise<unknown>) =>
      vi.mocked(globalThis.fetch).mockImplementationOnce(async () => {
        await happens();
        return new Response(null);
      });
    const { id } = (await hook()).body.data;
    duringVerification(() => change(id, { enabled: false }));
    expect((await change(id, { name: "late" })).status).toBe(422);
    expect((await api("GET", path(`/${id}`), { token: root })).body.data.attributes).toMatchObject({
      name: "pager",
      enabled: false,
    });
    duringVerification(() => api("DELETE", path(`/${id}`), { token: root }));
    expect((await change(id, { enabled: true })).status).toBe(404);
    expect((await api<ApiResource[]>("GET", path(), { token: root })).body.data).toEqual([]);
  });

  it("keeps its token when its URL changes", async () => {
    const { id } = (await hook()).body.data;
    arrived = [];
    const body = resource("notification-configurations", { url: "https://elsewhere.example.com/" });
    expect((await api("PATCH", path(`/${id}`), { token: root, body })).status).toBe(200);
    const [verification] = arrived;
    expect(verification?.url).toBe("https://elsewhere.example.com/");
    expect(verification?.headers.get("X-TFE-Notification-Signature")).toBe(
      createHmac("sha512", SECRET)
        .update(verification?.text ?? "")
        .digest("hex"),
    );
  });

  it("422: more than 20; 404: of an organization that does not exist", async () => {
    for (let i = 0; i < 20; i++) expect((await hook({ enabled: false })).status).toBe(201);
    expect((await hook({ enabled: false })).status).toBe(422);
    expect((await api("GET", "organizations/nowhere/notification-configurations", { token: root })).status).toBe(404);
  });
});

describe("notices of a token that ends", () => {
  it("come at 30 and 7 days and at the end, once each, signed, and with nothing secret in them", async () => {
    const { id } = (await hook()).body.data;
    const token = await describeToken(root, teamId, "CI", iso(NOW + 90 * DAY));
    arrived = [];
    expect(await runInDurableObject(team(), (_, state) => state.storage.getAlarm())).toBe(NOW + 60 * DAY);
    for (const day of [59, 60, 61, 83, 84, 90, 91]) await at(NOW + day * DAY);
    expect(triggers()).toEqual(["team_token:expires_in_30_days", "team_token:expires_in_7_days", "team_token:expired"]);
    const [first] = arrived;
    expect(first?.body).toMatchObject({
      notification_configuration_id: id,
      organization_name: name,
      team_id: teamId,
      team_name: "team",
      token_id: token.id,
      token_description: "CI",
      token_expired_at: iso(NOW + 90 * DAY),
    });
    expect(first?.headers.get("X-TFE-Notification-Signature")).toBe(
      createHmac("sha512", SECRET)
        .update(first?.text ?? "")
        .digest("hex"),
    );
    for (const { text, headers } of arrived) {
      expect(text + JSON.stringify([...headers])).not.toContain("atlasv1");
      expect(text).not.toContain(SECRET);
    }
    expect(await deliveries(id)).toMatchObject([
      { trigger: "team_token:expired", state: "delivered", attempts: 1, code: 200 },
      { trigger: "team_token:expires_in_7_days" },
      { trigger: "team_token:expires_in_30_days", "sent-at": iso(NOW + 60 * DAY) },
    ]);
    expect(await runInDurableObject(team(), (_, state) => state.storage.getAlarm())).toBeNull();
  });

  it("are not about times before the token or the webhook was made, nor about triggers that nobody subscribed to", async () => {
    await describeToken(root, teamId, "short", iso(NOW + 10 * DAY));
    await describeToken(root, teamId, "never");
    await at(NOW + 3 * DAY);
    vi.setSystemTime(NOW + 4 * DAY);
    await hook({ triggers: ["team_token:expired"] });
    await hook({ enabled: false });
    arrived = [];
    await at(NOW + 10 * DAY);
    await at(NOW + 11 * DAY);
    expect(triggers()).toEqual(["team_token:expired"]);
  });

  it("stop with the token and with its team", async () => {
    await hook();
    const token = await describeToken(root, teamId, "CI", iso(NOW + 90 * DAY));
    arrived = [];
    answer = () => 500;
    await at(NOW + 60 * DAY);
    expect(arrived).toHaveLength(1);
    await api("DELETE", `authentication-tokens/${token.id}`, { token: root });
    await at(NOW + 61 * DAY);
    await at(NOW + 90 * DAY);
    expect(arrived).toHaveLength(1);
  });

  it("are sent again after a pause that grows, and given up in the end; readable all the way", async () => {
    const { id } = (await hook()).body.data;
    await describeToken(root, teamId, "CI", iso(NOW + 20 * DAY));
    arrived = [];
    answer = () => 503;
    await at(NOW + 13 * DAY);
    expect(await deliveries(id)).toMatchObject([{ state: "waiting", attempts: 1, code: 503 }]);
    answer = () => new TypeError("refused");
    const pauses: number[] = [];
    for (let attempt = 2; attempt <= MAX_NOTICE_ATTEMPTS; attempt++) {
      const due = await runInDurableObject(team(), (_, state) => state.storage.getAlarm());
      pauses.push((due ?? 0) - Date.now());
      await at(due ?? 0);
      expect(arrived).toHaveLength(attempt);
    }
    expect(pauses[0]).toBeGreaterThanOrEqual(7_500);
    expect(pauses.at(-1)).toBeGreaterThan(3_600_000);
    expect(new Set(arrived.map(({ headers }) => headers.get("Idempotency-Key"))).size).toBe(1);
    expect(await deliveries(id)).toMatchObject([
      { state: "failed", attempts: MAX_NOTICE_ATTEMPTS, code: null, error: "can't be reached" },
    ]);
    answer = () => 200;
    await at(NOW + 20 * DAY);
    expect(await deliveries(id)).toMatchObject([
      { trigger: "team_token:expired", state: "delivered" },
      { state: "failed" },
    ]);
  });

  it("wait for the keys of a service that does not answer for longer than the platform repeats an alarm", async () => {
    const away = failing(System, "snapshot", "away");
    forgetInstallation();
    await runInDurableObject(team(), async (object, { storage }) => {
      await storage.deleteAlarm();
      await object.alarm();
      expect(await storage.getAlarm()).toBe(NOW + 30_000);
    });
    away.end();
  });

  it("are sent once although the organization does not answer at first", async () => {
    const { id } = (await hook()).body.data;
    await describeToken(root, teamId, "CI", iso(NOW + 20 * DAY));
    arrived = [];
    const organization = organizationNamed(bindings, name);
    await runInDurableObject(organization, (instance) => {
      Object.defineProperty(instance, "noteDeliveries", { configurable: true, value: null });
    });
    await at(NOW + 13 * DAY);
    await runInDurableObject(organization, (instance) => {
      Reflect.deleteProperty(instance, "noteDeliveries");
    });
    await at(NOW + 13 * DAY + 3_600_000);
    expect(arrived).toHaveLength(1);
    expect(await deliveries(id)).toMatchObject([{ state: "delivered", attempts: 1 }]);
  });

  it("are recorded when the organization is notified of another notice first", async () => {
    const { id } = (await hook()).body.data;
    vi.spyOn(Math, "random").mockReturnValue(1);
    await describeToken(root, teamId, "CI", iso(NOW + 20 * DAY));
    await describeToken(root, teamId, "CD", iso(NOW + 20 * DAY + 60_000));
    arrived = [];
    answer = () => 503;
    await at(NOW + 13 * DAY);
    answer = () => 200;
    const away = failing(Organization, "noteDeliveries");
    await at(NOW + 13 * DAY + 23_000);
    away.end();
    for (const ms of [61_000, 70_000]) await at(NOW + 13 * DAY + ms);
    expect(arrived).toHaveLength(3);
    expect(await deliveries(id)).toMatchObject([
      { state: "delivered", attempts: 1 },
      { state: "delivered", attempts: 2 },
    ]);
  });
});
