import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { call, createToken, dataOf, initialized } from "../../support/service.ts";
import {
  type ApiResource,
  api,
  createOrganization,
  createTeam,
  errorOf,
  type Generated,
  generateToken,
  idsOf,
  list,
  statusOf,
} from "../../support/teams.ts";

let root: string;

afterEach(() => vi.useRealTimers());

beforeAll(async () => {
  root = await initialized();
});

describe("an organization without tokens", () => {
  it("404: there is no such organization, in no other spelling either", async () => {
    await createOrganization(root, "Spelled");
    for (const name of ["nobody", "spelled", "SPELLED", "Spelled%20"]) {
      const answer = await list(root, name, "team-tokens");
      expect(answer.status).toBe(404);
      expect(errorOf(answer)).toMatchObject({ status: "404", title: "not found" });
    }
  });

  it("200: an empty document", async () => {
    await createOrganization(root, "empty");
    await createTeam(root, "empty", "without-token");
    const answer = await list(root, "empty", "team-tokens");
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual([]);
    expect(answer.body.links).toMatchObject({ prev: null, next: null });
    expect(answer.body.meta.pagination).toEqual({
      "current-page": 1,
      "page-size": 20,
      "prev-page": null,
      "next-page": null,
      "total-pages": 0,
      "total-count": 0,
    });
  });
});

describe("the tokens of an organization", () => {
  /** Team name, author, hour of use (0: none) and end of each token; made in this order. */
  const MADE = [
    ["Bravo", "carol", 3, null],
    ["alpha", "Bob", 0, "2091-01-01T00:00:00Z"],
    ["delta", "alice", 1, "2090-01-01T00:00:00Z"],
    ["Charlie", "Bob", 2, null],
    ["echo", "dave", 0, "2090-01-01T00:00:00Z"],
  ] as const;
  const names = new Map<string, string>();

  const namesOf = (answer: Parameters<typeof idsOf>[0]) => idsOf(answer).map((id) => names.get(id));

  beforeAll(async () => {
    await createOrganization(root, "sorted");
    await call("PUT", "sys/policies/acl/generate", {
      token: root,
      body: { policy: `path "teams/+/authentication-token" { capabilities = ["update"] }` },
    });
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const [name, author, hour, end] of MADE) {
      const teamId = await createTeam(root, "sorted", name);
      const { client_token } = await createToken(root, { policies: ["generate"], display_name: author });
      const token: Generated = await generateToken(client_token, teamId, end ?? undefined);
      names.set(token.id, name);
      if (hour === 0) continue;
      vi.setSystemTime(Date.UTC(2080, 0, 1, hour));
      expect(await statusOf(token.text)).toBe(200);
      vi.setSystemTime(Date.UTC(2080, 0, 1));
    }
    vi.useRealTimers();
  });

  it("are shown without their text", async () => {
    const answer = await list(root, "sorted", "team-tokens?q=delta");
    const [only] = dataOf<[ApiResource]>(answer);
    expect(only).toMatchObject({
      type: "team-tokens",
      attributes: { "team-name": "delta", "expired-at": "2090-01-01T00:00:00Z", token: null },
      relationships: { team: { data: { type: "teams" } }, "created-by": { data: { type: "users" } } },
    });
    // What clients in Go take the type from: the last member of the name in any case.
    expect(
      Object.entries(only)
        .filter(([name]) => name.toLowerCase() === "type")
        .at(-1)?.[1],
    ).toBe("authentication-tokens");
    expect(JSON.stringify(answer.body)).not.toContain("atlasv1");
  });

  it.each([
    ["", ["delta", "echo", "alpha", "Bravo", "Charlie"]],
    ["sort=expired-at", ["delta", "echo", "alpha", "Bravo", "Charlie"]],
    ["sort=-expired-at", ["Charlie", "Bravo", "alpha", "echo", "delta"]],
    ["sort=team-name", ["alpha", "Bravo", "Charlie", "delta", "echo"]],
    ["sort=-team-name", ["echo", "delta", "Charlie", "Bravo", "alpha"]],
    ["sort=created-by", ["delta", "alpha", "Charlie", "Bravo", "echo"]],
    ["sort=-created-by", ["echo", "Bravo", "Charlie", "alpha", "delta"]],
    ["sort=last-used-at", ["delta", "Charlie", "Bravo", "alpha", "echo"]],
    ["sort=-last-used-at", ["echo", "alpha", "Bravo", "Charlie", "delta"]],
  ])("come in the order that %s asks for", async (query, expected) => {
    expect(namesOf(await list(root, "sorted", `team-tokens?${query}`))).toEqual(expected);
    // The same order page by page, and in what a search finds: all these names hold an a or an e.
    const pages = [];
    for (let page = 1; page <= 3; page++) {
      pages.push(...namesOf(await list(root, "sorted", `team-tokens?${query}&page[size]=2&page[number]=${page}`)));
    }
    expect(pages).toEqual(expected);
    const found = namesOf(await list(root, "sorted", `team-tokens?${query}&q=a`));
    expect(found).toEqual(expected.filter((name) => name.toLowerCase().includes("a")));
  });

  it.each([
    ["a part in any case", "LPH", ["alpha"]],
    ["one character", "h", ["alpha", "Charlie", "echo"]],
    ["two characters at the end", "ho", ["echo"]],
    ["nothing that exists", "zulu", []],
    ["a wildcard of SQL", "%", []],
    ["an empty text", "", ["alpha", "Bravo", "Charlie", "delta", "echo"]],
  ])("are found by %s", async (_, q, expected) => {
    const answer = await list(root, "sorted", `team-tokens?sort=team-name&q=${encodeURIComponent(q)}`);
    expect(namesOf(answer)).toEqual(expected);
    expect(answer.body.meta.pagination["total-count"]).toBe(expected.length);
  });

  it("in pages with links that lead to the others", async () => {
    const first = await list(root, "sorted", "team-tokens?page[size]=2&sort=team-name&q=a");
    const url = (page: number) =>
      `http://grove.test/api/v2/organizations/sorted/team-tokens?page%5Bsize%5D=2&sort=team-name&q=a&page%5Bnumber%5D=${page}`;
    expect(first.body.links).toEqual({ self: url(1), first: url(1), prev: null, next: url(2), last: url(2) });
    expect(first.body.meta.pagination).toEqual({
      "current-page": 1,
      "page-size": 2,
      "prev-page": null,
      "next-page": 2,
      "total-pages": 2,
      "total-count": 4,
    });
    const second = await api<ApiResource[]>(
      "GET",
      (first.body.links.next ?? "").replace("http://grove.test/api/v2/", ""),
      {
        token: root,
      },
    );
    expect(namesOf(second)).toEqual(["Charlie", "delta"]);
    expect(second.body.links).toEqual({ self: url(2), first: url(1), prev: url(1), next: null, last: url(2) });
  });

  it("in links as the client calls the service, whatever headers it sends", async () => {
    const headers = { "X-Forwarded-Host": "tokens.example:8200", "X-Forwarded-Proto": "https" };
    const ask = async (path: string) => (await api("GET", path, { token: root, headers })).body.links.self;
    expect(await ask("organizations/sorted/team-tokens")).toMatch(
      /^http:\/\/grove\.test\/api\/v2\/organizations\/sorted\/team-tokens\?/,
    );
    expect(await ask("../../v1/organizations/sorted/team-tokens")).toMatch(
      /^http:\/\/grove\.test\/v1\/organizations\//,
    );
  });

  it("page after the last: empty, and the way back is known", async () => {
    const answer = await list(root, "sorted", "team-tokens?page[size]=2&page[number]=9");
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual([]);
    expect(answer.body.meta.pagination).toMatchObject({ "prev-page": 3, "next-page": null, "total-count": 5 });
  });

  it.each([
    ["page[size]", "0"],
    ["page[size]", "101"],
    ["page[size]", "-1"],
    ["page[size]", "x"],
    ["page[size]", ""],
    ["page[number]", "0"],
    ["page[number]", "1.5"],
    ["page[number]", "1e3"],
    ["page[number]", "99999999999"],
    ["sort", "name"],
    ["sort", "--team-name"],
    ["sort", "team-name,expired-at"],
    ["q", "x".repeat(91)],
    ["include", "team"],
    ["filter[status]", "expired"],
    ["list", "true"],
  ])("are refused as a 400 for %s=%s", async (parameter, value) => {
    const answer = await list(root, "sorted", `team-tokens?${encodeURIComponent(parameter)}=${value}`);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({ status: "400", source: { parameter } });
  });

  it("400: a parameter that is given twice, or has no name", async () => {
    const twice = await list(root, "sorted", "team-tokens?sort=team-name&sort=expired-at");
    expect(twice.status).toBe(400);
    expect(errorOf(twice).source).toEqual({ parameter: "sort" });
    const unnamed = await list(root, "sorted", `team-tokens?${encodeURIComponent("<script>")}=1`);
    expect(unnamed.status).toBe(400);
    expect(errorOf(unnamed).source).toEqual({ parameter: "" });
  });

  it("page sizes from 1 to 100 are taken", async () => {
    for (const size of [1, 100]) {
      const answer = await list(root, "sorted", `team-tokens?page[size]=${size}`);
      expect(answer.body.data).toHaveLength(Math.min(size, 5));
    }
  });
});
