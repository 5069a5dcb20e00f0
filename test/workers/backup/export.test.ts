import { beforeAll, expect, it } from "vitest";
import { MAX_PARTS } from "../../../src/backup/part-format.ts";
import { classesInOrder, keysOfTrees } from "../../../src/backup/saved-objects.ts";
import { nameOfRun, sealOfBackup } from "../../../src/backup/seals.ts";
import { toBase64 } from "../../../src/crypto/bytes.ts";
import { Identity } from "../../../src/identity/directory/identity.ts";
import { TokenRevocations } from "../../../src/listing/inventory/revocation-jobs.ts";
import { TokenRoles } from "../../../src/token/roles/token-roles.ts";
import { type AnsweredPart, backUp, finish, textOf } from "../../support/backups.ts";
import { atNth, callsTo } from "../../support/calls.ts";
import { bindings, call, createToken, dataOf, initialized, tokenUnder } from "../../support/service.ts";
import { keysOfInstallation, locate } from "../../support/trees.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

it("a large object is read in pages of one moment, and again from its beginning when it changes in between", async () => {
  await createToken(root, { policies: ["default"] });
  const { stub } = await locate(root);
  const first = await stub.exportPage(null, 1);
  if (first === null || first === "changed" || !first.next) throw new Error("the tree was not read in pages");
  expect(first.page).toMatchObject({ page: 0, isLast: false });
  const second = await stub.exportPage(first.next, 2 ** 20);
  expect(second).toMatchObject({ page: { page: 1, isLast: true, schema: [] }, next: null });
  await createToken(root, { policies: ["default"] });
  expect(await stub.exportPage(first.next, 2 ** 20)).toBe("changed");
});

it("only a caller with sudo reads a backup", async () => {
  const token = await tokenUnder(root, 'path "sys/backup/*" { capabilities = ["create", "update"] }');
  expect((await call("POST", "sys/backup/part", { token, body: {} })).status).toBe(403);
  expect((await call("POST", "sys/backup/part", { token: root, body: { position: "{}" } })).status).toBe(400);
  expect((await call("POST", "sys/backup/part", { token: root, body: { number: 1 } })).status).toBe(400);
  expect((await call("POST", "sys/backup/seal", { token: root, body: { run: "none", parts: 1 } })).status).toBe(400);
});

it("the part with the System object, which is restored first, has none of the trees before it", async () => {
  const { parts } = await backUp(root);
  const classes = await Promise.all(
    parts.map(async ({ content }) => {
      const { objects }: { objects: { className: string }[] } = JSON.parse(await textOf(content));
      return objects.map(({ className }) => className);
    }),
  );
  const [first = [], ...others] = classes.filter((names) => names.includes("System"));
  expect(others).toEqual([]);
  expect(first).not.toContain("TokenTree");
});

it("a part ends with the object that fills it", async () => {
  for (let made = 0; made < 4; made++) {
    const { client_token: token } = await createToken(root, { no_parent: true, policies: ["default"] });
    const body = { value: "v".repeat(500_000) };
    expect((await call("POST", "cubbyhole/large", { token, body })).status).toBe(204);
  }
  const { parts } = await backUp(root);
  const sizes = await Promise.all(parts.map(async ({ content }) => (await textOf(content)).length));
  // Each of these objects is of some 700,000 characters: the second one fills a part.
  expect(Math.max(...sizes)).toBeLessThan(1_500_000);
});

it("a position that no answer had is refused, or read from the beginning of its object", async () => {
  const part = (position: unknown) =>
    call("POST", "sys/backup/part", { token: root, body: { run, number: 1, position: JSON.stringify(position) } });
  const { run }: { run: string } = dataOf(await call("POST", "sys/backup/part", { token: root, body: {} }));
  const { stub, treeId } = await locate(root);
  const read = await stub.exportPage(null, 1);
  if (read === null || read === "changed" || !read.next) throw new Error("the tree was not read in pages");
  const [key] = keysOfTrees(bindings, [treeId]);
  const { next } = read;
  for (const page of ["first", { ...next, after: "x" }, { ...next, after: [{ b: "?" }] }, { ...next, mark: 1 }])
    expect((await part({ after: "", within: { key, page, tries: 0 } })).status).toBe(400);
  for (const page of [
    { ...next, after: [1, 2, 3, 4] },
    { ...next, after: [] },
    { ...next, table: "none" },
  ]) {
    const answer = await part({ after: "", within: { key, page, tries: 0 } });
    expect(answer.status).toBe(200);
    expect(JSON.parse(await textOf(dataOf<AnsweredPart>(answer).content)).objects[0]).toMatchObject({ page: 0 });
  }
});

it("a run is one that the server has named, within a day, and has a bounded number of parts", async () => {
  const seal = (run: string, parts: number) => call("POST", "sys/backup/seal", { token: root, body: { run, parts } });
  const part = (run: string, number: number) =>
    call("POST", "sys/backup/part", { token: root, body: { run, number, position: '{"after":"z","within":null}' } });
  const { head } = await backUp(root);
  const later = head.run.replace(/^\d+/, (began) => String(Number(began) + 1));
  expect((await seal(later, 1)).status).toBe(400);
  expect((await part(later, 1)).status).toBe(400);
  expect((await part(head.run, 1)).status).toBe(200);
  for (const answer of [await seal(head.run, MAX_PARTS + 1), await part(head.run, MAX_PARTS)])
    expect(answer.body.errors).toEqual([`a backup has at most ${MAX_PARTS} parts`]);
  const keys = await keysOfInstallation();
  const classes = classesInOrder(bindings);
  const old = await nameOfRun(keys, classes, Date.now() - 86_400_000);
  for (const answer of [await seal(old, 1), await part(old, 1)])
    expect(answer.body.errors).toEqual(["the run began more than a day ago: begin again"]);
  const begun = Date.now() - 80_000_000;
  expect((await seal(await nameOfRun(keys, classes, begun), 1)).status).toBe(200);
  // Of a release with a class less: the positions of its run mean other objects here.
  const other = await nameOfRun(keys, classes.slice(0, -1), begun);
  for (const answer of [await seal(other, 1), await part(other, 1)])
    expect(answer.body.errors).toEqual(["run is none that this release has named: begin again"]);
});

it("the proof of a backup that is not being restored is not computed", async () => {
  const backup = await backUp(root);
  const { run } = backup.head;
  const parts = MAX_PARTS + 1;
  const seal = toBase64(await sealOfBackup(await keysOfInstallation(), run, parts));
  const many = { ...backup, head: { ...backup.head, parts, seal } };
  expect((await finish(many, "")).body.errors).toEqual(["not all parts of the backup were restored"]);
  // Here nothing was ever restored: the proof is not looked at.
  expect((await finish(backup, "")).body.errors).toEqual(["no restore is under way here"]);
});

it("reads no object of a class while one of the class before it is read", async () => {
  const [roles, revocations] = [callsTo(TokenRoles, "exportPage"), callsTo(TokenRevocations, "exportPage")];
  const early: number[] = [];
  const note = async <Page>(proceed: () => Promise<Page>, later: { readonly calls: readonly unknown[] }) => {
    const page = await proceed();
    // A call that was sent with this one has arrived by then.
    await call("GET", "auth/token/lookup-self", { token: root });
    early.push(later.calls.length);
    return page;
  };
  // One object each, so at least one of both borders is within what was read at once.
  atNth(Identity, "exportPage", 1, (proceed) => note(proceed, roles));
  atNth(TokenRoles, "exportPage", 1, (proceed) => note(proceed, revocations));
  await backUp(root);
  expect(early).toEqual([0, 0]);
  expect([roles.calls.length, revocations.calls.length]).toEqual([1, 1]);
});
