import { beforeAll, describe, expect, it, vi } from "vitest";
import { FILTER } from "../../../src/api/sys/tokens/filter-fields.ts";
import { TEAM_ROUTES } from "../../../src/api/team/routes.ts";
import { TABLES } from "../../../src/app/routes.ts";
import type { Route, TokenRoute } from "../../../src/auth/route.ts";
import { revocationsOf } from "../../../src/listing/inventory/revocation-jobs.ts";
import { bindings, call, createToken, dataOf, initialized } from "../../support/service.ts";
import { api, createOrganization, createTeam, errorOf } from "../../support/teams.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
  await createOrganization(root, "acme");
});

/** Fields that say how much of a list is shown, not what of it. */
const PAGING = new Set(["after", "limit"]);
/** Reads whose fields choose a form of the answer, or name the one thing that is read. */
const NO_FILTERS = new Set([
  "sys/metrics",
  "sys/internal/specs/openapi",
  "sys/wrapping/lookup",
  "lookup",
  "lookup-self",
]);

const all: readonly Route[] = [TABLES.fixed, ...TABLES.byMountType.values()].flatMap(({ routes }) => routes);

/** Every endpoint with fields that say which of many things are meant. */
const FILTERED = all.filter((route): route is TokenRoute => {
  if (route.access !== "token" || NO_FILTERS.has(route.path)) return false;
  const names = Object.keys((route.fields as { readonly shape?: object }).shape ?? {});
  if (route.operations.includes("read") || route.operations.includes("list")) {
    return names.some((name) => !PAGING.has(name));
  }
  return Object.keys(FILTER).every((name) => names.includes(name));
});

/** The lists of the interface of teams: each answers pages. */
const TEAM_LISTS = TEAM_ROUTES.filter(
  ({ operations, description }) => operations.includes("read") && "page[number]" in (description.fields ?? {}),
);

const UNKNOWN = "this endpoint does not know these parameters";

describe("a parameter that an endpoint with filters does not know", () => {
  it("is looked for at every one of them", () => {
    expect(FILTERED.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        "sys/tokens",
        "sys/tokens/revoke",
        "sys/tokens/summary",
        "sys/leases",
        "sys/leases/count",
      ]),
    );
    expect(TEAM_LISTS.length).toBeGreaterThanOrEqual(4);
  });

  it.each(FILTERED.map((route) => [`${route.operations.join()} ${route.path}`, route] as const))(
    "%s: is a 400 that names it",
    async (_, { operations, path }) => {
      const answer =
        operations.includes("update") && !operations.includes("read")
          ? await call("POST", path, { token: root, body: { polcy: "x", dry_run: true } })
          : await call("GET", `${path}?polcy=x${operations.includes("list") ? "&list=true" : ""}`, { token: root });
      expect([answer.status, answer.body.errors]).toEqual([400, [`${UNKNOWN}: [polcy]`]]);
    },
  );

  it.each(TEAM_LISTS.map((route) => [route.path, route] as const))(
    "%s: is a 400 that names it",
    async (_, { path }) => {
      const place = path.replace(":organization", "acme").replace(":id", "nc-1");
      const answer = await api("GET", `${place}?filter%5Bpolcy%5D=x&page%5Bnumber%5D=1`, { token: root });
      expect(answer.status).toBe(400);
      expect(errorOf(answer).source).toEqual({ parameter: "filter[polcy]" });
    },
  );

  it("is refused where nothing sent would mean everything", async () => {
    await call("POST", "auth/token/roles/ci", { token: root, body: {} });
    const made = await call("POST", "auth/token/create/ci", { token: root, body: { policies: ["default"] } });
    const token = made.body.auth.client_token;
    const end = await call("POST", "auth/token/roles/ci/revoke-tokens", { token: root, body: { created_befor: "x" } });
    expect([end.status, end.body.errors]).toEqual([400, [`${UNKNOWN}: [created_befor]`]]);
    const entity = await call("POST", "identity/entity", { token: root, body: { name: "someone" } });
    const path = `identity/entity/id/${entity.body.data.id}/not-before`;
    const before = await call("POST", path, { token: root, body: { not_befor: "2026-01-01T00:00:00Z" } });
    expect([before.status, before.body.errors]).toEqual([400, [`${UNKNOWN}: [not_befor]`]]);
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(200);
  });

  it("widens no revocation: nothing is revoked, and no job is kept", async () => {
    const { client_token: token, accessor } = await createToken(root, { display_name: "kept", policies: ["default"] });
    const start = vi.spyOn(revocationsOf(bindings), "start");
    for (const body of [
      { mount: "auth/token/", dislpay_name: "kept", dry_run: false, expected_count: 1000 },
      { accessors: [accessor], token, dry_run: false, expected_count: 1 },
      { mount: "auth/token/", display_name: "", dry_run: false, expected_count: 1000 },
      { mount: "auth/token/", created_before: null, dry_run: false, expected_count: 1000 },
      { mount: "auth/token/", search: "  ", dry_run: false, expected_count: 1000 },
      { mount: "auth/token/", accessors: [], dry_run: false, expected_count: 1000 },
      { mount: "auth/token/", accessors: [""], dry_run: false, expected_count: 1000 },
      { display_name: "*", dry_run: false, expected_count: 1000 },
      // A list of jobs shows a hundred filters: none of them may be as large as a body.
      { path_prefix: '"'.repeat(400_000), dry_run: false, expected_count: 1000 },
    ]) {
      expect((await call("POST", "sys/tokens/revoke", { token: root, body })).status).toBe(400);
    }
    expect(start).not.toHaveBeenCalled();
    expect((await call("GET", "auth/token/lookup-self", { token })).status).toBe(200);
    expect(dataOf<{ jobs: unknown[] }>(await call("GET", "sys/tokens/jobs", { token: root })).jobs).toEqual([]);
  });

  it("is refused in the query of a request whose fields are in its body", async () => {
    const path = "sys/tokens/revoke?display_name=nobody";
    const answer = await call("POST", path, { token: root, body: { mount: "auth/token/" } });
    expect([answer.status, answer.body.errors]).toEqual([400, [`${UNKNOWN}: [display_name]`]]);
  });

  it("is named without more of it than a name has, without its value, and not in the log", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    const lines = vi.spyOn(console, "log");
    const long = "x".repeat(5_000);
    const body = { [token]: true, [long]: "swordfish", policy: "swordfish", other: { [token]: "swordfish" } };
    const answer = await call("POST", "sys/tokens/revoke", { token: root, body });
    expect(answer.status).toBe(400);
    expect(String(answer.body.errors)).toBe(`${UNKNOWN}: [other <token> ${long.slice(0, 64)}…]`);
    const written = JSON.stringify(lines.mock.calls);
    expect(written).toContain(UNKNOWN);
    expect(written).not.toContain(token);
    expect(written).not.toContain("swordfish");
  });

  it("is shown to nobody whose policies do not reach the endpoint", async () => {
    const { client_token: token } = await createToken(root, { policies: ["default"] });
    expect((await call("GET", "sys/tokens?polcy=x", { token })).status).toBe(403);
    expect((await call("GET", "sys/tokens?polcy=x")).status).toBe(403);
  });
});

describe("what clients send with every list", () => {
  it.each([
    "list=true",
    "list=1&after=&limit=10",
    "help=0&list=true",
    "scan=false&list=true&limit=max",
    "sort=-created",
  ])("sys/tokens?%s: is taken", async (query) => {
    const answer = await call("GET", `sys/tokens?${query}`, { token: root });
    expect([query, answer.status]).toEqual([query, 200]);
    expect(String(answer.body.errors)).not.toContain(UNKNOWN);
  });

  it("the lists of teams take pages, searches and what go-tfe includes", async () => {
    await createTeam(root, "acme", "ops");
    const query = "page%5Bnumber%5D=1&page%5Bsize%5D=20&include=users&filter%5Bnames%5D=ops";
    expect((await api("GET", `organizations/acme/teams?${query}`, { token: root })).status).toBe(200);
  });
});
