import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Env } from "../../../src/env.ts";
import { auditMessage, auditPath } from "../../../src/wire/audit-masking.ts";
import {
  readBaseUrl,
  readBodyText,
  readOperation,
  readParameters,
  readPath,
  readTokenHeader,
  readUrl,
} from "../../../src/wire/request.ts";

describe("readPath", () => {
  it.each([
    ["/v1/auth/token/create", "auth/token/create"],
    ["/api/v2/auth/token/create", "auth/token/create"],
    ["/auth/token/create", "auth/token/create"],
    ["/v1/sys/policy/a..b", "sys/policy/a..b"],
    [`/v1/${"a".repeat(2048)}`, "a".repeat(2048)],
    ["/v1/sys/policy/a%2Fb", "sys/policy/a/b"],
  ])("%s is %s", (path, expected) => expect(readPath(path)).toEqual({ ok: true, value: expected }));

  it.each([
    ...["/v1/sys/policies/acl/..%2fx", "/v1/sys/policies/acl/%2e%2e%2fx", "/v1/a/.%2Fb", "/v1/a/.%2e/b"],
    ...["/v1/sys/policies/acl/%2e%2e/x", "/v1/sys/policies/acl/../x", "/v1/../../sys/x", "/v1/./sys/x", "/v1/sys/.."],
  ])("CVE-2026-3605: %s is refused as a relative path", (path) => {
    const read = readPath(path);
    expect(read).toEqual({ ok: false, error: { code: "invalid_request", message: "relative paths not supported" } });
  });

  it.each(["/v1/a%00b", "/v1/a%0ab", "/v1/a%7f", "/v1/%e2%80%a8", "/v1/%ff", "/v1/%", `/v1/${"a".repeat(2049)}`])(
    "%s is refused",
    (path) => expect(readPath(path).ok).toBe(false),
  );
});

describe("the bounds of a request", () => {
  it("hold for a token", () => {
    const readToken = (length: number) => readTokenHeader(new Headers({ "X-Vault-Token": "x".repeat(length) }));
    expect([readToken(8192).length, readToken(8193)]).toEqual([8192, ""]);
  });

  it("hold for the number of parameters", () => {
    const parameters = (count: number) => new URLSearchParams(Array.from({ length: count }, (_, at) => [`n${at}`, ""]));
    expect([readParameters(parameters(1000)).ok, readParameters(parameters(1001)).ok]).toEqual([true, false]);
  });
});

describe("readBaseUrl", () => {
  const BEHIND_GATEWAY = { CLIENT_ADDRESS_HEADER: "X-Grove-Client-Address" };
  const baseUrlOf = (headers: Record<string, string>, env: Pick<Env, "CLIENT_ADDRESS_HEADER">) =>
    readBaseUrl({ url: "http://grove.test/v1/sys/health", pathname: "/v1/sys/health" }, new Headers(headers), env);

  it.each([
    [{}, "http://grove.test/v1/"],
    [{ "X-Forwarded-Host": "tokens.example:8200" }, "http://tokens.example:8200/v1/"],
    [{ "X-Forwarded-Host": "[2001:db8::1]:8200" }, "http://[2001:db8::1]:8200/v1/"],
    [{ "X-Forwarded-Proto": "https" }, "https://grove.test/v1/"],
    [{ "X-Forwarded-Proto": "javascript" }, "http://grove.test/v1/"],
    [{ "X-Forwarded-Host": "a b/c" }, "http://grove.test/v1/"],
  ])("behind a gateway: %j is %s", (headers, expected) => {
    expect(baseUrlOf(headers, BEHIND_GATEWAY)).toBe(expected);
  });

  it("without a gateway: what a client says of its host counts for nothing", () => {
    const headers = { "X-Forwarded-Host": "foreign.example", "X-Forwarded-Proto": "https" };
    expect(baseUrlOf(headers, {})).toBe("http://grove.test/v1/");
  });
});

describe("readUrl", () => {
  // All that the parser of URLs would rewrite, as the runtime hands it over.
  it.each([
    ["/v1/cubbyhole/a\\b", "/v1/cubbyhole/a\\b"],
    ["/v1/cubbyhole/a%5Cb", "/v1/cubbyhole/a%5Cb"],
    ["/\\v1/x", "/\\v1/x"],
    ["/v1/a/..\\b", "/v1/a/..\\b"],
    ["/v1/a/../b", "/v1/a/../b"],
    ["/v1/a/./b", "/v1/a/./b"],
    ["/v1/a/%2e%2E/b", "/v1/a/%2e%2E/b"],
    ["/v1/a/.%2e/b/", "/v1/a/.%2e/b/"],
    ["/v1/a/..", "/v1/a/.."],
    ["/v1/a\tb\nc\rd", "/v1/a\tb\nc\rd"],
    ["/v1/a b ", "/v1/a b "],
    ['/v1/a|b^c"d<e>f`g{h}', '/v1/a|b^c"d<e>f`g{h}'],
    ["/v1/é\u3002中", "/v1/é\u3002中"],
    ["/v1/a:b@c;d=e,f'g!h*i(j)", "/v1/a:b@c;d=e,f'g!h*i(j)"],
    ["//v1//x", "//v1//x"],
    ["", "/"],
    ["?list=true", "/"],
    ["/v1/a#b", "/v1/a"],
    ["/v1/a?b/../c\\d#e?f", "/v1/a"],
  ])("%j has the path %j, as it was sent", (sent, pathname) => {
    for (const origin of ["http://x", "https://grove.example:8200", "http://[::1]:80", "http://u:p@x", "http://x\\y"]) {
      expect(readUrl(origin + sent).pathname).toBe(pathname);
    }
  });

  it("has a path of its own for each way to send one, but for percent encoding", () => {
    const piece = fc.constantFrom(
      "/",
      "a",
      "b",
      "..",
      ".",
      "\\",
      "|",
      "^",
      " ",
      "\t",
      "é",
      "@",
      ":",
      ";",
      "%5C",
      "%2e",
      "%7C",
    );
    const path = fc.array(piece, { minLength: 1 }).map((pieces) => `/v1/${pieces.join("")}`);
    fc.assert(
      fc.property(path, path, (one, other) => {
        const read = [one, other].map((sent) => readPath(readUrl(`http://x${sent}`).pathname));
        const isSame = decodeURIComponent(one) === decodeURIComponent(other);
        if (read.every(({ ok }) => ok)) expect(isSame).toBe(JSON.stringify(read[0]) === JSON.stringify(read[1]));
      }),
    );
  });

  it("finds the query that the parser of URLs finds", () => {
    const piece = fc.constantFrom(
      "a=b",
      "&",
      "list=true",
      "=",
      "+",
      "%20",
      "é",
      "'",
      '"',
      "\\",
      "/",
      "?",
      "..",
      "#x",
      " c",
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = `http://x/v1/a?${pieces.join("")}`;
        expect([...readUrl(text).query]).toEqual([...new URL(text).searchParams]);
      }),
    );
  });
});

describe("a host that is none", () => {
  it.each(["[", "x:99999", "a b", "a\\\\b"])("%j gives no base URL that can't be read", (host) => {
    const head = { url: `http://${host}/v1/sys/health`, pathname: "/v1/sys/health" };
    for (const headers of [{}, { "X-Forwarded-Host": host }]) {
      const baseUrl = readBaseUrl(head, new Headers(headers), { CLIENT_ADDRESS_HEADER: "X-Grove-Client-Address" });
      expect(URL.canParse(baseUrl)).toBe(true);
    }
  });
});

describe("readBodyText", () => {
  const read = (body: string | Uint8Array<ArrayBuffer>, limit: string | undefined, announced?: string) => {
    const headers = announced === undefined ? {} : { "Content-Length": announced };
    const request = new Request("http://x/", { method: "POST", headers, body });
    return readBodyText(request, { MAX_BODY_BYTES: limit } as Env);
  };

  it("reads text, whatever pieces it comes in", async () => {
    expect(await read('{"é": 1}', "10")).toEqual({ ok: true, value: '{"é": 1}' });
    expect(await read("", "10")).toEqual({ ok: true, value: "" });
  });

  it("stops at the limit, also when the announced length is smaller", async () => {
    const refused = { ok: false, error: { code: "body_too_large" } };
    expect(await read("x".repeat(11), "10")).toEqual(refused);
    expect(await read("x", "10", "11")).toEqual(refused);
    expect(await read("x".repeat(11), "10", "1")).toEqual(refused);
  });

  it.each(["lots", "", "-1", "0", "NaN", "Infinity", "1.5"])("a limit of %j is the usual one", async (limit) => {
    expect((await read("x".repeat(1_048_576), limit)).ok).toBe(true);
    expect((await read("x".repeat(1_048_577), limit)).ok).toBe(false);
  });

  it("refuses what is not UTF-8", async () => {
    expect(await read(new Uint8Array([0x22, 0xff, 0x22]), "10")).toMatchObject({ ok: false });
  });

  it("reads each body of a known length by itself, whatever the one before ended with", async () => {
    const cut = new Uint8Array([0x22, 0xe2, 0x82]);
    const marked = new Uint8Array([0xef, 0xbb, 0xbf, 0x61]);
    for (let time = 0; time < 2; time++) {
      expect(await read(cut, "10", "3")).toMatchObject({ ok: false });
      expect(await read(marked, "10", "4")).toEqual({ ok: true, value: "a" });
      expect(await read("é", "10", "2")).toEqual({ ok: true, value: "é" });
    }
  });
});

describe("readOperation", () => {
  const operation = (method: string, query = "") => readOperation(method, new URLSearchParams(query));

  it.each([
    ["GET", "", "read"],
    ["GET", "list=true", "list"],
    ["GET", "list=T", "list"],
    ["GET", "list=false", "read"],
    ["GET", "scan=1", "scan"],
    ["GET", "help=1", "help"],
    ["POST", "", "update"],
    ["PUT", "list=true", "update"],
    ["PATCH", "", "patch"],
    ["DELETE", "", "delete"],
    ["HEAD", "", "head"],
  ])("%s ?%s is %s", (method, query, expected) =>
    expect(operation(method, query)).toEqual({ ok: true, value: expected }),
  );

  it("refuses a bad flag, both flags and unknown methods", () => {
    expect(operation("GET", "list=maybe").ok).toBe(false);
    expect(operation("GET", "list=1&scan=1").ok).toBe(false);
    expect(operation("BREW")).toEqual({ ok: false, error: { code: "unknown_method" } });
  });
});

const isKnown = (name: string) => name !== "chosen-name";

describe("auditMessage", () => {
  it.each([
    ["unknown role s.SNC5-_x", "unknown role <token>"],
    ['role "hvs.CAES" could not be found', 'role "<token>" could not be found'],
    [
      'token policies (["b.x" "default" "oPM5SGxoYGMOef.atlasv1.My"]) must be',
      'token policies (["<token>" "default" "<token>"]) must be',
    ],
    ["unknown role eyJhbGciOiJ9.eyJzdWIiOiJ9.c2ln", "unknown role <token>"],
    ["unknown role ci.s.build", "unknown role ci.s.build"],
    ["Grove is sealed. Set it, as always.", "Grove is sealed. Set it, as always."],
  ])("%s is logged as %s", (message, logged) => expect(auditMessage(message, {}, isKnown)).toBe(logged));
});

describe("auditMessage with the fields of a request", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["unknown role Chosen.by+root", { role_name: "Chosen.by+root" }, "unknown role <value>"],
    ['entry for role "chosen" not found', { role: "CHOSEN" }, 'entry for role "<value>" not found'],
    ['["chosen-1" "chosen-1-b"]', { policies: ["chosen-1", { deep: "chosen-1-b" }] }, '["<value>" "<value>"]'],
    ["a role is not a roll", { role: "a", other: "is" }, "a role is not a roll"],
    ["unknown roles", { role: "role" }, "unknown roles"],
    ["no $& here", { role: "here" }, "no $& <value>"],
    ['["chosen" "default"] must be', { policies: [" Chosen "] }, '["<value>" "default"] must be'],
    ['policy "cho\\"sen\\\\1" is refused', { policies: ['cho"sen\\1'] }, 'policy "<value>" is refused'],
    ['no mount at "auth/chosen/"', { from: "/auth/chosen" }, 'no mount at "<value>"'],
    [
      'path "a": invalid capability "chosen"',
      { policy: 'path "a" { capabilities = ["chosen"] }' },
      'path "a": invalid capability "<value>"',
    ],
    [`invalid key "${"x".repeat(128)}..."`, { policy: `${"X".repeat(200)} = 1` }, 'invalid key "<value>"'],
    [`no mount at "auth/${"x/".repeat(600)}"`, { from: "chosen" }, 'no mount at "<value>"'],
    ['invalid key "cho\\nsen"', { policy: '"cho\\nsen" = 1' }, 'invalid key "<value>"'],
    ['key "default" has "roles"', { role: "de", policy: "chosen" }, 'key "default" has "roles"'],
    ["no parameter chosen-name", { "chosen-name": 1 }, "no parameter <value>"],
    ["no key inner-name", { meta: { "inner-name": 1 } }, "no key <value>"],
    ["unknown role chosen+s.ab+c", { role_name: "chosen+s.ab+c" }, "unknown role <value>"],
  ])("%s of %j is logged as %s", (message, data, logged) => expect(auditMessage(message, data, isKnown)).toBe(logged));

  it.each([
    ["as it was sent", (text: string) => text, 'no key "<value>" here'],
    ["in another case", (text: string) => text.toUpperCase(), 'no key "<value>" here'],
  ])("has no text of any length, %s", (_, spelled, logged) => {
    const key = "chosen.".repeat(100_000);
    expect(auditMessage(`no key "${spelled(key)}" here`, { key }, isKnown)).toBe(logged);
  });

  it("has no quoted text when it is long, and nothing when it is long without them", () => {
    const policies = Array.from({ length: 900 }, (_, at) => `${"!".repeat(100)}${at}`);
    const quoted = ["default", ...policies].map((name) => JSON.stringify(name)).join(" ");
    const logged = auditMessage(`policies ([${quoted}]) must be`, { policies }, isKnown);
    expect(logged).toBe(`policies ([${'"<value>" '.repeat(901)}`.slice(0, 2048));
    const role = `cho"sen${quoted}`;
    expect(auditMessage(`unknown role ${role}`, { role }, isKnown)).toBe("<value>");
    expect(auditMessage(`unknown role ${"x".repeat(20_000)}`, { role: "chosen" }, isKnown)).toBe("<value>");
  });

  it("has no quoted text that was not compared", () => {
    const names = Array.from({ length: 65 }, (_, at) => `"stored-${at}"`);
    const logged = auditMessage(names.join(" "), { name: "chosen" }, isKnown);
    expect(logged).toBe([...names.slice(0, 64), '"<value>"'].join(" "));
  });
});

describe("auditPath", () => {
  it.each([
    ["auth/token/create", "auth/token/create"],
    ["auth/token/lookup/s.abc", "auth/token/lookup/<token>"],
    ["auth/token/lookup/hvs.CAES", "auth/token/lookup/<token>"],
    ["b.xyz", "<token>"],
    ["auth/jwt/role/eyJhbGciOiJ9.eyJzdWIiOiJ9.c2ln", "auth/jwt/role/<token>"],
    ["sys/policy/as.b", "sys/policy/as.b"],
  ])("%s is logged as %s", (path, logged) => expect(auditPath(path)).toBe(logged));
});
