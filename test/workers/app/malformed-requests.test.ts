import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { routeFields } from "../../../src/app/openapi/document.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { type Answer, call, createToken } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";
import { ENDPOINTS, exampleOf, makeWorld, send, sendRaw } from "../../support/walk.ts";

let root: string;
let world: Awaited<ReturnType<typeof makeWorld>>;

beforeEach(holdSweeps);

beforeAll(async () => {
  root = await initializedAlone();
  world = await makeWorld(root);
  const everything = '["create", "read", "update", "patch", "delete", "list", "sudo"]';
  const body = { policy: `path "*" { capabilities = ${everything} }` };
  await call("POST", "sys/policies/acl/everything", { token: root, body });
});

const USES = 100_000;

/** A token with uses, and how many it has left. */
async function limited() {
  const { client_token: token, accessor } = await createToken(root, {
    policies: ["everything"],
    no_default_policy: true,
    num_uses: USES,
  });
  const left = async () => {
    const seen = await call("POST", "auth/token/lookup-accessor", { token: root, body: { accessor } });
    return Number(seen.body.data.num_uses);
  };
  return { token, left };
}

const WALKED = ENDPOINTS.filter(
  ({ route, operation, pattern }) =>
    route.access === "token" && operation !== "scan" && operation !== "head" && !pattern.endsWith("revoke-self"),
);

/** Of no field the value. */
const WRONG_TYPES: readonly unknown[] = [{ x: { y: [{}] } }, [[{}]], true, -7, "", "\u0001 wrong \u0001"];

/** Refusals of requests that are well-formed: what is stored decides, or who asks. */
const STATE = new RegExp(
  [
    // What is stored: names that are taken, and names of nothing.
    "already",
    "not found",
    "unknown role",
    "cannot find key",
    "invalid (lease|token|accessor|alias ID provided|group alias ID|group ID given)",
    "not associated with an entity",
    "holds an id that is no",
    "no mount serves it",
    "not a valid auth method",
    "wrapping token is not valid or does not exist",
    // A change, which what is stored would complete or does not allow.
    "check-and-set parameter",
    "the key parameter is required",
    "a user claim must be defined",
    "bound_service_account_\\w+\\W+ can not be empty",
    "missing (sts role|required 'role_arn')",
    "at least one bound (parameter|constraint)",
    "changing (auth_type|resolve_\\w+_unique_ids)",
    "specified \\w+ (but not|when not)",
    "tried to enable role_tag",
    "because it's unset",
    "must be a subset of the policies set on the role",
    // Who asks, and what others answer.
    "restricted use token cannot generate child tokens",
    "unable to resolve ARN",
    "did not take the verification",
  ].join("|"),
);

const VALIDATION = /error validating wrapping token|invalid token/;

/** Whether a request costs a use, by its answer: "by state" for refusals of which most do. */
function costOf({ status, body }: { readonly status: number; readonly body: unknown }): "one" | "none" | "by state" {
  const text = JSON.stringify(body);
  if (status === 400 || status === 422) return STATE.test(text) ? "by state" : "none";
  return status === 403 && VALIDATION.test(text) ? "none" : "one";
}

describe("a malformed request costs no use, any other request does", () => {
  it("at many endpoints", () => expect(WALKED.length).toBeGreaterThan(250));

  it.each(WALKED.map((endpoint) => [`${endpoint.operation} ${endpoint.pattern}`, endpoint] as const))(
    "%s",
    async (_, endpoint) => {
      const example = exampleOf(endpoint, "walked", world);
      const { token, left } = await limited();
      const hasBody = ["POST", "PATCH"].includes(example.method);
      const answers: Answer[] = [];
      for (const raw of hasBody ? ["{", "[1]", '"x"', "{]", '{"a":1e400}'] : []) {
        answers.push(await sendRaw(example, raw, token));
      }
      if (hasBody) answers.push(await send(example, {}, token));
      for (const { name } of routeFields(endpoint.route)) {
        const { [name]: _left, ...without } = example.fields;
        if (hasBody) answers.push(await send(example, without, token));
        for (const value of WRONG_TYPES) {
          answers.push(await send(example, { ...example.fields, [name]: value }, token));
        }
      }
      const number = (cost: string) => answers.filter((answer) => costOf(answer) === cost).length;
      const spent = USES - (await left());
      const shown = JSON.stringify(answers.map(({ status, body }) => [status, body]));
      expect(spent, shown).toBeGreaterThanOrEqual(number("one"));
      expect(spent, shown).toBeLessThanOrEqual(number("one") + number("by state"));
    },
  );
});

describe("a wrapping token as the token of the request", () => {
  const wrapped = async () => {
    const headers = { "X-Vault-Wrap-TTL": "5m" };
    return (await call("POST", "sys/wrapping/wrap", { token: root, headers, body: { a: "b" } })).body.wrap_info.token;
  };

  it.each(["unwrap", "rewrap"])("outlives malformed calls of %s, and still gives what it holds", async (name) => {
    const token = await wrapped();
    const path = `sys/wrapping/${name}`;
    for (const sent of ["", 5, ["x"], {}, true, [], false]) {
      const answer = await call("POST", path, { token, body: { token: sent } });
      expect(answer.status).toBe(403);
    }
    for (const raw of ["{", "[1]", '"x"', "{]", '{"token":']) {
      expect((await call("POST", path, { token, raw })).status).toBe(400);
    }
    for (const header of ["soon", "-1s"]) {
      const headers = { "X-Vault-Wrap-TTL": header };
      expect((await call("POST", path, { token, headers })).status).toBe(400);
    }
    expect((await call("POST", path, { token, headers: { "X-Vault-Namespace": "team" } })).status).toBe(404);
    expect([400, 403]).toContain((await call("POST", path, { token, body: { token: "not-a-token" } })).status);
    expect((await call("POST", "sys/wrapping/unwrap", { token })).body.data).toEqual({ a: "b" });
    expect((await call("POST", "sys/wrapping/unwrap", { token })).status).not.toBe(200);
  });

  it("outlives a malformed form, and reading its cubbyhole in a wrong way", async () => {
    const token = await wrapped();
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    const raw = Array.from({ length: 1001 }, (_, i) => `n${i}`).join("&");
    expect((await call("POST", "sys/wrapping/unwrap", { token, headers, raw })).status).toBe(400);
    expect((await call("GET", "cubbyhole/response?list=maybe", { token })).status).toBe(400);
    expect((await call("POST", "cubbyhole/response", { token, body: {} })).status).toBe(400);
    expect((await call("GET", "cubbyhole/response", { token })).status).toBe(200);
  });
});
