import { runInDurableObject } from "cloudflare:test";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { teamRoute } from "../../../src/team/ids.ts";
import { teamAt } from "../../../src/team/stubs.ts";
import { bindings, call, dataOf, initialized } from "../../support/service.ts";
import { insertRows } from "../../support/storage-writer.ts";
import { api, describeToken, generateToken, organizationWithTeam, resource } from "../../support/teams.ts";

let root: string;
let organization: string;
let teamId: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(async () => {
  ({ organization, teamId } = await organizationWithTeam(root, "builders"));
});

const find = async (token: string) =>
  dataOf<object>(await call("POST", "sys/tokens/find", { token: root, body: { token } }));
const endedBy = (how: string, display_name = "root") => ({ at: expect.any(String), how, by: { display_name } });

it("of a token that was deleted its team knows the name, when it ended and by whom", async () => {
  const { id, text } = await describeToken(root, teamId, "laptop of ann");
  expect(await find(text)).toMatchObject({
    state: "live",
    message: 'A team token, "laptop of ann", that is alive: anyone who has the text can use it.',
    credential: { accessor: id, description: "laptop of ann", created_by: "root", expires: null },
  });
  await api("DELETE", `authentication-tokens/${id}`, { token: root });
  expect(await find(text)).toMatchObject({
    state: "ended",
    message: 'A team token that is not valid any more: "laptop of ann".',
    ended: endedBy("deleted"),
    credential: {
      accessor: id,
      description: "laptop of ann",
      created_by: "root",
      created: expect.any(String),
      metadata: { team_id: teamId },
    },
  });
  const { id: other, text: second } = await describeToken(root, teamId, "ci");
  const body = { data: [{ type: "authentication-tokens", id: other }] };
  await api("DELETE", `organizations/${organization}/team-tokens`, { token: root, body });
  expect(await find(second)).toMatchObject({ ended: endedBy("deleted"), credential: { accessor: other } });
});

it("of a token that was replaced or rotated too, and of one whose time is over", async () => {
  const first = await generateToken(root, teamId);
  await generateToken(root, teamId);
  expect(await find(first.text)).toMatchObject({ state: "ended", ended: endedBy("replaced") });
  const { id, text } = await describeToken(root, teamId, "nightly");
  const rotation = resource("authentication-tokens", { "overlap-seconds": 0 });
  const rotated = await api("POST", `authentication-tokens/${id}/actions/rotate`, { token: root, body: rotation });
  expect(rotated.status).toBe(201);
  expect(await find(text)).toMatchObject({ state: "ended", ended: endedBy("rotated"), credential: { accessor: id } });
});

it("of a deleted team nothing is known but that", async () => {
  const { text } = await describeToken(root, teamId, "ci");
  await api("DELETE", `teams/${teamId}`, { token: root });
  const found = await find(text);
  expect(found).toMatchObject({ message: "A team token that is not valid any more, of an owner that was deleted." });
  expect(found).not.toHaveProperty("ended");
});

it("the last thousand of a team are kept", async () => {
  const stub = teamAt(bindings, teamRoute(teamId));
  const { id, text } = await describeToken(root, teamId, "last");
  const rows = Array.from({ length: 1000 }, (_, at) => ({
    verifier: new Uint8Array([at >> 8, at]),
    record: "{}",
    ended_at: at,
  }));
  await insertRows(stub, "ended", rows);
  await api("DELETE", `authentication-tokens/${id}`, { token: root });
  const ends = await runInDurableObject(stub, (_, { storage: { sql } }) =>
    sql.exec<{ ended_at: number }>("SELECT ended_at FROM ended ORDER BY ended_at").toArray(),
  );
  expect(ends).toHaveLength(1000);
  expect(ends[0]).toEqual({ ended_at: 1 });
  expect(await find(text)).toMatchObject({ ended: endedBy("deleted") });
});
