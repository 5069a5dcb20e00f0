import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Api } from "../../../console/api.ts";
import { actorNamed } from "../../../console/audit/named-actor.ts";
import { consoleToken } from "../../support/console-token.ts";

const TIMES = { since: "", until: "" };

/** The names of entities by id; null: the list is refused. */
let entities: Readonly<Record<string, string>> | null = {};
/** The accessors of the live tokens with the name. */
let tokens: readonly string[] = [];
/** The accessors of the lately ended tokens with the name. */
let ended: readonly string[] = [];
/** The paths that were asked. */
let asked: string[] = [];

beforeEach(() => {
  asked = [];
  vi.stubGlobal("fetch", async (url: string | URL) => {
    const { pathname } = new URL(String(url), "https://grove.example.com");
    asked.push(pathname);
    if (pathname === "/v1/sys/tokens")
      return Response.json({ data: { tokens: tokens.map((accessor) => consoleToken({ accessor })), next: "" } });
    if (!entities) return Response.json({ errors: ["permission denied"] }, { status: 403 });
    const listed = Object.entries(entities).map(([id, name]) => [id, { name, aliases: [] }]);
    return Response.json({ data: { key_info: Object.fromEntries(listed) } });
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

const named = (name: string) =>
  actorNamed(new Api("t"), name, TIMES, async () => ended.map((accessor) => consoleToken({ accessor })));

it("a name leads to the events of its entity, in any case, and no other list is read", async () => {
  entities = { e1: "alice-2", e2: "Alice" };
  tokens = ["a1"];
  expect(await named("alice")).toEqual({ href: "/ui/audit?entity_id=e2", problem: "" });
  expect(asked).toEqual(["/v1/identity/entity/id"]);
});

it("a name of no entity leads to the only live token with it", async () => {
  entities = { e1: "bob" };
  tokens = ["a1"];
  expect(await named("alice")).toEqual({ href: "/ui/audit?actor=a1", problem: "" });
  entities = null;
  expect(await named("alice")).toEqual({ href: "/ui/audit?actor=a1", problem: "" });
  tokens = ["a1", "a2"];
  expect(await named("alice")).toEqual({ href: "", problem: expect.stringMatching(/^Several tokens have this name/) });
});

it("a name of no live token leads to the only ended one, and a name that is unknown is no beginning of a path", async () => {
  entities = null;
  tokens = [];
  ended = ["a3"];
  expect(await named("alice")).toEqual({ href: "/ui/audit?actor=a3", problem: "" });
  ended = ["a3", "a4"];
  expect(await named("alice")).toMatchObject({ href: "", problem: expect.stringMatching(/^Several tokens/) });
  ended = [];
  expect(await named("alice")).toMatchObject({ href: "", problem: expect.stringMatching(/^No entity, live token or/) });
});
