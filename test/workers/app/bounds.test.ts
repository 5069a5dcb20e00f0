import { beforeAll, expect, it } from "vitest";
import { call, initialized } from "../../support/service.ts";
import { api, createOrganization, resource } from "../../support/teams.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
  await createOrganization(root, "acme");
});

const text = (length: number) => "x".repeat(length);
const texts = (length: number) => Array.from({ length }, (_, at) => `x${at}`);
const path = (query: Record<string, string>) => new URLSearchParams(query).toString();
const pairs = (length: number) =>
  texts(length)
    .map((name) => `metadata=${name}=v`)
    .join("&");

type Send = (sent: unknown) => Promise<{ readonly status: number; readonly body: unknown }>;

function post(endpoint: string): Send {
  return (body) => call("POST", endpoint, { token: root, body });
}

function get(endpoint: string): Send {
  return (query) => call("GET", `${endpoint}?${query}`, { token: root });
}

const webhook: Send = (attributes) => {
  const body = resource("notification-configurations", attributes as Record<string, unknown>);
  return api("POST", "organizations/acme/notification-configurations", { token: root, body });
};
const create = post("auth/token/create");
const ends = get("sys/tokens/ends");
const list = get("sys/tokens");
const hook = (attributes: Record<string, unknown>) => ({
  ...{ name: "a", url: "https://hook.example.com/", enabled: false, triggers: [], "destination-type": "generic" },
  ...attributes,
});

it.each<[string, Send, unknown, unknown, RegExp]>([
  [
    "the metadata of a token",
    create,
    { meta: { a: text(65_528) } },
    { meta: { a: text(65_529) } },
    /meta is too large/,
  ],
  ["a policy of a token", create, { policies: [text(256)] }, { policies: [text(257)] }, /policy is too long/],
  ["an alias", create, { entity_alias: text(512) }, { entity_alias: text(513) }, /entity_alias is too long/],
  ["a display name", create, { display_name: text(512) }, { display_name: text(513) }, /display_name is too long/],
  ["a path", post("sys/capabilities-self"), { paths: [text(2048)] }, { paths: [text(2049)] }, /path is too long/],
  [
    "entities that are looked up",
    post("identity/lookup/entities"),
    { ids: texts(100) },
    { ids: texts(101) },
    /100 ids/,
  ],
  [
    "entities that are merged",
    post("identity/entity/merge"),
    { to_entity_id: "a", from_entity_ids: texts(100) },
    { to_entity_id: "a", from_entity_ids: texts(101) },
    /100 ids/,
  ],
  [
    "leases that are verified",
    post("sys/tokens/verify-ended"),
    { lease_ids: texts(100) },
    { lease_ids: texts(101) },
    /more than 100/,
  ],
  [
    "data of a lease",
    post("sys/leases/register"),
    { token: "none", path: "db/x", target: "https://db.example.com/", data: { a: text(8184) } },
    { token: "none", path: "db/x", target: "https://db.example.com/", data: { a: text(8185) } },
    /data is too large/,
  ],
  ["the intervals of ends", ends, "parts=100", "parts=101", /parts is at most 100/],
  ["the groups of ends", ends, "limit=100", "limit=101", /limit is at most 100/],
  ["the interval of ends", ends, "step=2678400", "step=2678401", /31 days/],
  ["tokens of a page", list, "limit=1000", "limit=1001", /limit/],
  ["a short search", list, "search=abc", "search=ab", /3 to 128/],
  ["a long search", list, path({ search: text(128) }), path({ search: text(129) }), /3 to 128/],
  ["pairs of a filter", list, pairs(32), pairs(33), /32 pairs/],
  ["the name of a webhook", webhook, hook({ name: text(255) }), hook({ name: text(256) }), /1 to 255/],
  ["no name of a webhook", webhook, hook({ name: "b" }), hook({ name: "" }), /1 to 255/],
  ["the key of a webhook", webhook, hook({ token: text(255) }), hook({ token: text(256) }), /1 to 255/],
])("%s: what is just allowed is not refused for its size", async (_, send, most, tooMuch, message) => {
  const taken = await send(most);
  expect(taken.status).toBeLessThan(500);
  expect(JSON.stringify(taken.body)).not.toMatch(message);
  const refused = await send(tooMuch);
  expect([400, 422]).toContain(refused.status);
  expect(JSON.stringify(refused.body)).toMatch(message);
});
