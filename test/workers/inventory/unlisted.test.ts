import { afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { NETWORK, ONE_PROCESS } from "../../../src/app/deployments.ts";
import { UpdateQueue } from "../../../src/listing/updates/publish.ts";
import { TokenTree } from "../../../src/tree/token-tree.ts";
import { atCalls, holdAlarms } from "../../support/calls.ts";
import { runAs } from "../../support/deployments.ts";
import { call, initialized } from "../../support/service.ts";
import { locate } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

beforeEach(() => {
  holdAlarms();
  vi.spyOn(console, "error").mockReturnValue();
});
afterEach(() => runAs(NETWORK));

/** Makes an orphan whose update an earlier process had in memory when it ended. */
async function unlistedOrphan() {
  const lost = atCalls(UpdateQueue, "add", () => undefined);
  const made = await call("POST", "auth/token/create-orphan", { token: root, body: { ttl: "1h" } });
  lost.end();
  const { stub } = await locate(made.body.auth.client_token);
  return { accessor: String(made.body.auth.accessor), tree: stub.id.toString() };
}

async function listed(): Promise<string[]> {
  const { body } = await call("GET", "auth/token/accessors?list=true", { token: root });
  return JSON.parse(JSON.stringify(body.data.keys));
}

it("the first list that a process reads has what an earlier one made and did not list", async () => {
  const [broken, whole] = [await unlistedOrphan(), await unlistedOrphan()];
  expect(await listed()).not.toContain(whole.accessor);
  runAs(ONE_PROCESS);
  const reports = atCalls(TokenTree, "report", ({ id, proceed }) => {
    if (id === broken.tree) throw new Error("damaged");
    return proceed();
  });
  const first = await listed();
  expect(first).toContain(whole.accessor);
  expect(first).not.toContain(broken.accessor);
  const { length } = reports.calls;
  expect(length).toBeGreaterThan(1);
  await listed();
  expect(reports.calls).toHaveLength(length);
});
