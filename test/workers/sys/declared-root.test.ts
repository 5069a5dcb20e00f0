import { expect, it } from "vitest";
import { readDeclaration } from "../../../scripts/declare/declaration.ts";
import { type Start, startDeclared } from "../../../scripts/declare/declared-start.ts";
import type { Called } from "../../../scripts/grove/client.ts";
import { clientWith, INIT_TOKEN } from "../../support/declared-start.ts";
import { call } from "../../support/service.ts";

const DECLARED = `
  root_token_file = "root-token"
  initialize "one" {
    request "a" { operation = "update" path = "sys/policies/acl/a" data { policy = "path \\"a\\" { capabilities = [\\"read\\"] }" } }
    request "b" { operation = "update" path = "sys/auth/approle" data { type = "approle" } }
  }`;

it("is done by one of two programs that begin at once; the other waits for it, and one root token is kept", async () => {
  const read = readDeclaration(DECLARED, { environment: () => expect.fail(), file: () => expect.fail() });
  const declaration = read.ok ? read.value : expect.fail(JSON.stringify(read.error));
  const programs: Promise<Called<Start>>[] = [];
  for (const other of [1, 0]) {
    // One that is taken over waits until the other has ended.
    const wait = async () => programs[other];
    programs.push(startDeclared({ as: clientWith, initToken: INIT_TOKEN, warn: expect.fail, wait }, declaration));
  }
  const ends = (await Promise.all(programs)).map((end) => (end.ok ? end.value : expect.fail(end.error.message)));
  expect(ends.map(({ kind }) => kind).sort()).toEqual(["initialized", "started"]);
  const kept = ends.flatMap((end) => (end.kind === "started" ? [end.rootToken] : []));
  expect((await call("GET", "auth/token/lookup-self", { token: kept[0] ?? "" })).body.data.policies).toEqual(["root"]);
  expect((await call("GET", "sys/auth/approle", { token: kept[0] ?? "" })).status).toBe(200);
});
