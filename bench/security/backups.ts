import { gunzipSync, gzipSync } from "node:zlib";
import { text } from "../servers/client.ts";
import { type Check, createToken, must } from "./check.ts";
import type { Subject } from "./subject.ts";

/**
 * Backups and restores over the network. What a deployment that is being restored takes and refuses is shown by
 * test/workers/backup/restore.test.ts, the seals of parts and runs by test/workers/backup/export.test.ts.
 */
export const BACKUPS: readonly Check[] = [
  { name: "3 guesses at the init token, at a restore", attack: guessAtRestore },
  { name: "3 a restore over a server that is in use", attack: restoreOverServer },
  { name: "3 a page of another site begins a restore", attack: pageRestores },
  { name: "3 a backup by a token that may not make one", attack: backupWithoutSudo },
  { name: "3 a run of another time, of too many parts", attack: forgedRun },
  { name: "3 what a backup holds in the clear", attack: readBackup },
  { name: "3 a large body for a server that is not restored", attack: largePart },
];

async function guessAtRestore(subject: Subject): Promise<string> {
  const statuses: number[] = [];
  for (let guess = 0; guess < 12; guess++) {
    const path = guess % 2 === 0 ? "sys/restore/begin" : "sys/restore/finish";
    const options = { token: `guess-${guess}`, from: "127.0.0.5", body: {} };
    statuses.push((await subject.call("POST", path, options)).status);
  }
  const isRefused = statuses.every((status, at) => (at < 10 ? status === 400 || status === 403 : status === 429));
  must(isRefused, `answered ${statuses.join(", ")}`);
  return "429 after ten in a minute";
}

/** The first part of a backup, and its head as if it was the only one. */
async function backUp(subject: Subject) {
  const part = await subject.call("POST", "sys/backup/part", { body: {} });
  must(part.status === 200, `the backup was answered with ${part.status}`);
  const run = text(part.body, "data", "run");
  const sealed = await subject.call("POST", "sys/backup/seal", { body: { run, parts: 1 } });
  must(sealed.status === 200, `the seal was answered with ${sealed.status}`);
  const of = (name: string) => text(sealed.body, "data", name);
  return {
    head: { run, parts: 1, seal: of("seal"), key_ring: of("key_ring") },
    part: { number: 0, seal: text(part.body, "data", "seal"), content: text(part.body, "data", "content") },
  };
}

async function restoreOverServer(subject: Subject): Promise<string> {
  const { head, part } = await backUp(subject);
  for (const [path, body] of [
    ["begin", head],
    ["part", part],
    ["finish", { ...head, proof: "AAAA", issued_before: "now" }],
  ] as const) {
    const { status } = await subject.call("POST", `sys/restore/${path}`, { token: "", body });
    must(status === 400, `${path} was answered with ${status}`);
  }
  must((await subject.call("GET", "auth/token/lookup-self")).status === 200, "the root token has ended");
  return "400; everything is as it was";
}

async function pageRestores(subject: Subject): Promise<string> {
  for (const headers of [{ Origin: "https://evil.example" }, { "Sec-Fetch-Site": "cross-site" }]) {
    for (const path of ["begin", "part", "finish"]) {
      const options = { token: "", headers, body: {}, from: "127.0.0.6" };
      const { status } = await subject.call("POST", `sys/restore/${path}`, options);
      must(status === 403, `${path} was answered with ${status}`);
    }
  }
  return "403, before anything is done";
}

async function backupWithoutSudo(subject: Subject): Promise<string> {
  const policy = 'path "sys/backup/*" { capabilities = ["create", "update"] }';
  await subject.call("POST", "sys/policies/acl/half-backup", { body: { policy } });
  for (const policies of [["default"], ["half-backup"]]) {
    const { token } = await createToken(subject, { policies });
    const { status } = await subject.call("POST", "sys/backup/part", { token, body: {} });
    must(status === 403, `${policies.join()} was answered with ${status}`);
  }
  return "403: it needs sudo";
}

async function forgedRun(subject: Subject): Promise<string> {
  const { run } = (await backUp(subject)).head;
  const later = run.replace(/^\d+/, (began) => String(Number(began) + 1));
  for (const body of [
    { run: later, parts: 1 },
    { run, parts: 2_000_000_000 },
  ]) {
    const { status } = await subject.call("POST", "sys/backup/seal", { body });
    must(status === 400, `${JSON.stringify(body)} was answered with ${status}`);
  }
  return "400: the name of a run is sealed, its parts are bounded";
}

async function readBackup(subject: Subject): Promise<string> {
  const { token } = await createToken(subject, { policies: ["default"] });
  const value = "in-a-cubbyhole-only";
  await subject.call("POST", "cubbyhole/mine", { token, body: { value } });
  const { content } = (await backUp(subject)).part;
  const stored = gunzipSync(Buffer.from(content, "base64")).toString();
  must(stored.includes("cubbyhole"), "the tree of the token is not in the first part");
  for (const secret of [token, subject.root, value]) must(!stored.includes(secret), "a secret is in it");
  return "no token and no value";
}

async function largePart(subject: Subject): Promise<string> {
  const content = gzipSync(Buffer.alloc(64 * 2 ** 20)).toString("base64");
  const bomb = await subject.call("POST", "sys/restore/part", { token: "", body: { number: 0, seal: "", content } });
  must(bomb.status === 400, `a bomb was answered with ${bomb.status}`);
  const large = { number: 0, seal: "", content: "A".repeat(4 * 2 ** 20) };
  const { status } = await subject.call("POST", "sys/restore/part", { token: "", body: large });
  must(status === 413, `the body was answered with ${status}`);
  return "413, and nothing is decompressed";
}
