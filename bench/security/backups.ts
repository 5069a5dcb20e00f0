import { gunzipSync, gzipSync } from "node:zlib";
import { text } from "../servers/client.ts";
import { type Checks, createToken, must, repeated, tokenWith } from "./check.ts";
import type { Subject } from "./subject.ts";

/**
 * Attacks on backup and restore over HTTP. test/workers/backup/restore.test.ts covers a server that is being restored,
 * and test/workers/backup/export.test.ts covers the seals of parts and runs.
 */
export const BACKUPS: Checks = {
  async "3 guesses at the init token, at a restore"(subject) {
    const statuses = await repeated(12, (guess) => {
      const path = guess % 2 === 0 ? "sys/restore/begin" : "sys/restore/finish";
      return subject.call("POST", path, { token: `guess-${guess}`, from: "127.0.0.5", body: {} });
    });
    const isRefused = statuses.every((status, at) => (at < 10 ? status === 400 || status === 403 : status === 429));
    must(isRefused, `answered ${statuses.join(", ")}`);
    return "429 after ten guesses in a minute";
  },

  async "3 a restore over an initialized server"(subject) {
    const { head, part } = await backUp(subject);
    for (const [path, body] of [
      ["begin", head],
      ["part", part],
      ["finish", { ...head, proof: "AAAA", issued_before: "now" }],
    ] as const) {
      await subject.answers(400, "POST", `sys/restore/${path}`, { token: "", body });
    }
    await subject.answers(200, "GET", "auth/token/lookup-self");
    return "400; nothing is changed";
  },

  async "3 a restore requested by another site's page"(subject) {
    for (const headers of [{ Origin: "https://evil.example" }, { "Sec-Fetch-Site": "cross-site" }]) {
      for (const path of ["begin", "part", "finish"]) {
        const options = { token: "", headers, body: {}, from: "127.0.0.6" };
        await subject.answers(403, "POST", `sys/restore/${path}`, options);
      }
    }
    return "403 before any change";
  },

  async "3 a backup by a token without sudo"(subject) {
    const policy = 'path "sys/backup/*" { capabilities = ["create", "update"] }';
    for (const token of [(await createToken(subject, {})).token, await tokenWith(subject, "half-backup", policy)]) {
      await subject.answers(403, "POST", "sys/backup/part", { token, body: {} });
    }
    return "403: it needs sudo";
  },

  async "3 a backup with a forged run or too many parts"(subject) {
    const { run } = (await backUp(subject)).head;
    const later = run.replace(/^\d+/, (began) => String(Number(began) + 1));
    for (const body of [
      { run: later, parts: 1 },
      { run, parts: 2_000_000_000 },
    ]) {
      await subject.answers(400, "POST", "sys/backup/seal", { body });
    }
    return "400: the run is sealed, the number of parts is limited";
  },

  async "3 plaintext secrets in a backup"(subject) {
    const { token } = await createToken(subject, { policies: ["default"] });
    const value = "in-a-cubbyhole-only";
    await subject.call("POST", "cubbyhole/mine", { token, body: { value } });
    const { content } = (await backUp(subject)).part;
    const stored = gunzipSync(Buffer.from(content, "base64")).toString();
    must(stored.includes("cubbyhole"), "the tree of the token is not in the first part");
    for (const secret of [token, subject.root, value]) must(!stored.includes(secret), "a secret is in it");
    return "no token and no value is in plaintext";
  },

  async "3 a large restore part for an initialized server"(subject) {
    const content = gzipSync(Buffer.alloc(64 * 2 ** 20)).toString("base64");
    await subject.answers(400, "POST", "sys/restore/part", {
      token: "",
      body: { number: 0, seal: "", content },
    });
    const large = { number: 0, seal: "", content: "A".repeat(4 * 2 ** 20) };
    await subject.answers(413, "POST", "sys/restore/part", { token: "", body: large });
    return "400 or 413, without decompression";
  },
};

/** Makes a backup of one part. Returns the part and the head that matches it. */
export async function backUp(subject: Subject, token = subject.root) {
  const part = await subject.answers(200, "POST", "sys/backup/part", { token, body: {} });
  const run = text(part.body, "data", "run");
  const sealed = await subject.answers(200, "POST", "sys/backup/seal", { token, body: { run, parts: 1 } });
  const of = (name: string) => text(sealed.body, "data", name);
  return {
    head: { run, parts: 1, seal: of("seal"), key_ring: of("key_ring") },
    part: {
      number: 0,
      sha256: text(part.body, "data", "sha256"),
      seal: text(part.body, "data", "seal"),
      content: text(part.body, "data", "content"),
    },
  };
}
