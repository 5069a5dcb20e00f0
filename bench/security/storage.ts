import { gunzipSync } from "node:zlib";
import { text } from "../servers/client.ts";
import { type Checks, createToken, must } from "./check.ts";

/** What a reader or a writer of the storage can try without the keys. */
export const STORAGE: Checks = {
  async "a token made root, a role widened in the database"(subject) {
    const { token } = await createToken(subject, { ttl: "24h" });
    await subject.call("POST", "auth/token/roles/narrow", { body: { allowed_policies: ["default"] } });
    await subject.betweenStarts("TokenRoles", "roles", (database) => {
      database.prepare(`UPDATE roles SET value = replace(value, '["default"]', '["admin"]')`).run();
    });
    await subject.answers(400, "POST", "auth/token/create/narrow", { body: { policies: ["admin"] } });
    let changed = 0;
    await subject.betweenStarts("TokenTree", "tokens", (database) => {
      const update = `UPDATE tokens SET record = replace(record, '["default"]', '["root"]') WHERE record LIKE '%["default"]%'`;
      changed += Number(database.prepare(update).run().changes);
    });
    must(changed > 0, "there was nothing to change");
    await subject.answers(403, "GET", "sys/auth", { token });
    await subject.until("the line about tampering", () => subject.lines().some(({ type }) => type === "tampering"));
    return "refused, and on record as tampering";
  },

  async "what a backup holds in the clear"(subject) {
    const { token } = await createToken(subject, {});
    const value = "in-a-cubbyhole-only";
    await subject.call("POST", "cubbyhole/mine", { token, body: { value } });
    const part = await subject.answers(200, "POST", "sys/backup/part", { body: {} });
    const stored = gunzipSync(Buffer.from(text(part.body, "data", "content"), "base64")).toString();
    must(stored.includes("cubbyhole"), "the tree of the token is not in the first part");
    for (const secret of [token, subject.root, value]) must(!stored.includes(secret), "a secret is in it");
    return "no token and no value";
  },
};
