import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Child } from "../../scripts/local/child.ts";
import { onPort, waitUntilAnswers } from "../../scripts/local/wait-until-answers.ts";
import { FakeCloud } from "../support/fake-cloud/fake-cloud.ts";
import { serveCloud } from "../support/fake-cloud/server.ts";
import { freePort } from "../support/free-port.ts";

import { fillInstallation, type Send, sender } from "./support/stored-installation.ts";
import { buildHere, startMixed, unpackRelease } from "./support/two-releases.ts";

const ARCHIVES = join(import.meta.dirname, "../data/releases");
const ended: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const end of ended.reverse()) await end();
});

/** Objects that are awake keep their code for minutes after a deployment, so both ways round happen on the network. */
describe.each(await readdir(ARCHIVES))("this release beside %s", (archive) => {
  const start = async (isNewWorker: boolean) => {
    const directory = await mkdtemp(join(tmpdir(), "grove-mixed-"));
    ended.push(() => rm(directory, { recursive: true, force: true }));
    const ours = { build: await buildHere(join(directory, "ours")), at: "ours" };
    const theirs = { build: await unpackRelease(join(ARCHIVES, archive), join(directory, "theirs")), at: "theirs" };
    const [worker, objects] = isNewWorker ? [ours, theirs] : [theirs, ours];
    const sealKey = `1:${randomBytes(32).toString("base64")}`;
    const rootToken = "root-of-the-mixed-installation";
    const variables = {
      GROVE_SEAL_KEY: sealKey,
      GROVE_DEV_ROOT_TOKEN: rootToken,
      GROVE_PRIVATE_HOSTS: "127.0.0.1",
      // What was written is read by the next request, as after the seconds that an isolate otherwise keeps its copy.
      POLICY_CACHE_SECONDS: "0",
    };
    const port = await freePort();
    const child: Child = await startMixed(directory, worker, objects, variables, port);
    ended.push(() => child.stop());

    expect(await waitUntilAnswers(onPort(port), child.ended, 60_000)).toBe(true);
    const bare = sender(`http://127.0.0.1:${port}`);
    // As the network does.
    const send: Send = (method, path, options = {}) =>
      bare(method, path, { ...options, headers: { ...options.headers, "CF-Connecting-IP": "127.0.0.1" } });
    return { send, sealKey, rootToken };
  };

  it.each([
    ["a new Worker and old objects", true],
    ["an old Worker and new objects", false],
  ])("with %s everything can be stored, used and revoked", async (_, isNewWorker) => {
    const { send, sealKey, rootToken } = await start(isNewWorker);
    const cloud = new FakeCloud();
    const cloudServer = await serveCloud(cloud);
    ended.push(() => cloudServer.close());
    const facts = await fillInstallation(send, { rootToken, sealKey, cloud, cloudEndpoint: cloudServer.endpoint });
    const statusOf = async (token: string) => (await send("GET", "/v1/auth/token/lookup-self", { token })).status;
    const { wrapping, ...tokens } = facts.tokens;
    for (const [name, token] of Object.entries(tokens)) expect([name, await statusOf(token)]).toEqual([name, 200]);
    expect(await statusOf(facts.revoked)).toBe(403);
    expect((await send("POST", "/v1/sys/wrapping/unwrap", { token: wrapping })).status).toBe(200);
    const body = { increment: "1h" };
    expect((await send("POST", "/v1/auth/token/renew-self", { token: tokens.periodic, body })).status).toBe(200);
    const listed = async () => {
      const { data } = (await send("GET", "/v1/sys/tokens?limit=1000", { token: rootToken })).body;
      return (data as { tokens: { accessor: string }[] }).tokens.map(({ accessor }) => accessor);
    };
    await expect.poll(listed).toContain(facts.accessors.grandchild);
    const accessor = facts.accessors.parent;
    await send("POST", "/v1/auth/token/revoke-accessor", { token: rootToken, body: { accessor } });
    for (const name of ["parent", "child", "grandchild"] as const) expect(await statusOf(tokens[name])).toBe(403);
    await expect.poll(listed).not.toContain(facts.accessors.grandchild);
  });
});
