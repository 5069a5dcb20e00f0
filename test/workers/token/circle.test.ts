import { beforeAll, beforeEach, expect, it } from "vitest";
import { NO_ORIGIN } from "../../../src/system/revocation-origin.ts";
import { decodeStoredId } from "../../../src/token/ids.ts";
import { call, createToken, initialized } from "../../support/service.ts";
import { changeRows } from "../../support/storage-writer.ts";
import { holdSweeps, locate, restartTree } from "../../support/trees.ts";

let root: string;

beforeEach(holdSweeps);
beforeAll(async () => {
  root = await initialized();
  const policy = 'path "auth/token/*" { capabilities = ["update"] }';
  await call("POST", "sys/policies/acl/operator", { token: root, body: { policy } });
});

// Parents have no seal: who can write the storage can write this.
it("a circle of parents that somebody has written ends every walk over the tree", async () => {
  const made = { policies: ["operator"], ttl: "1h" };
  const top = await createToken(root, { ...made, no_parent: true });
  const middle = await createToken(top.client_token, made);
  const low = await createToken(middle.client_token, made);
  const aside = await createToken(top.client_token, made);
  const rows = [top, middle, low, aside].map(({ accessor }) => decodeStoredId(accessor));
  const [topRow = 0, , lowRow = 0, asideRow = 0] = rows.map((id) => id?.row ?? 0);
  const { stub } = await locate(top.client_token);
  await changeRows(stub, "tokens", { parent: lowRow }, { row: topRow });
  await changeRows(stub, "tokens", { parent: asideRow }, { row: asideRow });
  const tree = await restartTree(stub);
  const tokens = rows.flatMap((id) => (id ? [{ row: id.row, tail: id.tail }] : []));
  const meant = { tokens, filter: null, includeRoot: true, spare: null };
  // From above, from the middle of a step, and from a row that is in another circle.
  for (const cursor of [null, { at: 0, row: lowRow }, { at: 0, row: asideRow }]) {
    expect(await tree.countSelection(meant, cursor)).toMatchObject({ next: null });
  }
  expect(await tree.countSelection({ ...meant, tokens: tokens.slice(0, 1) }, null)).toMatchObject({
    ...{ tally: { matched: 1 }, next: null },
  });
  expect(await tree.countSelection({ ...meant, spare: lowRow }, null)).toMatchObject({
    tally: { self: 3 },
    next: null,
  });
  for (const { accessor } of [top, low, aside]) {
    expect((await call("GET", `sys/tokens/${accessor}`, { token: root })).status).toBe(200);
  }
  // While dead rows wait, each look-up walks up; a revocation ends what it names, and what is above and below it in a circle.
  const revoke = { ...meant, tokens: tokens.slice(0, 1), dry: false, asked: NO_ORIGIN, sweptByCaller: false };
  expect(await tree.revokeFiltered(revoke)).toMatchObject({ revoked: 1 });
  for (const { accessor } of [top, middle, low]) {
    expect(await call("GET", `sys/tokens/${accessor}`, { token: root })).toMatchObject({
      body: { data: { ended: {} } },
    });
  }
  expect((await call("GET", "auth/token/lookup-self", { token: aside.client_token })).status).toBe(200);
});
