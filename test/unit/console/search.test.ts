import { describe, expect, it } from "vitest";
import { type Found, matching, SHOWN_OF_KIND } from "../../../console/search/found.ts";
import { itselfOf } from "../../../console/search/found-text.ts";
import { hasToken, isSecretLike, tokenIn } from "../../../console/secret-like.ts";

const found = (kind: Found["kind"], name: string, detail = ""): Found => ({ kind, name, detail, href: `/ui/${name}` });

const KNOWN = { message: "It is known.", chosen_id: false };
const SECRET_ID = {
  ...{ accessor: "a1", display_name: "", policies: [], metadata: {}, entity_id: "", created: null, expires: null },
  ...{ parent: null, path: "auth/teams/ci/role/deploy" },
};

describe("the console says of a pasted text", () => {
  it("that it is a secret-id, and leads to its role, where it can be destroyed", () => {
    const live = { ...KNOWN, state: "live" as const, kind: "secret-id", credential: SECRET_ID };
    expect(itselfOf(live)).toEqual({
      found: [
        {
          kind: "Roles",
          name: "deploy",
          detail: "live secret-id of this role, with the accessor a1",
          href: "/ui/methods/teams%2Fci?part=roles&name=deploy",
        },
      ],
      note: "It is known.",
      isKnown: true,
    });
  });

  it("what the server could not judge, and whether it knows anything", () => {
    const jwt = { ...KNOWN, state: "unjudged" as const, kind: "jwt" };
    expect(itselfOf(jwt)).toEqual({ found: [], note: "It is known.", isKnown: true });
    const unknown = { ...KNOWN, state: "unknown" as const, kind: "" };
    expect(itselfOf(unknown)).toMatchObject({ isKnown: false });
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
      "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl",
      "x".repeat(84),
    ];
    for (const secret of secrets) expect(isSecretLike(secret), secret).toBe(true);
    for (const word of ["payments-api", "alice@example.com", "s.3", "run-1004", "auth/token/create", "", "two words"]) {
      expect(isSecretLike(word), word).toBe(false);
    }
  });

  it("knows a token in any part of an address, and lets accessors and names through", () => {
    for (const address of [
      `sys/tokens/s.${"A".repeat(84)}`,
      "/ui/tokens?display_name=hvs.CAESIJlWVG&x=1",
      "sys/tokens?metadata=owner%3Db.AAAAAAAAAAAAAAAAAAAAAAAA",
      "/api/v2/authentication-tokens/TRqLLOnBPXkEFA.atlasv1.zp8jFmKCc6",
      "sys/tokens?search=eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqb2IifQ.c2lnbmF0dXJl",
      "a%20s.BbRfSCKGDl2RzEEwBbRfSCKG",
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
    for (const text of ["payments-api", "release.s.payments-api-of-the-north-1", ""]) expect(tokenIn(text)).toBe(text);
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

  it("shows a bounded number of each kind, in one order", () => {
    const policies = Array.from({ length: 50 }, (_, at) => found("Policies", `a-${at}`));
    const shown = matching([...policies, found("Entities", "alice")], "a");
    expect(shown[0]?.kind).toBe("Entities");
    expect(shown).toHaveLength(1 + SHOWN_OF_KIND);
  });
});
