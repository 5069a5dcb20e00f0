import { describe, expect, it } from "vitest";
import { changedThing } from "../../../console/audit/changed-thing.ts";
import { type AuditEvent, distinctEvents } from "../../../console/audit/event.ts";
import {
  aboutOf,
  callerOf,
  countText,
  deedOf,
  eventKindOf,
  hashOfCaller,
  keptText,
  madeOf,
  placeOfEnd,
  tokenOfHash,
} from "../../../console/audit/event-kind.ts";
import { isLogin, whyOf } from "../../../console/audit/explain-request.ts";
import { mergedEvents } from "../../../console/audit/merged-events.ts";
import { errorHref, requestInError } from "../../../console/audit/pasted-error.ts";
import {
  beginningText,
  idIn,
  isAddress,
  isPartOfId,
  isRequestId,
  isShortPart,
  lookedForText,
} from "../../../console/audit/request-id.ts";
import { endsAllOfPath, meantText, revocationOf, revocationText } from "../../../console/audit/revocation-event.ts";
import { type BelowToken, inOrder } from "../../../console/audit/tree-order.ts";
import { mayBeName, placeOf, unaskable } from "../../../console/audit/typed-question.ts";

const tokenOf = (accessor: string, token_type = "service") => ({
  ...{ accessor, display_name: `token-${accessor}`, policies: ["web"], entity_id: "", token_type, metadata: {} },
});
const event = (fields: Partial<AuditEvent> = {}): AuditEvent => ({
  ...{ kind: "change", type: "response", time: "2026-11-22T10:00:00Z", request_id: "r1", operation: "update" },
  ...{ path: "sys/policies/acl/web", status: 200, auth: tokenOf("a1"), token_hash: "hmac-sha256:1" },
  ...fields,
});
const made = (accessor: string) => ({ response: { auth: tokenOf(accessor) } });

it("an event that two pages have is shown once, at its first place", () => {
  const [one, two] = [event(), event({ request_id: "r2" })];
  expect(distinctEvents([one, two, { ...one }])).toEqual([one, two]);
});

it("an empty timeline says for how many days events are kept", () => {
  expect([30, 1, 0.5].map(keptText)).toEqual([
    ...["Events are kept for 30 days.", "Events are kept for 1 day.", "Events are kept for 0.5 days."],
  ]);
  expect(keptText(undefined)).toContain("AUDIT_DAYS");
});

describe("the events of several tokens", () => {
  const at = (minute: number, request: string) =>
    event({ time: `2026-11-22T10:${String(minute).padStart(2, "0")}:00Z`, request_id: request });
  const ids = (read: Parameters<typeof mergedEvents>[0]) => {
    const { events, unread } = mergedEvents(read);
    return [events.map(({ request_id: id }) => id), unread.map(({ accessor }) => accessor)];
  };

  it("are shown the newest first, and one of two tokens once", () => {
    const a = { accessor: "a", events: [at(9, "made b"), at(1, "made a")], next: "" };
    const b = { accessor: "b", events: [at(12, "ended b"), at(9, "made b")], next: "" };
    expect(ids([a, b])).toEqual([["ended b", "made b", "made a"], []]);
  });

  it("are shown only as far back as all are known, and the one known least is read next", () => {
    const a = { accessor: "a", events: [at(30, "a30"), at(5, "a5")], next: "more of a" };
    const b = { accessor: "b", events: [at(40, "b40"), at(20, "b20")], next: "more of b" };
    const c = { accessor: "c", events: [at(10, "c10")], next: "" };
    expect(ids([a, b, c])).toEqual([["b40", "a30", "b20"], ["b"]]);
    const further = { ...b, events: [...b.events, at(15, "b15"), at(1, "b1")], next: "" };
    expect(ids([a, further, c])).toEqual([["b40", "a30", "b20", "b15", "c10", "a5"], ["a"]]);
    expect(ids([a, { ...b, events: [] }])).toEqual([[], ["b"]]);
  });
});

describe("what an event was", () => {
  it.each([
    ["made", { path: "auth/token/create-orphan", ...made("t") }],
    ["made", { kind: "login", auth: tokenOf("t"), path: "auth/jobs/login", ...made("t") }],
    ["made", { path: "auth/token/create", response: { auth: tokenOf("t2"), wrap_info: { accessor: "t" } } }],
    ["made", { path: "auth/a/role/b/secret-id", response: { wrap_info: { accessor: "t" } } }],
    ["made another", { path: "auth/token/create", auth: tokenOf("t"), ...made("t2") }],
    ["login", { kind: "login", auth: tokenOf("t2"), path: "auth/jobs/login", ...made("t2") }],
    ["renewed", { path: "auth/token/renew-self", auth: tokenOf("t") }],
    ["renewed", { path: "auth/token/renew/<token>", target_accessor: "t" }],
    ["renewed", { path: "sys/leases/renew", target_accessor: "t" }],
    ["changed", { path: "sys/leases/renew", holder_accessor: "t" }],
    ["changed", { path: "sys/leases/revoke", holder_accessor: "t" }],
    ["ended", { path: "auth/token/revoke-accessor", target_accessor: "t" }],
    ["ended", { path: "auth/token/revoke-self", auth: tokenOf("t") }],
    ["changed", { path: "auth/token/roles/revoke" }],
    ["counted", { path: "sys/tokens/revoke", revocation: { dry_run: true, fields: ["search"], total: 320 } }],
    ["ended", { path: "sys/tokens/revoke", revocation: { dry_run: false, fields: ["search"], job: "j1" } }],
    ["refused", { kind: "refusal", status: 403, path: "auth/token/revoke-self" }],
    ["failed", { kind: "fault", status: 503 }],
    ["noted", { kind: "other", type: "dropped" }],
  ] as const)("for a token's timeline: %s", (what, fields) => {
    expect(eventKindOf(event(fields), "t")).toBe(what);
  });

  it("has who asked, who was made and who it was about, and a login has nobody who asked", () => {
    const login = event({ kind: "login", auth: tokenOf("t"), ...made("t") });
    expect([callerOf(login), madeOf(login)]).toEqual(["", "t"]);
    expect(aboutOf(event({ target_accessor: "t" }))).toBe("t");
    expect(aboutOf(event())).toBe("a1");
    const batch = event({
      auth: tokenOf("", "batch"),
      response: { auth: { ...tokenOf(""), token_hash: "hmac-sha256:2" } },
    });
    expect([callerOf(batch), madeOf(batch)]).toEqual(["hmac-sha256:1", "hmac-sha256:2"]);
    const { auth: _, ...nobody } = event({ kind: "refusal" });
    expect(callerOf(nobody)).toBe("");
  });

  it("tells what a change did to the use of an entity", () => {
    const of = (path: string, fields: Partial<AuditEvent> = {}) =>
      deedOf(event({ path, target_entities: ["e1"], ...fields }));
    expect(of("identity/entity/id/e1/not-before")).toBe("Ended the tokens of");
    expect(of("identity/entity/id/e1", { data: { disabled: true } })).toBe("Disabled");
    expect(of("identity/entity/name/mallory", { data: { disabled: true } })).toBe("Disabled");
    expect(of("identity/entity/id/e1", { data: { policies: ["hmac-sha256:1"] } })).toBe("");
    expect(of("identity/entity/id/e1", { operation: "delete" })).toBe("Deleted");
    expect(of("auth/jobs/login", { kind: "refusal" })).toBe("");
  });

  it("tells the hash of a token by its own requests alone", () => {
    const other = event({ token_hash: "hmac-sha256:9" });
    expect(hashOfCaller([other, event({ auth: tokenOf("t") })], "t")).toBe("hmac-sha256:1");
    expect(hashOfCaller([other], "t")).toBe("");
  });
});

describe("a revocation of many in the log", () => {
  const noted = (revocation: NonNullable<AuditEvent["revocation"]>) => {
    const read = revocationOf(event({ path: "sys/tokens/revoke", revocation }));
    if (!read) throw new Error("it is a revocation");
    return read;
  };
  const done = noted({ dry_run: false, fields: ["search"], count: 40, total: 320, job: "j1" });

  it("is another sentence than the count before it, which has no receipt", () => {
    expect(revocationText(noted({ dry_run: true, fields: ["search"], total: 320 }))).toBe(
      "Counted what would end: 320 tokens",
    );
    expect(revocationText(done)).toBe("Ended 320 tokens");
    expect(revocationText(noted({ dry_run: true, fields: [], job: "j2" }))).toBe("Counted what would end");
    expect(revocationText(noted({ dry_run: false, fields: [], job: "j2" }))).toBe("Began to end tokens");
    expect(revocationOf(event())).toBeNull();
  });

  it("says what was meant as its job does, or else by which fields it was chosen", () => {
    const jobs = [{ id: "j1", filter: { policy: "old" }, named: 0, total: 320 }];
    expect(meantText(done, jobs)).toBe("policy old");
    expect(meantText(done, [])).toBe("chosen by search");
    expect(meantText(noted({ dry_run: true, fields: ["entity_id", "include_root"] }), jobs)).toBe(
      "chosen by entity id, include root",
    );
    expect(meantText(noted({ dry_run: true, fields: ["accessors"] }), jobs)).toBe("selected tokens");
  });

  it("of a path has a receipt by the id of its request, and no other request has", () => {
    const ends = (path: string, fields: Partial<AuditEvent> = {}) => endsAllOfPath(event({ path, ...fields }));
    expect(ends("sys/leases/revoke-prefix/auth/ci")).toBe(true);
    expect(ends("sys/revoke-force/auth/ci")).toBe(true);
    expect(ends("sys/remount")).toBe(true);
    expect(ends("sys/auth/ci", { operation: "delete" })).toBe(true);
    expect(ends("sys/auth/ci/tune", { data: { not_before: "hmac-sha256:1" } })).toBe(true);
    expect(ends("sys/auth/ci", { operation: "delete", kind: "refusal" })).toBe(false);
    expect([ends("sys/auth/ci"), ends("sys/auth/ci/tune"), ends("sys/leases/revoke")]).toEqual([false, false, false]);
    expect(ends("sys/auth/ci/tune", { data: { not_before: "" } })).toBe(false);
  });
});

describe("the end of a token in its timeline", () => {
  const at = (time: string, fields: Partial<AuditEvent> = {}) => event({ time: `2026-11-22T${time}Z`, ...fields });
  const end = { at: "2026-11-22T10:30:00Z", request_id: "r9" };
  const events = [at("11:00:00"), at("10:00:00"), at("09:00:00")];

  it("stands between what came after it and what came before", () => {
    expect(placeOfEnd(events, "t", end, false)).toBe(1);
    expect(placeOfEnd([], "t", end, false)).toBe(0);
    expect(placeOfEnd([at("11:00:00")], "t", end, false)).toBe(1);
  });

  it("waits for the page that it is on", () => {
    expect(placeOfEnd([at("11:00:00")], "t", end, true)).toBe(null);
  });

  it("is not said again where the request that ended it is an event of this token", () => {
    const revocation = { path: "auth/token/revoke-accessor", request_id: "r9" };
    expect(placeOfEnd([at("10:30:00", { ...revocation, target_accessor: "t" })], "t", end, false)).toBe(null);
    expect(placeOfEnd([at("10:30:00", { ...revocation, target_accessor: "parent" })], "t", end, false)).toBe(0);
  });
});

describe("why a request was refused", () => {
  const refusal = (fields: Partial<AuditEvent> = {}) => event({ kind: "refusal", status: 403, ...fields });

  it("is a question to the policies of its token, from its address", () => {
    expect(whyOf(refusal({ client_address: "192.0.2.7" })).ask).toEqual({
      ...{ accessor: "a1", path: "sys/policies/acl/web", operation: "update", client_address: "192.0.2.7" },
    });
    expect(whyOf(refusal({ operation: "help", client_address: null })).ask).toEqual({
      ...{ accessor: "a1", path: "sys/policies/acl/web", operation: "read" },
    });
  });

  it.each([
    [{ kind: "fault", status: 503 }, /service failed/],
    [{ status: 429 }, /quota/],
    [{ status: 400 }, /did not refuse it/],
    [{ path: "auth/jobs/login", mount: "auth/jobs/", status: 400 }, /login. Its method says which check failed/],
    [{ path: "auth/jobs/login", mount: "auth/jobs/", error: "no such id" }, /Its method refused it: no such id$/],
    [{ role: "web" }, /login/],
    [
      { role: "web", error: "permission denied", check: { name: "entity", description: "It is not disabled." } },
      /check entity failed: “It is not disabled.”$/,
    ],
    [{ path: "auth/token/renew/<token>" }, /whole path, so no policy/],
    [{ path: "<unknown>" }, /No endpoint has the path.*Ask the client/],
    [{ auth: tokenOf("", "batch") }, /batch token/],
  ] as const)("is no question to policies: %j", (fields, because) => {
    expect(whyOf(refusal(fields))).toEqual({ ask: null, because: expect.stringMatching(because) as unknown });
  });

  it("is the token where it was not valid", () => {
    const { auth: _, ...nobody } = refusal();
    expect(whyOf(nobody).because).toMatch(/no valid token/);
    expect(isLogin(nobody)).toBe(false);
  });
});

it("the token of a request that was not valid any more is named by an earlier event with the same hash", () => {
  const { auth: _, ...nobody } = event({ kind: "refusal", token_hash: "hmac-sha256:7" });
  const before = event({ auth: tokenOf("t"), token_hash: "hmac-sha256:7" });
  expect(tokenOfHash([nobody, event(), before], "hmac-sha256:7")).toEqual(before.auth);
  expect(tokenOfHash([nobody, event()], "hmac-sha256:7")).toBeUndefined();
  expect(tokenOfHash([event({ token_hash: "" })], "")).toBeUndefined();
});

it("a count of no events says that earlier ones were not read", () => {
  expect([countText(0, false), countText(1, false)]).toEqual(["0 events", "1 event"]);
  expect(countText(50, true)).toBe("the last 50 events");
  expect(countText(0, true)).toBe("none so far, and earlier ones are not read");
});

it("a text may be the beginning of a request's id, and what is said of it counts the requests", () => {
  expect(["a4911dd8", "A4911dd8-5a0f", "a4911dd8-5a0f-4bc2-8e4f-7a32f20cc2c"].every(isPartOfId)).toBe(true);
  expect(beginningText(0)).toMatch(/^No request of the last 1,000 events begins so: .* whole id is needed/);
  expect(beginningText(3)).toBe("3 requests of the last 1,000 events begin so: type more of the id");
  const others = ["a4911dd", "a4911dd8-5a0f-4bc2-8e4f-7a32f20cc2c8", "auth/token", "a4911dd8x", "192.0.2.7"];
  expect(others.filter(isPartOfId)).toEqual([]);
});

it("a text too short for a request's id is told how much of it is needed, and what it was looked for as", () => {
  const others = ["a49", "a4911dd8", "web1", "auth"];
  expect(["a491", "a4911dd"].every(isShortPart)).toBe(true);
  expect(others.filter(isShortPart)).toEqual([]);
  expect(lookedForText("", "a4911d")).toMatch(
    /^Looked for as the beginning of a path\. Of a request id .* 8 characters/,
  );
  expect(lookedForText("", "auth/")).toBe("Looked for as the beginning of a path.");
  expect(lookedForText("192.0.2.7", "")).toBe("Looked for as the address of a client.");
  expect(lookedForText("", "")).toBe("");
});

it("an id is found behind the word that pages and logs write before it", () => {
  const whole = "a4911dd8-5a0f-4bc2-8e4f-7a32f20cc2c8";
  const texts = [`request ${whole}`, `Request ${whole}`, `request_id: ${whole}`, `request id ${whole}`, whole];
  expect(texts.map(idIn)).toEqual(Array(texts.length).fill(whole));
  expect(["request a4911dd8", "request a491"].map(idIn)).toEqual(["a4911dd8", "a491"]);
  const lines = [
    `HTTP/1.1 403 Forbidden, X-Request-Id: ${whole}, permission denied`,
    `{"type":"response","request_id":"${whole}","status":403}`,
    `request_id=${whole} status=403`,
  ];
  expect(lines.map(idIn)).toEqual(lines.map(() => whole));
  for (const text of ["request web", "requests", "auth/token/", `entity ${whole}`, `requests/${whole}`])
    expect(idIn(text)).toBe(text);
});

it.each([
  ["update", "sys/policies/acl/web", ["Wrote the policy", "web", "/ui/policies/web"]],
  ["delete", "sys/policies/acl/web", ["Deleted the policy", "web", ""]],
  ["update", "sys/auth/ci/github", ["Enabled the method", "auth/ci/github/", "/ui/methods/ci%2Fgithub"]],
  ["delete", "sys/auth/ci", ["Disabled the method", "auth/ci/", ""]],
  ["update", "sys/auth/ci/tune", ["Tuned the method", "auth/ci/", "/ui/methods/ci"]],
  ["update", "auth/aws/config/client", ["Wrote the settings of", "auth/aws/", "/ui/methods/aws"]],
  ["create", "auth/ci/role/web", ["Wrote the role", "web of auth/ci/", "/ui/methods/ci?part=roles&name=web"]],
  ["delete", "authentication-tokens/at-6XLiiLfsjXTUw8vA", ["Deleted the team token", "at-6XLiiLfsjXTUw8vA", ""]],
  ["delete", "teams/team-npWiAAnxXu4vKZ82", ["Deleted the team", "team-npWiAAnxXu4vKZ82", ""]],
  ["patch", "organizations/acme", ["Wrote the organization", "acme", "/ui/teams/acme"]],
  ["delete", "organizations/acme", ["Deleted the organization", "acme", ""]],
  ["update", "auth/token/roles/web", ["Wrote the role", "web of auth/token/", "/ui/methods/token?part=roles&name=web"]],
] as const)("a change is told in words: %s of %s", (operation, path, [text, name, to]) => {
  expect(changedThing(event({ operation, path }))).toEqual({ text, name, to });
});

it("the tuning of a method that ended its tokens is told as that", () => {
  const tuned = {
    operation: "update",
    path: "sys/auth/ci/tune",
    kind: "change",
    data: { not_before: "hmac-sha256:1" },
  };
  const [name, to] = ["auth/ci/", "/ui/methods/ci"];
  expect(changedThing(event(tuned))).toEqual({ text: "Ended all tokens of the method", name, to });
});

it("a deletion of many team tokens names the first of them", () => {
  const ids = Array.from({ length: 10 }, (_, at) => `at-${at}`);
  const deletion = { operation: "delete", path: "organizations/acme/team-tokens" };
  const one = { text: "Deleted the team token", name: "at-0", to: "" };
  expect(changedThing(event({ ...deletion, target_accessors: ["at-0"] }))).toEqual(one);
  const many = changedThing(event({ ...deletion, target_accessors: ids }));
  expect(many).toMatchObject({
    text: "Deleted the team tokens",
    name: expect.stringMatching(/^at-0, .* and 2 others$/),
  });
});

it("a change of a thing without a page has its path", () => {
  for (const path of ["auth/token/tidy", "sys/rotate", "auth/approle/role/web/secret-id", "sys/policies/acl/<token>"])
    expect(changedThing(event({ operation: "update", path }))).toBeNull();
  expect(changedThing(event({ operation: "read", path: "sys/policies/acl/web" }))).toBeNull();
});

it("a tree of tokens has each one after its maker", () => {
  const token = (accessor: string, made_by: string, depth: number): BelowToken => ({
    ...{ accessor, made_by, depth, display_name: "", entity_id: "", token_type: "service" },
    ...{ time: "", request_id: "", path: "", client_address: null },
  });
  const levels = [
    token("a", "t", 1),
    token("b", "t", 1),
    token("aa", "a", 2),
    token("ba", "b", 2),
    token("aaa", "aa", 3),
  ];
  expect(inOrder("t", levels).map(({ accessor }) => accessor)).toEqual(["a", "aa", "aaa", "b", "ba"]);
});

it("a text is the id of a request, an address, or the beginning of a path", () => {
  expect(isRequestId("A4911dd8-5a0f-4bc2-8e4f-7a32f20cc2c8")).toBe(true);
  expect(["a4911dd8", "auth/token/", "s.a4911dd8-5a0f-4bc2-8e4f-7a32f20cc2c8"].filter(isRequestId)).toEqual([]);
  expect(["192.0.2.7", "2001:db8::1", "::1"].every(isAddress)).toBe(true);
  expect(["auth/token/", "sys", "1.2.3", "de:ad"].filter(isAddress)).toEqual([]);
});

describe("what is typed or pasted into the audit log", () => {
  const ERROR =
    "Error reading sys/policies/acl/payments: Error making API request. URL: GET http://grove:8200/v1/sys/policies/acl/payments Code: 403. Errors: * 1 error occurred: * permission denied";

  it("leads from a client's error message to the refusals at its path", () => {
    const request = requestInError(ERROR);
    expect(request).toEqual({ path: "sys/policies/acl/payments", kind: "refusal,fault", isServed: true });
    expect(request && errorHref(request)).toBe("/ui/audit?path=sys%2Fpolicies%2Facl%2Fpayments&kind=refusal%2Cfault");
    expect(placeOf(ERROR, { since: "", until: "" })).toBe(request && errorHref(request));
    expect(placeOf("at-1", { since: "2026-11-30T00:00:00.000Z", until: "" }, true)).toBe(
      "/ui/audit?accessor=at-1&since=2026-11-30T00%3A00%3A00.000Z",
    );
    expect(placeOf(ERROR, { since: "2026-11-30T00:00:00.000Z", until: "" })).toMatch(
      /path=sys%2Fpolicies.*&since=2026-11-30T00%3A00%3A00\.000Z$/,
    );
  });

  it.each([
    ["https://grove/base/v1/auth/jwt/login?role=a", { path: "auth/jwt/login", kind: "", isServed: true }],
    ["/v1/sys/policies/acl/a%20b", { path: "sys/policies/acl/a b", kind: "", isServed: true }],
    ["GET /v1/secret/data/x: 403", { path: "secret/data/x", kind: "refusal,fault", isServed: false }],
    ["https://grove/api/v2/teams/x/tokens", { path: "teams/x/tokens", kind: "", isServed: true }],
    ["permission denied", null],
    ["sys/v1/x", null],
    ["https://grove/v1/auth/token/lookup/hvs.CAESIJ1111111111", null],
    ["https://grove/v1/%E0%A4%A", null],
  ])("takes the path out of a URL of the API only, without a token: %s", (text, request) => {
    expect(requestInError(text)).toEqual(request);
  });

  it("says where a time belongs, and that a network can't be looked for", () => {
    for (const time of ["2026-11-30", "2026-11", "2026-11-30T10:00:00Z"]) expect(unaskable(time)).toMatch(/^A time/);
    for (const network of ["127.0.0.0/8", "fd00::/8", "::/0"]) expect(unaskable(network)).toMatch(/^Events are found/);
    for (const text of ["", "alice", "sys/policies", "127.0.0.1", "auth/10"]) expect(unaskable(text)).toBe("");
  });

  it("may be a name when it has no other form, and an accessor is an actor", () => {
    const times = { since: "2026-11-30T00:00:00.000Z", until: "" };
    const accessor = "a".repeat(84);
    expect(["alice", "root", "token-ci"].map(mayBeName)).toEqual([true, true, true]);
    for (const text of ["sys", "iden", "sys/policies", "192.0.2.7", accessor, "at-1"])
      expect(mayBeName(text)).toBe(false);
    expect(placeOf(accessor, times)).toBe(`/ui/audit?actor=${accessor}&since=2026-11-30T00%3A00%3A00.000Z`);
    expect(placeOf("192.0.2.7", times)).toContain("address=192.0.2.7&since=");
    expect(placeOf("sys/pol", times)).toContain("path=sys%2Fpol&since=");
  });
});
