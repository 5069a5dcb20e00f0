import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { loadInstallation } from "../../../src/system/installation.ts";
import { teamRoute } from "../../../src/team/ids.ts";
import { sendToWebhook } from "../../../src/team/notices/webhooks.ts";
import { organizationNamed, teamAt } from "../../../src/team/stubs.ts";
import { bindings, initialized } from "../../support/service.ts";
import { tamperingLines, writeStorage } from "../../support/storage-writer.ts";
import { api, describeToken, organizationWithTeam, resource } from "../../support/teams.ts";

const NOW = Date.UTC(2095, 0, 1);
const DAY = 86_400_000;

let root: string;
let name: string;
let teamId: string;
let hookId: string;
/** URLs that something was sent to, with the documents. */
let sent: { readonly url: string; readonly text: string }[];
let status: number;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  sent = [];
  status = 200;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const request = new Request(input);
    sent.push({ url: request.url, text: await request.text() });
    return new Response(null, { status });
  });
  ({ organization: name, teamId } = await organizationWithTeam(root));
  hookId = (await makeWebhook()).body.data.id;
  await describeToken(root, teamId, "CI", new Date(NOW + 20 * DAY).toISOString());
  sent = [];
});

afterEach(() => {
  vi.useRealTimers();
});

const path = (rest = "") => `organizations/${name}/notification-configurations${rest}`;
const makeWebhook = () =>
  api("POST", path(), {
    token: root,
    body: resource("notification-configurations", {
      name: "pager",
      url: "https://hooks.example.com/",
      token: "the key of the signatures",
      enabled: true,
    }),
  });
const team = () => teamAt(bindings, teamRoute(teamId));
const organization = () => organizationNamed(bindings, name);
const alarmAt = async (ms: number) => {
  vi.setSystemTime(ms);
  await runDurableObjectAlarm(team());
};

it("a webhook whose URL was changed in the storage is sent nothing and is on record, until it is made again", async () => {
  const lines = tamperingLines();
  await writeStorage(organization(), "UPDATE webhooks SET record = replace(record, 'hooks.', 'elsewhere.')");
  await alarmAt(NOW + 13 * DAY);
  expect(sent).toEqual([]);
  expect((await api("GET", path(`/${hookId}`), { token: root })).status).toBe(404);
  const object = organization().id.toString();
  expect(lines()).toContainEqual({ type: "tampering", kind: "webhook", object, row: hookId });
  expect((await organization().checkSeals(null)).tampered).toBe(1);

  expect((await api("DELETE", path(`/${hookId}`), { token: root })).status).toBe(204);
  expect((await makeWebhook()).status).toBe(201);
  await alarmAt(NOW + 20 * DAY);
  expect(sent.map(({ url }) => url)).toEqual(["https://hooks.example.com/", "https://hooks.example.com/"]);
});

it("a notice that was changed in the storage is not sent, on record, and keeps no alarm going", async () => {
  status = 503;
  await alarmAt(NOW + 13 * DAY);
  expect(sent).toHaveLength(1);
  status = 200;
  const lines = tamperingLines();
  await writeStorage(team(), `UPDATE notices SET document = '{"forged":true}', next_at = 0`);
  await alarmAt(NOW + 14 * DAY);
  expect(sent).toHaveLength(1);
  const object = team().id.toString();
  expect(lines()).toContainEqual({ type: "tampering", kind: "team notice", object, row: expect.any(String) });
  expect((await team().compare("")).tampered).toBe(1);
  expect(await runInDurableObject(team(), (_, { storage }) => storage.getAlarm())).toBe(NOW + 20 * DAY);
});

it("the key of a webhook's signatures opens for no other URL", async () => {
  const [webhook] = (await organization().webhooks(name)) ?? [];
  const installation = await loadInstallation(bindings);
  if (!webhook || !installation.ok) throw new Error("there is a webhook");
  const elsewhere = { ...webhook, url: "https://elsewhere.example.com/" };
  const send = (to: typeof webhook) => sendToWebhook(bindings, installation.value.keys, to, "id", {});
  expect(await send(elsewhere)).toMatchObject({ delivered: false, error: "the token of the webhook does not open" });
  expect(sent).toEqual([]);
  expect(await send(webhook)).toMatchObject({ delivered: true });
});
