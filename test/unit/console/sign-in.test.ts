import { describe, expect, it } from "vitest";
import { belowMount } from "../../../console/methods/mount-paths.ts";
import { isDue, isEnding, type Lifetime, lifetimeOf, renewedLifetime } from "../../../console/renewal.ts";
import { afterAnswer } from "../../../console/sign-in/after-answer.ts";
import { callbackPath } from "../../../console/sign-in/begun-login.ts";
import { farewellAfter } from "../../../console/sign-in/farewell.ts";
import {
  firstMethod,
  formOf,
  isAtProvider,
  isUsable,
  listedMounts,
  loginOf,
  missingIn,
  pathOfMethod,
} from "../../../console/sign-in/login-forms.ts";
import { readArrival } from "../../../console/sign-in/oidc-callback.ts";
import { boundedText, loginText } from "../../../console/sign-in/provider-error.ts";
import { revocationTexts } from "../../../console/sign-in/revoke-too.ts";
import { uselessTeamToken } from "../../../console/sign-in/team-token.ts";
import { unwrappedToken } from "../../../console/sign-in/unwrapped-token.ts";
import { nameOf } from "../../../console/sign-in/user-name.ts";

const HOUR = 3_600_000;
const self = (ttl: number, renewable = true) => ({
  ...{ accessor: "a", creation_time: 0, creation_ttl: 3600, display_name: "ci-alice", entity_id: "", id: "" },
  ...{ explicit_max_ttl: 0, meta: null, num_uses: 0, orphan: true, path: "auth/ci/login", policies: [] },
  ...{ type: "service", expire_time: "2026-01-01T01:00:00Z", ttl, renewable },
});

describe("the revocation at a sign-out", () => {
  const textOf = (policies: readonly string[], below: Parameters<typeof revocationTexts>[1]): string =>
    revocationTexts({ policies: [...policies] }, below).join(" ");

  it("names a root token, and what hangs below the token, counted where that may be read", () => {
    expect(textOf(["root"], null)).toMatch(/^This is a root token: .* The token ends, and everything below it/);
    expect(textOf(["web"], null)).toMatch(/^The token ends, and everything below it/);
    expect(textOf(["web"], { count: 0, more: false })).toMatch(
      /^The token ends with its leases\. No token is below it\./,
    );
    expect(textOf(["web"], { count: 1, more: false })).toContain("and the 1 token below it");
    expect(textOf(["web"], { count: 10_000, more: true })).toContain("and the 10,000+ tokens below it");
  });
});

describe("the renewal of a session", () => {
  const lifetime: Lifetime = lifetimeOf(self(3600), 1000);

  it("counts from now, whatever the clock of the server says", () => {
    expect(lifetime).toEqual({ begins: 1000, ends: 1000 + HOUR, canRenew: true });
    expect(lifetimeOf({ ...self(0), expire_time: null }, 1000).ends).toBe(null);
  });

  it("is due from half of the lifetime on", () => {
    expect(isDue(lifetime, 999 + HOUR / 2)).toBe(false);
    expect(isDue(lifetime, 1000 + HOUR / 2)).toBe(true);
    expect(isDue({ ...lifetime, canRenew: false }, 1000 + HOUR / 2)).toBe(false);
    expect(isDue({ ...lifetime, ends: null }, 10 * HOUR)).toBe(false);
  });

  it("is not tried again once it hardly moves the end", () => {
    const now = 1000 + HOUR / 2;
    expect(renewedLifetime(lifetime, self(3600), now)).toEqual({ begins: now, ends: now + HOUR, canRenew: true });
    expect(renewedLifetime(lifetime, self(1800 + 300), now).canRenew).toBe(false);
    expect(renewedLifetime(lifetime, self(3600, false), now).canRenew).toBe(false);
  });

  it("soon after the last one says nothing of the maximum TTL", () => {
    expect(renewedLifetime(lifetime, self(3600), 61_000)).toEqual({
      begins: 61_000,
      ends: 61_000 + HOUR,
      canRenew: true,
    });
    const bounded = renewedLifetime(lifetime, self(3540), 61_000);
    expect(bounded).toEqual({ ...lifetime, canRenew: true });
    const later = 1000 + HOUR / 2;
    expect(renewedLifetime(bounded, self(1800), later)).toEqual({
      begins: later,
      ends: lifetime.ends,
      canRenew: false,
    });
    expect(renewedLifetime({ ...lifetime, canRenew: false }, self(3540), 61_000).canRenew).toBe(false);
  });

  it("says of the last five minutes, or the last third of a short lifetime, that it ends", () => {
    expect(isEnding(lifetime, 999 + HOUR - 300_000)).toBe(false);
    expect(isEnding(lifetime, 1000 + HOUR - 300_000)).toBe(true);
    const short = lifetimeOf(self(60), 0);
    expect([isEnding(short, 39_999), isEnding(short, 40_000)]).toEqual([false, true]);
    expect(isEnding({ ...lifetime, ends: null }, 10 * HOUR)).toBe(false);
  });
});

describe("the ways to sign in", () => {
  const listed = listedMounts({
    auth: {
      "people/": { type: "jwt", description: "Employees" },
      "fleet/": { type: "aws", description: "" },
      "jobs/": { type: "approle", description: "" },
      "sso/": { type: "oidc", description: "" },
      "apps/": { type: "approle", description: "" },
    },
  });

  it("are the listed methods, those of people first and then by path, without those that only clients use", () => {
    expect(listed.map(({ path }) => path)).toEqual(["sso", "people", "apps", "jobs", "fleet"]);
    expect(listed.filter(isUsable).map(({ path }) => path)).toEqual(["sso", "people", "apps", "jobs"]);
    expect(isUsable({ type: "toString" })).toBe(false);
  });

  it("begin with the one that the address asks for, or the first", () => {
    expect(firstMethod(listed, "")).toEqual({ isListed: true, path: "sso", type: "oidc" });
    expect(firstMethod(listed, "people/")).toEqual({ isListed: true, path: "people", type: "jwt" });
    expect(firstMethod(listed, "token")).toBe(null);
    expect(firstMethod([], "")).toBe(null);
  });

  it("take a method that is not listed from the address", () => {
    expect(firstMethod(listed, "approle")).toEqual({ isListed: false, path: "approle", type: "approle" });
    expect(firstMethod([], "hidden/ci")).toEqual({ isListed: false, path: "hidden/ci", type: "oidc" });
    expect(firstMethod(listed, "fleet")).toMatchObject({ isListed: false, path: "fleet" });
  });

  it("lead to the mount that was typed, or the one named as its type", () => {
    expect(pathOfMethod({ isListed: false, path: " /team/ci/ ", type: "jwt" })).toBe("team/ci");
    expect(pathOfMethod({ isListed: false, path: "", type: "approle" })).toBe("approle");
    expect(belowMount("/team//ci?x/", "login")).toBe("auth/team/ci%3Fx/login");
  });
});

describe("a method without an identity provider", () => {
  it.each(["jwt", "oidc"])("of type %s offers only a JWT, which is needed", (type) => {
    const auth = { "ci/": { type, description: "", browser_login: false } };
    const method = firstMethod(listedMounts({ auth }), "");
    if (!method) throw new Error("no method");
    expect(isAtProvider(method, {})).toBe(false);
    expect(missingIn(method, {})).toEqual(["jwt"]);
    expect(
      formOf(method)
        ?.fields.map(({ hint }) => hint)
        .join(),
    ).not.toContain("you sign in at the provider");
    expect(loginOf(method, { jwt: "a.b.c" })).toMatchObject({ fields: { jwt: "a.b.c" } });
  });
});

describe("an unwrapped token", () => {
  it("is the user's own when it was made by the wrapped request, and not when somebody wrapped its text", () => {
    const auth = { client_token: "s.new", accessor: "a", policies: [] };
    expect(unwrappedToken({ auth, data: null })).toEqual({ ok: true, value: { token: "s.new", isOwn: true } });
    expect(unwrappedToken({ data: { token: "s.shared" } })).toEqual({
      ok: true,
      value: { token: "s.shared", isOwn: false },
    });
    expect(unwrappedToken({ auth: null, data: { token: 7 } })).toMatchObject({ ok: false });
    expect(unwrappedToken({ data: null })).toMatchObject({ ok: false });
  });
});

describe("the name of the signed-in user", () => {
  it("is that of the entity, unless it was generated", () => {
    const token = { path: "auth/ci/login", display_name: "ci-alice", meta: null };
    expect(nameOf("alice", { ...token, meta: { name: "al" } })).toBe("alice");
    expect(nameOf("entity_0c5b2a9de1f083a4a1b2.root", token)).toBe("ci-alice");
    expect(nameOf("", token)).toBe("ci-alice");
    expect(nameOf("", { ...token, display_name: "" })).toBe("token");
  });

  it("is the name that a login put into the metadata, and none that the maker of a token chose", () => {
    const token = { path: "auth/oidc/login", display_name: "oidc-3a9e8605", meta: { name: "ann", role: "people" } };
    expect(nameOf("", token)).toBe("ann");
    expect(nameOf("", { ...token, meta: { role: "people" } })).toBe("oidc-3a9e8605");
    expect(nameOf("", { ...token, path: "auth/token/create/deploy" })).toBe("oidc-3a9e8605");
  });
});

describe("the return from an identity provider", () => {
  const begun = { mount: "people", state: "st", clientNonce: "secret", place: "/ui/tokens?name=a" };
  const at = (pathname: string, search: string, kept: unknown = begun) =>
    readArrival({ pathname, search }, kept === null ? null : JSON.stringify(kept));
  const refused = (answer: Record<string, string>) => ({ isExpected: false, place: "/ui/", answer });

  it("has the answer for the login that this tab began, and the page to go back to", () => {
    expect(callbackPath("people")).toBe("/ui/vault/auth/people/oidc/callback");
    expect(at(callbackPath("people"), "?code=c&state=st&iss=https%3A%2F%2Fi&session_state=x")).toEqual({
      isExpected: true,
      place: "/ui/tokens?name=a",
      mount: "people",
      fields: { code: "c", iss: "https://i", state: "st", client_nonce: "secret" },
      providerMessage: "",
    });
    expect(at(callbackPath("people"), "?error=access_denied&error_description=text&state=st")).toMatchObject({
      fields: { error: "access_denied", state: "st", client_nonce: "secret" },
      providerMessage: "text",
    });
    // Without an error there is no message, whatever the address has.
    expect(at(callbackPath("people"), "?code=c&error_description=text&state=st")).toMatchObject({
      providerMessage: "",
    });
  });

  it("is refused with another state, at another mount, and in a tab that began none", () => {
    const st = { code: "c", state: "st" };
    expect(at(callbackPath("people"), "?code=c&state=other")).toEqual(refused({ code: "c", state: "other" }));
    expect(at(callbackPath("people"), "?code=c")).toEqual(refused({ code: "c" }));
    expect(at(callbackPath("others"), "?code=c&state=st")).toEqual(refused(st));
    expect(at(callbackPath("people"), "?code=c&state=st", null)).toEqual(refused(st));
    const elsewhere = { ...begun, place: "https://example.com" };
    expect(at(callbackPath("people"), "?code=c&state=st", elsewhere)).toEqual(refused(st));
    expect(at(callbackPath("people"), "?state=", { ...begun, state: "" })).toEqual(refused({ state: "" }));
    expect(readArrival({ pathname: callbackPath("people"), search: "" }, "{")).toEqual(refused({}));
  });

  it("is no other page", () => {
    expect(at("/ui/tokens", "?code=c&state=st")).toBe(null);
    expect(at("/ui/vault/auth", "?with=people")).toBe(null);
  });
});

describe("where somebody signs in", () => {
  it("is the identity provider for OIDC, and at a method of tokens without one", () => {
    expect(isAtProvider({ type: "oidc" }, { jwt: "left over" })).toBe(true);
    expect(isAtProvider({ type: "jwt" }, { jwt: " " })).toBe(true);
    expect(isAtProvider({ type: "jwt", hasProvider: true }, {})).toBe(true);
    expect(isAtProvider({ type: "jwt" }, { jwt: "a.b.c" })).toBe(false);
    expect(isAtProvider({ type: "approle" }, {})).toBe(false);
  });

  it("is a login with what was typed otherwise", () => {
    const method = { isListed: true, path: "jobs", type: "approle" };
    expect(loginOf(method, { role_id: " r ", secret_id: "", jwt: "x" })).toEqual({
      kind: "login",
      path: "auth/jobs/login",
      fields: { role_id: "r" },
    });
  });
});

it("the token of a team is told that it can do nothing here, unless its policies or its team let it", () => {
  const path = "teams/team-1/authentication-token";
  const meta = { organization: "acme", team: "platform" };
  const refused = [undefined, undefined];
  expect(uselessTeamToken({ path, meta }, refused)).toMatch(/^This is a token of the team platform of acme\./);
  expect(uselessTeamToken({ path, meta }, [["deny"], []])).not.toBe("");
  expect(uselessTeamToken({ path, meta }, [["deny"], ["read"]])).toBe("");
  expect(uselessTeamToken({ path, meta: { ...meta, team: "owners" } }, refused)).toBe("");
  expect(uselessTeamToken({ path: "organizations/acme/authentication-token", meta }, refused)).toBe("");
  expect(uselessTeamToken({ path: "auth/token/create", meta: null }, refused)).toBe("");
});

it("a failed sign-in takes the news of the last session away, but no warning", () => {
  const kept = { tone: "warn", text: "You are signed out, but your token could not be revoked." } as const;
  expect(farewellAfter({ tone: "good", text: "You are signed out." }, true)).toBeNull();
  expect(farewellAfter(kept, true)).toBe(kept);
  expect(farewellAfter(kept, false)).toBe(kept);
});

describe("an error of the provider", () => {
  it("is said in words, with its name", () => {
    expect(loginText("Vault login failed. access_denied", "oidc")).toMatch(
      /^The identity provider refused: .* \(access_denied\)$/,
    );
    for (const message of ["Vault login failed. The provider reported an error.", "role not found", "toString"]) {
      expect(loginText(message, "oidc")).toBe(message);
    }
    expect(loginText("Vault login failed. constructor", "oidc")).toBe("Vault login failed. constructor");
  });

  it("says of a method without settings which one it is", () => {
    const text = loginText("could not load configuration", "ci-old");
    expect(text).toMatch(/^auth\/ci-old\/ has no provider yet/);
  });

  it("has a description of one bounded line without characters that are not seen", () => {
    expect(boundedText(" You may\n not\u202e\u0000 sign in. ")).toBe("You may not sign in.");
    expect(boundedText("é".repeat(300))).toBe(`${"é".repeat(200)}…`);
  });
});

it.each([
  [400, "authorization_pending", "again"],
  [400, "slow_down", "slower"],
  [400, "access_denied", "end"],
  [0, "The server can't be reached.", "away"],
  [429, "too many", "away"],
  [503, "try again", "away"],
] as const)("a login on another device goes on after %i %s: %s", (status, message, next) => {
  expect(afterAnswer({ status, messages: [message], requestId: "" })).toBe(next);
});
