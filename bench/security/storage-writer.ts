import { ask, member, TEAMS, text } from "../servers/client.ts";
import { type Checks, createToken, must, withServer } from "./check.ts";
import type { Subject } from "./subject.ts";

/** Attacks of the second security review by someone who can write to the storage but has no keys. */
export const STORAGE_WRITER: Checks = {
  async "2.2 a watermark that no new token exceeds"(subject) {
    await subject.call("POST", "sys/leases/revoke-prefix/auth/token/create/none", { body: {} });
    const highest = Number.MAX_SAFE_INTEGER;
    let before = 0;
    await subject.betweenStarts("System", "watermarks", (database) => {
      before = Number(database.prepare("SELECT MAX(number) AS number FROM watermarks").get()?.number);
      database.prepare("UPDATE watermarks SET number = ? WHERE number = ?").run(highest, before);
    });
    const { token } = await createToken(subject, {});
    await onRecord(subject, "watermark");
    await subject.rewrite("System", "watermarks", "UPDATE watermarks SET number = ? WHERE number = ?", before, highest);
    await subject.call("POST", "sys/leases/revoke-prefix/auth/token/create-orphan", { body: {} });
    await subject.answers(403, "GET", "auth/token/lookup-self", { token });
    return "revoked by prefix, and logged as tampering";
  },

  async "2.4 a webhook URL changed in the database"(subject) {
    const asked: string[] = [];
    await withServer(
      "127.0.0.1",
      (path) => asked.push(path),
      async (url) => {
        const owner = { name: "hooked", email: "admin@example.com" };
        const organization = await makeResource(subject, "organizations", "organizations", owner);
        const team = await makeResource(subject, `organizations/${organization}/teams`, "teams", { name: "team" });
        const webhook = { name: "pager", url: `${url}mine`, token: "the key of the signatures", enabled: true };
        const webhooks = `organizations/${organization}/notification-configurations`;
        await makeResource(subject, webhooks, "notification-configurations", webhook);
        const soon = { description: "soon", "expired-at": new Date(Date.now() + 2_000).toISOString() };
        await makeResource(subject, `teams/${team}/authentication-tokens`, "authentication-tokens", soon);
        const elsewhere = "UPDATE webhooks SET record = replace(record, '/mine', '/theirs')";
        await subject.rewrite("Organization", "webhooks", elsewhere);
        await onRecord(subject, "webhook");
      },
    );
    must(asked.length > 0 && asked.every((path) => path === "/mine"), `the webhook requested: ${asked.join(", ")}`);
    return "nothing is sent to it, and logged as tampering";
  },

  async "2.11 plaintext values in the storage"(subject) {
    const { token } = await createToken(subject, {});
    await subject.call("POST", "cubbyhole/where-it-is", { token, body: { secret: "what-it-is" } });
    const rows: string[] = [];
    await subject.betweenStarts("TokenTree", "cubbyhole", (database) => {
      for (const { path, value } of database.prepare("SELECT path, value FROM cubbyhole").all()) {
        rows.push(`${path} ${value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value}`);
      }
    });
    must(
      rows.some((row) => row.startsWith("where-it-is ")),
      "the value was not stored",
    );
    must(!rows.join().includes("what-it-is"), "the value is stored in plaintext");
    return "values are sealed; paths are in plaintext, see docs/threat-model.md";
  },

  async "2 key rotation disabled in the database"(subject) {
    await subject.call("POST", "identity/oidc/key/rotated", { body: { algorithm: "ES256", allowed_client_ids: "*" } });
    await subject.call("POST", "sys/rotate/config", { body: { max_operations: 2_000_000 } });
    await subject.rewrite("OidcIssuer", "keys", "UPDATE keys SET next_rotation = 9000000000000000");
    await subject.answers(404, "GET", "identity/oidc/key/rotated");
    await onRecord(subject, "issuer key");
    await subject.rewrite("System", "key_rotation", "UPDATE key_rotation SET enabled = 0");
    const { body } = await subject.call("GET", "sys/rotate/config");
    must(member(body, "data", "enabled") === true, `the rotation is ${JSON.stringify(body.data)}`);
    await onRecord(subject, "key rotation");
    return "the key is refused, rotation uses defaults, and logged as tampering";
  },

  async "2 a token exchanged in the inventory"(subject) {
    const victim = await createToken(subject, { display_name: "victim" });
    const bait = await createToken(subject, { display_name: "bait" });
    const filter = { display_name: "token-bait" };
    const dry = await subject.call("POST", "sys/tokens/revoke", { body: filter });
    must(member(dry.body, "data", "count") === 1, `a dry run was answered with ${JSON.stringify(dry.body)}`);
    const swapped = "UPDATE inventory SET accessor = ? WHERE accessor = ?";
    await subject.rewrite("AccessorShard", "inventory", swapped, victim.accessor, bait.accessor);
    // The tree of the bait may have listed it again after the restart.
    const again = await subject.call("POST", "sys/tokens/revoke", { body: filter });
    const body = { ...filter, dry_run: false, expected_count: member(again.body, "data", "count") };
    const job = text((await subject.call("POST", "sys/tokens/revoke", { body })).body, "data", "job");
    const read = async () => (await subject.call("GET", `sys/tokens/jobs/${job}`)).body;
    await subject.until("the end of the job", async () => member(await read(), "data", "state") === "done");
    const ended = await read();
    must(member(ended, "data", "mismatched") === 1, `the job is ${JSON.stringify(ended)}`);
    await subject.answers(200, "GET", "auth/token/lookup-self", { token: victim.token });
    await onRecord(subject, "inventory entry");
    return "not revoked, and logged as tampering";
  },
};

/** Waits for the log line that reports an invalid seal on a row of this kind. */
const onRecord = (subject: Subject, kind: string) =>
  subject.until(`the log line about the ${kind}`, () =>
    subject.lines().some((line) => line.type === "tampering" && line.kind === kind),
  );

/** Creates a resource of the teams API and returns its id. */
async function makeResource(subject: Subject, path: string, type: string, attributes: object): Promise<string> {
  return text(await ask(subject.client, "POST", `${TEAMS}/${path}`, { data: { type, attributes } }), "data", "id");
}
