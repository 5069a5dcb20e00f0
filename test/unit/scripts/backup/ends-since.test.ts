import { expect, it } from "vitest";
import { endsSince } from "../../../../scripts/backup/api/ends-since.ts";
import type { Manifest } from "../../../../scripts/backup/api/manifest.ts";
import { GroveClient } from "../../../../scripts/grove/client.ts";

const at = (hour: number) => `2026-11-22T${String(hour).padStart(2, "0")}:00:00Z`;

/** An end in the list of the server: of a token that was made at 01:00 and expires at 23:00, unless said otherwise. */
function end(accessor: string, hour: number, how: string, more: Readonly<Record<string, unknown>> = {}) {
  const { cause = "", created = at(1), expires = at(23) } = more;
  const token = {
    ...{ accessor, display_name: "ci", path: "auth/token/create", role: "", mount: "auth/token/", policies: ["ci"] },
    ...{ created, expires, uses_left: 0, children: 0 },
  };
  return { token, ended: { at: at(hour), how, by: null, cause, job: "" } };
}

/** A backup that was made from 04:00 to 05:00. */
const MANIFEST: Manifest = {
  format: 1,
  ...{ run: "r", parts: 0, started_at: at(4), finished_at: at(5), release: "1.0.0", cluster_id: "c" },
  ...{ seal_key_version: 1, key_ring: "", seal: "", files: [] },
};

/** The accessors of the tokens that a restore at 12:00 brings back, by what the server lists: the last end first. */
async function broughtBack(ends: readonly ReturnType<typeof end>[], clusterId = "c") {
  const answers: Readonly<Record<string, unknown>> = {
    "/v1/sys/health": { initialized: true, cluster_id: clusterId },
    "/v1/sys/tokens/ended": { data: { tokens: ends, next: "" } },
    "/v1/sys/leases/revocations": { data: { revocations: [] } },
  };
  const client = new GroveClient("http://127.0.0.1:1", "s.own", {
    send: async ({ path }) => ({
      status: 200,
      retryAfter: null,
      text: JSON.stringify(answers[path.split("?")[0] ?? ""]),
    }),
  });
  const found = await endsSince(client, MANIFEST, () => {}, Date.parse(at(12)));
  return found.ok ? found.value.tokens.map(({ token }) => token.accessor) : found.error.message;
}

it("a restore brings back what was revoked since the backup began", async () => {
  const ends = [end("late", 9, "revoked"), end("during", 4, "revoked"), end("before", 3, "revoked")];
  expect(await broughtBack(ends)).toEqual(["late", "during"]);
});

it("a restore does not bring back what it does not have, and what has no time left", async () => {
  const made = (hour: number) => ({ created: at(hour) });
  expect(await broughtBack([end("after", 9, "revoked", made(6)), end("with it", 9, "revoked", made(5))])).toEqual([
    "with it",
  ]);
  const ends = [9, 12, 13].map((hour) => end(`until ${hour}`, 8, "revoked", { expires: at(hour) }));
  expect(await broughtBack([...ends, end("for ever", 8, "revoked", { expires: null })])).toEqual([
    "until 13",
    "for ever",
  ]);
  expect(await broughtBack([end("a", 9, "expired"), end("b", 9, "never issued")])).toEqual([]);
});

it("a token that ended with one above it is brought back as that one is", async () => {
  const ends = [
    end("below revoked", 9, "with its parent", { cause: "revoked" }),
    end("below expired", 9, "with its parent", { cause: "expired" }),
    end("below unknown", 9, "with its parent", { cause: "unknown" }),
    end("revoked", 9, "revoked"),
    end("expired", 9, "expired"),
  ];
  expect(await broughtBack(ends)).toEqual(["below revoked", "below unknown", "revoked"]);
});

it("only the server of the backup is asked", async () => {
  expect(await broughtBack([], "another")).toContain("is not the one that the backup was made of");
});

it("a list that is too long to be read to the backup is told to be incomplete", async () => {
  const page = { tokens: [end("late", 9, "revoked")], next: "more" };
  const client = new GroveClient("http://127.0.0.1:1", "s.own", {
    send: async ({ path }) => {
      const isPage = path.startsWith("/v1/sys/tokens/ended");
      const answer = path.startsWith("/v1/sys/health")
        ? { initialized: true, cluster_id: "c" }
        : { data: isPage ? page : { revocations: [] } };
      return { status: 200, retryAfter: null, text: JSON.stringify(answer) };
    },
  });
  const found = await endsSince(client, MANIFEST, () => {}, Date.parse(at(12)));
  expect(found).toMatchObject({ value: { gaps: [`only the last 500 ends were looked at, back to ${at(9)}`] } });
});
