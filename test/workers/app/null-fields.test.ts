import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { routeFields } from "../../../src/app/openapi/document.ts";
import { CloudAuth } from "../../../src/methods/aws/mount/cloud-auth.ts";
import { isList, type Shape } from "../../../src/wire/view.ts";
import { initializedAlone } from "../../support/audit-store.ts";
import { holdAlarmsOf } from "../../support/calls.ts";
import { call, createToken, tokenUnder } from "../../support/service.ts";
import { holdSweeps } from "../../support/trees.ts";
import { ENDPOINTS, type Endpoint, exampleOf, makeWorld, send } from "../../support/walk.ts";

let root: string;
let world: Awaited<ReturnType<typeof makeWorld>>;

beforeAll(async () => {
  root = await initializedAlone();
  world = await makeWorld(root);
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  // Whether a tidy that an earlier request has begun still runs is in the answers of the next one.
  holdAlarmsOf(CloudAuth);
  holdSweeps();
});

afterEach(() => vi.useRealTimers());

/** Endpoints that change what later ones need, or that are shown by the tests of their own below. */
const ELSEWHERE = /^(sys\/(init|restore|generate-root|unseal|backup|rotate|remount)|sys\/wrapping\/)|\/revoke-self$/;

const WRITES = ENDPOINTS.filter(
  ({ route, operation, pattern }) =>
    (operation === "update" || operation === "patch") && routeFields(route).length > 0 && !ELSEWHERE.test(pattern),
);

/** Names of the fields of which a null is a value. */
function nullableOf({ route }: Endpoint): string[] {
  if (route.access === "open") return [];
  const { nullable, others } = (route.access === "token" && route.nullsBy) || route.fields;
  return others === "kept" ? ["*"] : [...nullable];
}

let names = 0;

/** An answer and what it has made, without what differs between two that are made by equal requests. */
async function outcome(endpoint: Endpoint, change: (fields: Record<string, unknown>) => Record<string, unknown>) {
  const name = `zz${names++}zz`;
  const example = exampleOf(endpoint, name, world);
  const { status, body } = await send(example, change({ ...example.fields }), root);
  // A list of a collection shows those of the requests before as well.
  const isCollection = /(^organizations|teams|notification-configurations)$/.test(endpoint.pattern);
  const read = isCollection ? null : await call("GET", example.path, { token: root });
  const text = JSON.stringify([status, body, read?.status, read?.body]).replaceAll(name, "NAME");
  return text.replace(/[\w.+/=:-]{14,}/g, "ID");
}

const without = (name: string) => (fields: Record<string, unknown>) => {
  const { [name]: _, ...rest } = fields;
  return rest;
};
const withValue = (name: string, value: unknown) => (fields: Record<string, unknown>) => ({ ...fields, [name]: value });

/** The empty value of a list or a map; undefined of other fields. */
const emptyOf = (shape: Shape) => (isList(shape) ? [] : typeof shape === "object" && "*" in shape ? {} : undefined);

describe("a field that is null is absent, a list or a map empty", () => {
  it("at many endpoints", () => expect(WRITES.length).toBeGreaterThan(80));

  it("but where a null says something", () => {
    const nullable = Object.fromEntries(
      WRITES.map((endpoint) => [endpoint.pattern, nullableOf(endpoint)] as const).filter(([, fields]) => fields.length),
    );
    const organization = [
      "default-team-token-ttl-ms",
      "owners-team-saml-role-id",
      "session-remember",
      "session-timeout",
    ];
    expect(nullable).toEqual({
      // What is stored is the caller's own.
      "cubbyhole/:path": ["*"],
      // Making a device is refused, whatever is sent.
      "sys/audit/:path": ["*"],
      // A condition without a value is refused: without the condition more tokens would end.
      "sys/tokens/revoke": expect.arrayContaining(["policy", "role", "accessors"]) as unknown,
      // In documents null takes a setting back.
      organizations: organization,
      "organizations/:organization": organization,
      "organizations/:organization/teams": ["sso-team-id"],
      "teams/:team": ["sso-team-id"],
      "organizations/:organization/notification-configurations": ["token"],
      "organizations/:organization/notification-configurations/:id": ["token"],
      "organizations/:organization/authentication-token": ["expired-at"],
      "teams/:team/authentication-token": ["expired-at"],
      "teams/:team/authentication-tokens": ["expired-at"],
      "authentication-tokens/:id/actions/rotate": ["expired-at"],
    });
  });

  it.each(WRITES.map((endpoint) => [`${endpoint.operation} ${endpoint.pattern}`, endpoint] as const))(
    "%s",
    async (_, endpoint) => {
      const nullable = nullableOf(endpoint);
      const ownFields = Object.keys(exampleOf(endpoint, "x", world).fields);
      // The first write may make what the later ones change.
      await outcome(endpoint, (fields) => fields);
      const plain = await outcome(endpoint, (fields) => fields);
      const free = routeFields(endpoint.route).filter(
        ({ name, shape }) => !nullable.includes(name) && !nullable.includes("*") && emptyOf(shape) === undefined,
      );
      const nulls = Object.fromEntries(free.map(({ name }) => [name, null]));
      expect(await outcome(endpoint, (fields) => ({ ...nulls, ...fields }))).toEqual(plain);
      for (const { name, shape } of routeFields(endpoint.route)) {
        const isOwn = ownFields.includes(name);
        const empty = emptyOf(shape);
        const absence = empty === undefined ? without(name) : withValue(name, empty);
        if (isOwn || empty !== undefined) await outcome(endpoint, absence);
        const absent = isOwn || empty !== undefined ? await outcome(endpoint, absence) : plain;
        // What was emptied is written again, so that a null that changes nothing is noticed.
        if (empty !== undefined) await outcome(endpoint, (fields) => fields);
        const asNull = await outcome(endpoint, withValue(name, null));
        const isValue = nullable.includes(name) || (nullable.includes("*") && name === "*");
        if (!isValue || name === "expired-at") expect([name, asNull]).toEqual([name, absent]);
      }
    },
  );

  it("revocation of tokens by a condition without a value is refused", async () => {
    for (const field of ["policy", "role", "metadata", "created_after", "orphan", "accessors"]) {
      const body = { display_name: "x", [field]: null };
      const answer = await call("POST", "sys/tokens/revoke", { token: root, body });
      expect([answer.status, answer.body.errors]).toEqual([
        400,
        [expect.stringContaining(`for field "${field}"`) as unknown],
      ]);
    }
  });

  it("of a document: its attributes", async () => {
    const headers = { "Content-Type": "application/vnd.api+json" };
    const body = { data: { type: "teams", attributes: null, relationships: null } };
    const path = `teams/${world.team}`;
    const changed = await call("PATCH", path, { token: root, headers, body });
    expect([changed.status, changed.body]).toEqual([200, (await call("GET", path, { token: root })).body]);
  });

  it("of a wrapping token in the body: the token of the request is meant", async () => {
    const wrapped = async () => {
      const headers = { "X-Vault-Wrap-TTL": "5m" };
      const answer = await call("POST", "sys/wrapping/wrap", { token: root, headers, body: { a: "b" } });
      return answer.body.wrap_info.token;
    };
    const body = { token: null };
    const token = await wrapped();
    expect((await call("POST", "sys/wrapping/lookup", { token, body })).status).toBe(200);
    expect((await call("POST", "sys/wrapping/unwrap", { token, body })).body.data).toEqual({ a: "b" });
    // A wrapping token may not wrap itself again, with or without the field.
    for (const sent of [body, {}]) {
      const answer = await call("POST", "sys/wrapping/rewrap", { token: await wrapped(), body: sent });
      expect(answer.status).toBe(403);
    }
    const { client_token } = await createToken(root, { policies: ["default"] });
    expect((await call("POST", "auth/token/revoke-self", { token: client_token, body })).status).toBe(204);
  });

  it("what is wrapped or kept in a cubbyhole keeps its nulls", async () => {
    const body = { a: null, b: { c: null } };
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    await call("POST", "cubbyhole/nulls", { token, body });
    expect((await call("GET", "cubbyhole/nulls", { token })).body.data).toEqual(body);
    const headers = { "X-Vault-Wrap-TTL": "5m" };
    const wrapped = await call("POST", "sys/wrapping/wrap", { token, headers, body });
    const wrapping = wrapped.body.wrap_info.token;
    expect((await call("POST", "sys/wrapping/unwrap", { token: wrapping })).body.data).toEqual(body);
  });

  it("takes the last item of a list away, as Terraform writes it", async () => {
    const write = (path: string, body: Record<string, unknown>) => call("POST", path, { token: root, body });
    const entity = (await write("identity/entity", { name: "member" })).body.data.id;
    const group = { name: "emptied", policies: ["default"], member_entity_ids: [entity], metadata: { a: "b" } };
    await write("identity/group", group);
    await write("identity/group/name/emptied", { policies: null, member_entity_ids: null, metadata: null });
    expect((await call("GET", "identity/group/name/emptied", { token: root })).body.data).toMatchObject({
      policies: [],
      member_entity_ids: [],
      metadata: null,
    });
    await write("auth/aws/config/identity", { ec2_metadata: ["account_id"] });
    await write("auth/aws/config/identity", { ec2_metadata: null });
    expect((await call("GET", "auth/aws/config/identity", { token: root })).body.data.ec2_metadata).toEqual([]);
    await write("auth/aws/config/client", { allowed_sts_header_values: "X-One", endpoint: "https://ec2.example.com" });
    await write("auth/aws/config/client", { allowed_sts_header_values: null, endpoint: null });
    expect((await call("GET", "auth/aws/config/client", { token: root })).body.data).toMatchObject({
      allowed_sts_header_values: [],
      endpoint: "https://ec2.example.com",
    });
  });

  it("for policies too: a null is no required parameter, and none that is denied or not allowed", async () => {
    const path = "auth/token/roles/judged";
    const rules = (limits: string) => `path "${path}" { capabilities = ["create", "update"]\n ${limits} }`;
    const write = async (limits: string, body: Record<string, unknown>) => {
      const token = await tokenUnder(root, rules(limits));
      const explained = await call("POST", "sys/explain/access", {
        token: root,
        body: { token, path, operation: "update", parameters: body },
      });
      const { status } = await call("POST", path, { token, body });
      return [status, explained.body.data.allowed];
    };
    expect(await write('required_parameters = ["orphan"]', { orphan: null })).toEqual([403, false]);
    expect(await write('required_parameters = ["orphan"]', { orphan: false })).toEqual([204, true]);
    expect(await write("denied_parameters = { orphan = [] }", { orphan: null })).toEqual([204, true]);
    expect(await write("allowed_parameters = { renewable = [] }", { orphan: null, renewable: true })).toEqual([
      204,
      true,
    ]);
    const cloud =
      'path "auth/aws/role/judged" { capabilities = ["create"]\n required_parameters = ["inferred_aws_region"] }';
    const fields = { auth_type: "ec2", bound_region: "us-east-1", inferred_aws_region: null };
    const options = { token: await tokenUnder(root, cloud), body: fields };
    expect((await call("POST", "auth/aws/role/judged", options)).status).toBe(403);
  });
});
