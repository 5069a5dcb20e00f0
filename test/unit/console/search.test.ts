import { describe, expect, it } from "vitest";
import type { EndedToken, FoundText } from "../../../client/answers.d.ts";
import type { AuditEvent } from "../../../console/audit/event.ts";
import { addressedValues } from "../../../console/href.ts";
import { cutKinds } from "../../../console/search/cut-lists.ts";
import { foundByEvents } from "../../../console/search/found-by-events.ts";
import { foundText } from "../../../console/search/found-text.ts";
import { isSearching } from "../../../console/search/is-searching.ts";
import { refusedWith } from "../../../console/search/refusals-in-text.ts";
import { rolesOfAliases } from "../../../console/search/roles-of-aliases.ts";
import { bestOf, type Found, matching, SHOWN_OF_KIND } from "../../../console/search/search-result.ts";
import {
  credentialText,
  endedWith,
  foundToken,
  isTokenInSearch,
  itselfOf,
  listsOf,
} from "../../../console/search/text-result.ts";
import {
  countTokens,
  hasToken,
  isSecretLike,
  looksChosen,
  mayBeToken,
  tokenIn,
} from "../../../console/secret-detection.ts";
import { searchMistake } from "../../../console/tokens/filter.ts";
import { accessorIn } from "../../../console/tokens/token-accessor.ts";
import { consoleToken } from "../../support/console-token.ts";

const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2EifQ.c2lnbmF0dXJl";
const found = (kind: Found["kind"], name: string, detail = ""): Found => ({ kind, name, detail, href: `/ui/${name}` });

const KNOWN = { message: "It is known.", chosen_id: false };
const SECRET_ID = {
  ...{ accessor: "a1", display_name: "", policies: [], metadata: {}, entity_id: "", created: null, expires: null },
  ...{ description: "", created_by: "" },
  ...{ parent: null, path: "auth/teams/ci/role/deploy" },
};

describe("the console says of a pasted text", () => {
  it("that it is a secret-id, and leads to its role, where it can be destroyed", () => {
    const live = { ...KNOWN, state: "live" as const, kind: "secret-id", credential: SECRET_ID };
    expect(itselfOf(live, "a secret")).toEqual({
      found: [
        {
          kind: "Roles",
          name: "deploy",
          detail: "live secret-id of this role, with the accessor a1",
          href: "/ui/methods/teams%2Fci?part=roles&name=deploy&secret_id=a1",
        },
      ],
      note: "It is known.",
      isKept: true,
    });
  });

  it("that it is a token of an organization itself, and leads to the page where that can be revoked", () => {
    const credential = { ...SECRET_ID, metadata: { organization: "acme", kind: "organization" }, path: "" };
    const live = { ...KNOWN, state: "live" as const, kind: "organization", credential };
    expect(itselfOf(live, "x.atlasv1.y").found.map((one) => one.href)).toEqual(["/ui/teams/acme?part=tokens"]);
  });

  it("whose a JWT is by its alias, and what is in a wrapping token", () => {
    const owner = { id: "e1", name: "ann", disabled: true, alias: "sub-1", mount: "auth/jwt/" };
    const jwt = { ...KNOWN, state: "unjudged" as const, kind: "jwt", entities: [owner] };
    expect(itselfOf(jwt, JWT).found).toEqual([
      { kind: "Entities", name: "ann", detail: "disabled, sub-1 (auth/jwt/)", href: "/ui/identity?id=e1" },
    ]);
    const token = consoleToken({ accessor: "w".repeat(84) });
    const wrapping = { ...KNOWN, state: "live" as const, kind: "wrapping", token };
    const hrefs = (inside: string) =>
      itselfOf({ ...wrapping, wrapped_accessor: inside }, "s.x").found.map((one) => one.href);
    const inside = "i".repeat(84);
    expect(hrefs(inside)).toEqual([`/ui/tokens/${"w".repeat(84)}`, `/ui/tokens/${inside}`]);
    const held = (state: string) => itselfOf({ ...wrapping, wrapped_accessor: inside }, "s.x", state).found[1]?.detail;
    expect([held(""), held("live"), held("ended")]).toEqual(["…iiiiiiiiii", "…iiiiiiiiii", "ended · …iiiiiiiiii"]);
    expect(hrefs("a1-secret-id")[1]).toBe("/ui/audit?accessor=a1-secret-id");
  });

  it("where a batch token can be ended: at its entity, and at its method", () => {
    const credential = { ...SECRET_ID, accessor: "", display_name: "ci-web", entity_id: "e1", path: "auth/a/b/login" };
    const batch = { ...KNOWN, state: "live" as const, kind: "batch", credential };
    const hrefs = (one: Partial<typeof credential>) =>
      itselfOf({ ...batch, credential: { ...credential, ...one } }, "b.x").found.map(({ href }) => href);
    const method = "/ui/methods/a%2Fb?part=tuning";
    expect(hrefs({})).toEqual(["/ui/identity?id=e1", method]);
    expect(hrefs({ path: "auth/a/b/oidc/callback", entity_id: "" })).toEqual([method]);
    expect(hrefs({ path: "auth/token/create", entity_id: "" })).toEqual([]);
  });

  it("which methods trust the issuer of a JWT", () => {
    const jwt = { ...KNOWN, state: "unjudged" as const, kind: "jwt", mounts: ["auth/a/b/", "auth/jwt/"] };
    expect(itselfOf(jwt, JWT).found.map(({ kind, name, href }) => [kind, name, href])).toEqual([
      ["Auth methods", "auth/a/b/", "/ui/methods/a%2Fb"],
      ["Auth methods", "auth/jwt/", "/ui/methods/jwt"],
    ]);
  });

  it("that a role-id is a secret when it logs in alone, and may be searched for else", () => {
    const roleId = { ...KNOWN, state: "live" as const, kind: "role-id" };
    expect(itselfOf(roleId, "web")).toEqual({ found: [], note: "It is known.", isKept: true });
    expect(itselfOf({ ...roleId, state: "unknown" }, "web").isKept).toBe(false);
  });

  it("what the server could not judge, and whether it knows anything", () => {
    const jwt = { ...KNOWN, state: "unjudged" as const, kind: "jwt" };
    expect(itselfOf(jwt, JWT)).toEqual({ found: [], note: "It is known.", isKept: true });
    const unknown = { ...KNOWN, state: "unknown" as const, kind: "" };
    expect(itselfOf(unknown, "payments")).toMatchObject({ isKept: false });
    // Where not all that could know it was asked, a word is searched for, and what may be chosen is not.
    const notAsked = { ...KNOWN, state: "unjudged" as const, kind: "" };
    expect(itselfOf(notAsked, "payments")).toEqual({ found: [], note: "", isKept: false });
    expect(itselfOf(notAsked, "a-secret-of-somebody-1")).toEqual({ found: [], note: "It is known.", isKept: true });
  });
});

describe("an id that the store has events of", () => {
  const id = "64739bc4-1111-4222-8333-444455556666";
  const event = { kind: "change", type: "response", time: "2026-11-22T10:00:00Z", operation: "update", status: 200 };
  const hrefs = (events: readonly Partial<AuditEvent>[], accessor = id) =>
    foundByEvents(
      events.map((one) => ({ ...event, ...one })),
      accessor,
    ).map((one) => one.href);

  it("is that of a secret-id, marked at its role, or of a team's token", () => {
    const role = `/ui/methods/a%2Fb?part=roles&name=web&secret_id=${id}`;
    const list = `/ui/audit?accessor=${id}`;
    expect(hrefs([{ path: "auth/a/b/role/web/secret-id-accessor/destroy" }])).toEqual([role, list]);
    expect(hrefs([{ path: "sys/x" }, { path: "auth/a/b/login", mount: "auth/a/b/", role: "web" }])).toEqual([
      role,
      list,
    ]);
    expect(hrefs([{ path: "sys/x", mount: "sys/" }])).toEqual([list]);
    expect(hrefs([{ path: "teams/t/authentication-tokens" }], "at-1")).toEqual(["/ui/audit?accessor=at-1"]);
    expect(hrefs([])).toEqual([]);
  });

  it("is a role-id, if the alias of a login has it", () => {
    const alias = { name: id, mount_path: "auth/jobs/", metadata: { role_name: "web" } };
    const aliases = [{ ...alias, name: "other" }, alias, { ...alias, metadata: {} }];
    expect(rolesOfAliases(aliases, id).map((one) => one.href)).toEqual(["/ui/methods/jobs?part=roles&name=web"]);
  });
});

it("an error without a path leads to the refused requests that have it, the newest first", () => {
  const refused = {
    type: "response" as const,
    kind: "refusal" as const,
    time: "2026-11-22T10:00:00Z",
    operation: "update",
  };
  const claim = 'claim "<value>" does not match any associated bound claim values';
  const events = [
    { ...refused, request_id: "r1", path: "auth/jwt/login", error: `error validating claims: ${claim}` },
    { ...refused, request_id: "r2", path: "sys/auth", error: "permission denied" },
    { ...refused, request_id: "r3", path: "sys/mounts", error: "permission denied" },
    { ...refused, request_id: "r4", path: "sys/x" },
  ];
  const hrefs = (text: string) => refusedWith(events, text).map((one) => one.href);
  const logged = String.raw`{"errors":["error validating claims: claim \"ref\" does not match any associated bound claim values"]}`;
  expect(hrefs(logged)).toEqual(["/ui/requests/r1"]);
  expect(hrefs("* Permission denied")).toEqual(["/ui/requests/r2", "/ui/requests/r3"]);
  expect(hrefs("bound claim values")).toEqual(["/ui/requests/r1"]);
  expect(hrefs("* does not match any associated bound claim values")).toEqual(["/ui/requests/r1"]);
  expect([hrefs("denied"), hrefs("no such thing here"), hrefs("values claim ref")]).toEqual([[], [], []]);
});

it("a text that is too long for a search is not sent as one, and the console says so", () => {
  expect(["ab", "abc", "x".repeat(128), "x".repeat(129)].map(searchMistake)).toEqual([
    ...["3 characters at least", "", "", "128 characters at most"],
  ]);
  expect(foundText([], "long ".repeat(30), "")).toContain("too long to search for");
});

describe("tokens that the search finds", () => {
  const token = (display_name: string, metadata = {}) => consoleToken({ display_name, metadata });
  const tokens = [
    token("step"),
    token("worker", { service: "Pay" }),
    token("pay", { service: "pay" }),
    token("step-of-pay"),
    token("pay", { service: "pay" }),
  ];

  it("are in the order of how well the name fits, those found by something else last", () => {
    const names = bestOf(tokens.map(foundToken), "PAY").map(({ name }) => name);
    expect(names).toEqual(["pay", "pay", "step-of-pay", "worker", "step"]);
    expect(bestOf(Array(9).fill(foundToken(tokens[0] ?? token(""))), "x")).toHaveLength(SHOWN_OF_KIND);
  });

  it("are looked for among those that ended, by name and metadata", () => {
    const ended = tokens.map((token) => ({ token, ended: { how: "revoked" } })) as unknown as EndedToken[];
    expect(endedWith(ended, "WORK").map(({ name, detail }) => [name, detail])).toEqual([
      ["worker", expect.stringMatching(/^ended: revoked · .*service=Pay/)],
    ]);
    expect(endedWith(ended, "nobody")).toEqual([]);
  });

  it("have narrower lists, by the name and by the pair that several of them have", () => {
    expect(listsOf(tokens, "Pay").map(({ name, href }) => [name, href])).toEqual([
      ["Tokens named pay", "/ui/tokens?display_name=pay"],
      ["Tokens with service=pay", "/ui/tokens?metadata=service%3Dpay"],
    ]);
    expect(listsOf(tokens, "step")).toEqual([]);
    expect(listsOf([], "pay")).toEqual([]);
  });
});

describe("the search of the console", () => {
  it("takes tokens of all kinds and accessors for secrets, and names of things for words", () => {
    const secrets = [
      `s.${"A".repeat(84)}`,
      "b.AAAAAAAAAAAA",
      "hvs.CAESIJlWVG",
      "hvb.AAAAAQLs8TGQ",
      "s.BbRfSCKGDl2RzEEw",
      "TRqLLOnBPXkEFA.atlasv1.zp8jFmKCc6",
      "x".repeat(84),
      JWT,
      "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl",
      "AKIAIOSFODNN7EXAMPLE",
      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      "ghp_0123456789abcdefghijABCDEFGHIJ012345",
      "glpat-0123456789abcdefghij",
    ];
    for (const secret of secrets) expect(isSecretLike(secret), secret).toBe(true);
    for (const word of [
      "payments-api",
      "alice@example.com",
      "s.3",
      "run-1004",
      "auth/token/create",
      "auth/kubernetes/role/deploy-of-the-north-1",
      "",
      "two words",
    ]) {
      expect(isSecretLike(word), word).toBe(false);
    }
  });

  it("has the server asked about any word that may be the id that somebody chose, and about no shorter text", () => {
    for (const text of ["dev-qN3uYyTzUJY4xCJ2l0pQ7tTn", "root", "payments-api"]) expect(mayBeToken(text)).toBe(true);
    for (const text of ["", "ab", "two words"]) expect(mayBeToken(text)).toBe(false);
  });

  it("where the server can't be asked, takes a long word with a digit for a token", () => {
    for (const text of ["dev-qN3uYyTzUJY4xCJ2l0pQ7tTn", JWT]) expect(looksChosen(text), text).toBe(true);
    for (const text of ["payments-api", "run-1004", "a sentence of 4 words"])
      expect(looksChosen(text), text).toBe(false);
  });

  it("keeps out of addresses what the server knows as a token or login, and what looks like one, and no accessor", () => {
    const answer: FoundText = {
      state: "unknown",
      kind: "",
      message: "Nothing is known by this text.",
      chosen_id: false,
    };
    const token = { accessor: "x".repeat(84), mount: "auth/token/", role: "", metadata: {}, display_name: "a" };
    const live = { ...answer, state: "live", kind: "service", token } as unknown as FoundText;
    expect(itselfOf(answer, "payments-api")).toEqual({ found: [], note: "", isKept: false });
    expect(itselfOf(answer, JWT)).toMatchObject({ isKept: true, note: expect.stringMatching(/looks like a secret/) });
    expect(itselfOf(live, "dev-root")).toMatchObject({ isKept: true, found: [{ kind: "Tokens" }] });
    expect(itselfOf({ ...answer, state: "elsewhere" }, "b.AAAA").isKept).toBe(true);
    expect(itselfOf({ ...answer, kind: "secret-id", state: "live" }, "a-chosen-secret").isKept).toBe(true);
    // An accessor has the form of a token, and is none: an address may have it.
    expect(itselfOf({ ...live, message: "the accessor" }, token.accessor)).toMatchObject({
      isKept: false,
      found: [{ href: expect.stringContaining(token.accessor) }],
    });
    expect(itselfOf(answer, token.accessor).isKept).toBe(true);
  });

  it("says of a batch token what is known of it, as no page does", () => {
    const credential = {
      ...{ accessor: "", display_name: "ci", policies: ["a", "b"], metadata: { run: "12" }, entity_id: "" },
      ...{ path: "auth/jwt/login", created: null, expires: "2026-12-01T00:00:00Z", parent: null },
      ...{ description: "", created_by: "" },
    };
    expect(credentialText(credential)).toMatch(
      /^Name: ci\. Policies: a, b\. Metadata: run=12\. Made at auth\/jwt\/login\. Its time ends .*2026/,
    );
    expect(credentialText({ ...credential, created_by: "ann" })).toContain("Made at auth/jwt/login by ann.");
    const bare = { ...credential, display_name: "", policies: [], metadata: {}, path: "", expires: null };
    expect(credentialText(bare)).toBe("");
    const many = { ...bare, policies: Array.from({ length: 20 }, (_, at) => `p${at}`) };
    expect(credentialText(many)).toBe("Policies: p0, p1, p2, p3, p4, p5, p6, p7 and others.");
  });

  it("knows which values of a form its address has, and the refusal of a token there", () => {
    const values = { "name of the record": "deploy/x y", description: "of the team", name: "alice", ttl: "" };
    expect(addressedValues("auth/a/role/deploy%2Fx%20y", values)).toEqual(["deploy/x y", "alice"]);
    const problem = { status: 400, messages: ["search must not contain a token: sys/tokens/find …"], requestId: "" };
    expect(isTokenInSearch(problem)).toBe(true);
    expect(isTokenInSearch({ ...problem, messages: ["search has 3 to 100 characters"] })).toBe(false);
  });

  it("knows a token in any part of an address, and lets accessors and names through", () => {
    for (const address of [
      `sys/tokens/s.${"A".repeat(84)}`,
      "/ui/tokens?display_name=hvs.CAESIJlWVG&x=1",
      "sys/tokens?metadata=owner%3Db.AAAAAAAAAAAAAAAAAAAAAAAA",
      "/api/v2/authentication-tokens/TRqLLOnBPXkEFA.atlasv1.zp8jFmKCc6",
      "a%20s.BbRfSCKGDl2RzEEwBbRfSCKG",
      `/ui/audit?path=${JWT}`,
      "sys/tokens?search=eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl",
      "/ui/tokens?policy=AKIAIOSFODNN7EXAMPLE",
    ]) {
      expect(hasToken(address), address).toBe(true);
    }
    for (const address of [
      `sys/tokens/${"x".repeat(84)}`,
      "sys/policies/acl/s.payments-api",
      "ui/methods/users.internal",
      "%",
    ]) {
      expect(hasToken(address), address).toBe(false);
    }
  });

  it("takes the token out of the text in which it leaks, and leaves other texts as they are", () => {
    const token = `s.${"A".repeat(83)}-`;
    for (const text of [token, `VAULT_TOKEN=${token}`, `export A="${token}",`, `Bearer ${token}`, `'${token}'`]) {
      expect(tokenIn(text), text).toBe(token);
    }
    const chosen = "dev-qN3uYyTzUJY4xCJ2l0pQ7tTn";
    for (const text of [
      `VAULT_TOKEN=${chosen}`,
      `X-Vault-Token: ${chosen}`,
      `"token": "${chosen}",`,
      `Bearer ${chosen}`,
    ]) {
      expect(tokenIn(text), text).toBe(chosen);
    }
    expect(tokenIn(`jwt=${JWT}`)).toBe(JWT);
    for (const text of ["payments-api", "release.s.payments-api-of-the-north-1", "token-admins of a", ""])
      expect(tokenIn(text)).toBe(text);
  });

  it("counts the tokens in a text, each once", () => {
    const [one, other] = [`s.${"A".repeat(84)}`, `hvs.${"B".repeat(90)}`];
    expect(countTokens(`VAULT_TOKEN=${one} retried with ${one}; then "${other}"`)).toBe(2);
    expect([countTokens(one), countTokens("payments-api")]).toEqual([1, 0]);
  });

  it("takes the accessor out of a line or a link of the console, and its end as the console shows it", () => {
    const accessor = `${"A".repeat(83)}-`;
    for (const text of [
      `accessor: ${accessor}`,
      `token_accessor      ${accessor}`,
      `{"accessor":"${accessor}","policies":["default"]}`,
      `https://grove.example.com/ui/tokens/${accessor}?x=1`,
    ]) {
      expect(accessorIn(text), text).toBe(accessor);
    }
    expect(accessorIn("…bay_YQtS18")).toBe("bay_YQtS18");
    expect(accessorIn("(…bay_YQtS18)")).toBe("bay_YQtS18");
    for (const text of [
      accessor,
      `db/creds/app/${accessor}`,
      `https://grove.example.com/v1/sys/tokens/${accessor}`,
      `x: ${accessor}-`,
      "…and so on",
      "",
    ]) {
      expect(accessorIn(text), text).toBe(text);
    }
  });

  it("finds names whatever their case: the name itself first, then names that begin so, then names with it, then details", () => {
    const all = [
      found("Policies", "repayments"),
      found("Policies", "ledger", "used by payments"),
      found("Policies", "payments-api"),
      found("Policies", "Payments"),
      found("Policies", "web"),
    ];
    expect(matching(all, "PAYMENTS").map(({ name }) => name)).toEqual([
      "Payments",
      "payments-api",
      "repayments",
      "ledger",
    ]);
  });

  it("counts what it found by kind, and says of the short beginning of a request's id how much is needed", () => {
    expect(foundText([found("Policies", "a"), found("Entities", "b")], "a491", "")).toBe("1 entity, 1 policy");
    expect(foundText([], "a491", "")).toMatch(
      /^Nothing is found by this\. Batch tokens.* Of a request id .* first 8 characters\.$/,
    );
    expect(foundText([], "nothing", "")).toMatch(
      /^Nothing is found by this\. Batch tokens are found by their whole text/,
    );
    expect(foundText([], "nothing", "", ["Policies"])).toContain("metadata. Only the first were searched: policies.");
    const refusal = "your policies lack read and sudo on sys/tokens";
    expect(foundText([], "nothing", refusal)).toMatch(/No list of tokens was searched: your policies lack/);
    expect(foundText([found("Policies", "a")], "a", refusal)).toBe("1 policy");
  });

  it("finds by a whole id or path that is not shown, in any case", () => {
    const team = { ...found("Teams", "builders"), ids: ["team-a1b2", "teams/acme"] };
    expect(matching([found("Teams", "acme"), team], "team-A1b2")).toEqual([team]);
    expect(matching([team], "team-a1")).toEqual([]);
  });

  it("is pending until the names are read, unless the text itself is known", () => {
    const asked = { found: [], note: "", isKept: false, text: "web" };
    expect(isSearching(asked, "web", null)).toBe(true);
    expect(isSearching(asked, "webs", [])).toBe(true);
    expect(isSearching(asked, "web", [])).toBe(false);
    expect(isSearching({ ...asked, found: [found("Tokens", "web")] }, "web", null)).toBe(false);
    expect(isSearching({ ...asked, note: "It is a batch token." }, "web", null)).toBe(false);
  });

  it("knows of which kinds it did not read all names", () => {
    const many = (kind: Found["kind"], size: number, detail = "") =>
      Array.from({ length: size }, (_, at) => found(kind, `n-${at}`, detail));
    expect(
      cutKinds([...many("Policies", 1_999), ...many("Entities", 1_999), ...many("Teams", 10, "organization")]),
    ).toEqual([]);
    expect(cutKinds([...many("Policies", 2_000), ...many("Entities", 2_000)])).toEqual(["Entities", "Policies"]);
    expect(cutKinds([...many("Roles", 1_500, "auth/a/"), ...many("Roles", 1_500, "auth/b/")])).toEqual([]);
    expect(cutKinds(many("Auth methods", 31))).toEqual(["Roles"]);
    expect(cutKinds(many("Teams", 11, "organization"))).toEqual(["Teams", "Tokens of teams"]);
    expect(cutKinds(many("Teams", 50, "team of acme"))).toEqual(["Teams"]);
    expect(cutKinds(many("Tokens of teams", 50, "acme"))).toEqual(["Tokens of teams"]);
  });

  it("shows a bounded number of each kind, in one order", () => {
    const policies = Array.from({ length: 50 }, (_, at) => found("Policies", `a-${at}`));
    const shown = matching([...policies, found("Entities", "alice")], "a");
    expect(shown[0]?.kind).toBe("Entities");
    expect(shown).toHaveLength(1 + SHOWN_OF_KIND);
  });
});
