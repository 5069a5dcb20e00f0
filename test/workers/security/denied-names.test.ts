import { createExecutionContext } from "cloudflare:test";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TokenAuthority } from "../../../src/rpc/token-authority.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { bindings, call, dataOf, tokenUnder } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";

const ALL = '["create", "read", "update", "patch", "delete", "list", "sudo"]';
const ALLOWED = ["sys", "auth", "identity"].map((first) => `path "${first}/*" { capabilities = ${ALL} }`).join("\n");
const POLICY = { policy: 'path "b" { capabilities = ["read"] }' };
/** A mount whose own path has words that stand behind other mounts. */
const NESTED = "team/identity-accesslist";

let root: string;
let authority: TokenAuthority;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initializedAlone();
  authority = new TokenAuthority(createExecutionContext(), bindings);
  for (const [path, body] of [
    ["sys/policies/acl/secret", POLICY],
    ["sys/auth/cloud", { type: "cloud" }],
    [`sys/auth/${NESTED}`, { type: "cloud" }],
    ["sys/auth/jwt", { type: "jwt" }],
    ["auth/cloud/role/admin", { auth_type: "vm", bound_account_id: "123456789012" }],
    ["auth/jwt/role/admin", { role_type: "jwt", user_claim: "sub", bound_subject: "ci" }],
    ["identity/entity/name/Bob", { metadata: { a: "b" } }],
    ["identity/group/name/Kings", {}],
  ] as const) {
    const { status, body: answer } = await call("POST", path, { token: root, body });
    if (status !== 200 && status !== 204) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  }
});

const denying = (...paths: string[]) =>
  tokenUnder(root, `${ALLOWED}\n${paths.map((path) => `path "${path}" { capabilities = ["deny"] }`).join("\n")}`);

async function statuses(token: string, requests: readonly (readonly [string, string, unknown?])[]) {
  const answers = requests.map(async ([method, path, body]) => {
    const headers = method === "PATCH" ? { "Content-Type": "application/merge-patch+json" } : {};
    const answer = await call(method, path, { token, headers, ...(body !== undefined && { body }) });
    return [method, path, answer.status] as const;
  });
  return Promise.all(answers);
}

/** The folder of each kind of name that is found in any case, the name as it is stored, and what can be asked of it. */
const FOLDED: readonly (readonly [
  folder: string,
  name: string,
  verbs: readonly (readonly [string, string, unknown?])[],
])[] = [
  [
    "sys/policies/acl/",
    "secret",
    [
      ["GET", ""],
      ["POST", "", POLICY],
      ["PATCH", "", POLICY],
      ["DELETE", ""],
    ],
  ],
  [
    "sys/policy/",
    "secret",
    [
      ["GET", ""],
      ["POST", "", POLICY],
      ["DELETE", ""],
    ],
  ],
  ["sys/policies/usage/acl/", "secret", [["GET", ""]]],
  [
    "sys/policies/versions/acl/",
    "secret",
    [
      ["GET", ""],
      ["GET", "?version=1"],
      ["GET", "?list=true"],
    ],
  ],
  [
    "sys/policies/detailed/acl/",
    "secret",
    [
      ["GET", "/a?list=true"],
      ["GET", "/a/?list=true"],
    ],
  ],
  [
    "auth/cloud/role/",
    "admin",
    [
      ["GET", ""],
      ["POST", "", {}],
      ["DELETE", ""],
      ["POST", "/tag", {}],
    ],
  ],
  [
    "auth/jwt/role/",
    "admin",
    [
      ["GET", ""],
      ["POST", "", {}],
      ["DELETE", ""],
    ],
  ],
  [
    "identity/entity/name/",
    "Bob",
    [
      ["GET", ""],
      ["POST", "", { disabled: true }],
      ["DELETE", ""],
    ],
  ],
  ["identity/entity/name/", "not-yet-made", [["POST", "", {}]]],
  [
    "identity/group/name/",
    "Kings",
    [
      ["GET", ""],
      ["POST", "", { policies: ["ci"] }],
      ["DELETE", ""],
    ],
  ],
];

const inCases = (name: string) => [
  name,
  name.toLowerCase(),
  name.toUpperCase(),
  `${name[0]?.toUpperCase()}${name.slice(1)}`,
];

describe("a deny of a name that is found in any case", () => {
  it.each(FOLDED)("%s%s: holds in every case, whatever case the rule has", async (folder, name, verbs) => {
    const rules = inCases(name).flatMap((written) => [
      [`${folder}${written}`, `${folder}${written}/*`],
      [`${folder}${written.slice(0, 2)}*`],
      [`${folder.replace(/[^/]+\/$/, "+/")}${written}`, `${folder.replace(/[^/]+\/$/, "+/")}${written}/*`],
    ]);
    const requests = inCases(name).flatMap((asked) =>
      verbs.map(([method, below, body]) => [method, `${folder}${asked}${below}`, body] as const),
    );
    for (const denied of rules) {
      const answers = await statuses(await denying(...denied), requests);
      expect([denied, answers]).toEqual([denied, requests.map(([method, path]) => [method, path, 403])]);
    }
    const shown = await call("GET", `${folder.replace(/usage|versions|detailed/, "").replace("//", "/")}${name}`, {
      token: root,
    });
    expect(shown.status).toBe(name === "not-yet-made" ? 404 : 200);
  });

  it("does not hold for another name, nor take what a rule allows of the denied folder", async () => {
    const token = await tokenUnder(
      root,
      `path "sys/policies/acl/*" { capabilities = ["deny"] } path "sys/policies/acl/secret" { capabilities = ["read"] }
       path "identity/entity/name/*" { capabilities = ["deny"] } path "identity/entity/name/Bob" { capabilities = ["read"] }`,
    );
    expect((await call("GET", "sys/policies/acl/secret", { token })).status).toBe(200);
    expect((await call("GET", "identity/entity/name/Bob", { token })).status).toBe(200);
    const others = await denying("sys/policies/acl/SECRET-2", "identity/entity/name/BOBBY", "auth/CLOUD/role/admin");
    expect((await call("GET", "sys/policies/acl/secret", { token: others })).status).toBe(200);
    expect((await call("GET", "identity/entity/name/Bob", { token: others })).status).toBe(200);
    expect((await call("GET", "auth/cloud/role/admin", { token: others })).status).toBe(200);
  });

  it("reaches no mount in another case than its own", async () => {
    const token = await denying("auth/cloud/*", "sys/auth/cloud", "sys/auth/cloud/*");
    const answers = await statuses(token, [
      ["GET", "auth/CLOUD/role/admin"],
      ["POST", "auth/Cloud/role/admin", {}],
      ["GET", "sys/auth/CLOUD/tune"],
      ["GET", "sys/auth/Cloud"],
      ["POST", "sys/mounts/auth/CLOUD/tune", { max_lease_ttl: "1h" }],
    ]);
    expect(answers.filter(([, , status]) => ![400, 403, 404].includes(status))).toEqual([]);
  });
});

describe("a deny on the path of a mount", () => {
  it("holds with and without the slash at its end, but not for its settings", async () => {
    for (const denied of ["sys/auth/cloud", "sys/auth/cloud/", "sys/mounts/auth/cloud/", "sys/auth/+/"]) {
      const answers = await statuses(await denying(denied), [
        ["GET", "sys/auth/cloud"],
        ["DELETE", "sys/auth/cloud"],
        ["DELETE", "sys/auth/cloud/"],
        ["GET", "sys/mounts/auth/cloud"],
        ["GET", "sys/auth/cloud/tune"],
      ]);
      expect([denied, ...answers.map(([, , status]) => status)]).toEqual([denied, 403, 403, 403, 403, 200]);
    }
  });

  it("holds behind the mount that serves the request, whatever its path is made of", async () => {
    const at = `auth/${NESTED}`;
    const requests = [
      ["GET", `${at}/identity-accesslist/i-1`],
      ["GET", `${at}/identity-whitelist/i-1`],
      ["DELETE", `${at}/identity-whitelist/i-1`],
    ] as const;
    for (const denied of [`${at}/identity-whitelist/*`, `${at}/identity-accesslist/i-1`, `${at}/+/i-1`]) {
      const answers = await statuses(await denying(denied), requests);
      expect([denied, ...answers.map(([, , status]) => status)]).toEqual([denied, 403, 403, 403]);
    }
    const elsewhere = await denying("auth/team/identity-whitelist/*");
    const answers = await statuses(elsewhere, requests.slice(0, 2));
    expect(answers.map(([, , status]) => status)).toEqual([404, 404]);
  });

  it("holds for a role tag as it is and in base64", async () => {
    const tag = "v1:n=abc:r=admin:m=false:t=1h0m0s:q/w==";
    for (const denied of [tag, btoa(tag)]) {
      const token = await denying(`auth/cloud/roletag-denylist/${denied}`);
      const asked = [tag, btoa(tag)].flatMap((one) => [
        ["GET", `auth/cloud/roletag-denylist/${encodeURIComponent(one)}`] as const,
        ["POST", `auth/cloud/roletag-blacklist/${encodeURIComponent(one)}`, {}] as const,
      ]);
      const answers = await statuses(token, asked);
      expect(answers.map(([, , status]) => status)).toEqual([403, 403, 403, 403]);
    }
  });
});

describe("CVE-2026-63131: a list under a deny", () => {
  const FOLDERS = [
    "sys/policies/acl",
    "sys/policies/detailed/acl",
    "sys/policy",
    "sys/quotas/rate-limit",
    "sys/leases/lookup",
    "auth/token/accessors",
    "auth/token/roles",
    "auth/cloud/roles",
    "auth/cloud/identity-accesslist",
    "auth/jwt/role",
    "identity/entity/name",
    "identity/group/id",
  ];

  it.each(FOLDERS)("%s: is refused with and without the slash, however the deny is written", async (folder) => {
    const parent = folder.slice(0, folder.lastIndexOf("/"));
    const [first, , ...rest] = folder.split("/");
    const segments = [first, "+", ...rest].join("/");
    for (const denied of [folder, `${folder}/`, `${folder}*`, `${folder}/*`, `${parent}/+`, `${parent}/+/`, segments]) {
      const answers = await statuses(await denying(denied), [
        ["GET", `${folder}?list=true`],
        ["GET", `${folder}/?list=true`],
        ["GET", `${folder}//?list=true`],
        ["GET", `${folder}?scan=true`],
        ["GET", `${folder}/?scan=true`],
      ]);
      expect([denied, answers.filter(([, , status]) => status !== 403)]).toEqual([denied, []]);
    }
  });

  it("is allowed where a rule for the folder takes precedence", async () => {
    const token = await tokenUnder(
      root,
      `path "identity/*" { capabilities = ["deny"] } path "identity/group/+" { capabilities = ["deny"] }
       path "identity/group/id/*" { capabilities = ["list"] }`,
    );
    expect((await call("GET", "identity/group/id/?list=true", { token })).status).toBe(200);
  });
});

describe("a deny on another spelling", () => {
  const CASES = [
    ["sys/policies/acl/SECRET", "sys/policy/secret", "read"],
    ["sys/policies/acl/SECRET", "sys/policies/versions/acl/secret", "read"],
    ["auth/+/role/ADMIN", "auth/jwt/role/admin", "update"],
    ["identity/entity/name/bob", "identity/entity/name/BOB", "delete"],
    [`auth/${NESTED}/identity-whitelist/*`, `auth/${NESTED}/identity-accesslist/i-1`, "read"],
    ["auth/cloud/role", "auth/cloud/roles", "list"],
    ["sys/auth/cloud/", "sys/mounts/auth/cloud", "read"],
    ["sys/policies/+", "sys/policies/acl", "list"],
  ] as const;

  it.each(CASES)(
    "%s: is a deny of %s for every endpoint that answers about access",
    async (denied, path, operation) => {
      const token = await denying(denied);
      const asked = operation === "list" ? `${path}/` : path;
      const capabilities = await call("POST", "sys/capabilities-self", { token, body: { paths: [asked] } });
      expect(dataOf<Record<string, unknown>>(capabilities)[asked]).toEqual(["deny"]);
      const explained = await call("POST", "sys/explain/access-self", { token, body: { path, operation } });
      expect(dataOf<{ allowed: boolean; reason: string }>(explained)).toMatchObject({ allowed: false, reason: "deny" });
      expect(await authority.authorize(token, { path, operation })).toMatchObject({ allowed: false, reason: "denied" });
    },
  );
});
