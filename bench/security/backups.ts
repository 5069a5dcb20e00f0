import { gunzipSync, gzipSync } from "node:zlib";
import { text } from "../servers/client.ts";
import { type Checks, createToken, must, repeated, tokenWith } from "./check.ts";
import type { Subject } from "./subject.ts";

/**
 * Backups and restores over the network. What a deployment that is being restored takes and refuses is shown by
 * test/workers/backup/restore.test.ts, the seals of parts and runs by test/workers/backup/export.test.ts.
 */
export const BACKUPS: Checks = {
  async "3 guesses at the init token, at a restore"(subject) {
    const statuses = await repeated(12, (guess) => {
      const path = guess % 2 === 0 ? "sys/restore/begin" : "sys/restore/finish";
      return subject.call("POST", path, { token: `guess-${guess}`, from: "127.0.0.5", body: {} });
    });
    const isRefused = statuses.every((status, at) => (at < 10 ? status === 400 || status === 403 : status === 429));
    must(isRefused, `answered ${statuses.join(", ")}`);
    return "429 after ten in a minute";
  },

  async "3 a restore over a server that is in use"(subject) {
    const { head, part } = await backUp(subject);
    for (const [path, body] of [
      ["begin", head],
      ["part", part],
      ["finish", { ...head, proof: "AAAA", issued_before: "now" }],
    ] as const) {
      await subject.answers(400, "POST", `sys/restore/${path}`, { token: "", body });
    }
    await subject.answers(200, "GET", "auth/token/lookup-self");
    return "400; everything is as it was";
  },

  async "3 a page of another site begins a restore"(subject) {
    for (const headers of [{ Origin: "https://evil.example" }, { "Sec-Fetch-Site": "cross-site" }]) {
      for (const path of ["begin", "part", "finish"]) {
        const options = { token: "", headers, body: {}, from: "127.0.0.6" };
        await subject.answers(403, "POST", `sys/restore/${path}`, options);
      }
    }
    return "403, before anything is done";
  },

  async "3 a backup by a token that may not make one"(subject) {
    const policy = 'path "sys/backup/*" { capabilities = ["create", "update"] }';
    for (const token of [(await createToken(subject, {})).token, await tokenWith(subject, "half-backup", policy)]) {
      await subject.answers(403, "POST", "sys/backup/part", { token, body: {} });
    }
    return "403: it needs sudo";
  },

  async "3 a run of another time, of too many parts"(subject) {
    const { run } = (await backUp(subject)).head;
    const later = run.replace(/^\d+/, (began) => String(Number(began) + 1));
    for (const body of [
      { run: later, parts: 1 },
      { run, parts: 2_000_000_000 },
    ]) {
      await subject.answers(400, "POST", "sys/backup/seal", { body });
    }
    return "400: the name of a run is sealed, its parts are bounded";
  },

  async "3 what a backup holds in the clear"(subject) {
    const { token } = await createToken(subject, { policies: ["default"] });
    const value = "in-a-cubbyhole-only";
    await subject.call("POST", "cubbyhole/mine", { token, body: { value } });
    const { content } = (await backUp(subject)).part;
    const stored = gunzipSync(Buffer.from(content, "base64")).toString();
    must(stored.includes("cubbyhole"), "the tree of the token is not in the first part");
    for (const secret of [token, subject.root, value]) must(!stored.includes(secret), "a secret is in it");
    return "no token and no value";
  },

  async "3 a large body for a server that is not restored"(subject) {
    const content = gzipSync(Buffer.alloc(64 * 2 ** 20)).toString("base64");
    await subject.answers(400, "POST", "sys/restore/part", {
      token: "",
      body: { number: 0, seal: "", content },
    });
    const large = { number: 0, seal: "", content: "A".repeat(4 * 2 ** 20) };
    await subject.answers(413, "POST", "sys/restore/part", { token: "", body: large });
    return "413, and nothing is decompressed";
  },
};

/** The first part of a backup, and its head as if it was the only one. */
async function backUp(subject: Subject) {
  const part = await subject.answers(200, "POST", "sys/backup/part", { body: {} });
  const run = text(part.body, "data", "run");
  const sealed = await subject.answers(200, "POST", "sys/backup/seal", { body: { run, parts: 1 } });
  const of = (name: string) => text(sealed.body, "data", name);
  return {
    head: { run, parts: 1, seal: of("seal"), key_ring: of("key_ring") },
    part: { number: 0, seal: text(part.body, "data", "seal"), content: text(part.body, "data", "content") },
  };
}
