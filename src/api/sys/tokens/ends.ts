import { type Route, simpleRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../../base/clock.ts";
import { ok, refuse } from "../../../base/result.ts";
import { endsOfGroups } from "../../../listing/inventory/group-ends.ts";
import { MAX_ENDING } from "../../../listing/inventory/shard/group-ends.ts";
import { FRESHNESS_MS } from "../../../listing/updates/delays.ts";
import { publishRecent } from "../../../listing/updates/recent.ts";
import { count, duration, sent, strictSchema, text, time } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { readMount } from "./filter-fields.ts";
import { GROUP_NAMES, readGroupBy } from "./summary.ts";
import { byMountPath, mountNames } from "./token-view.ts";

const HOUR_MS = 3_600_000;
const DEFAULT_PARTS = 24;
const MAX_PARTS = 100;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
/** Seconds of the longest part. */
const MAX_STEP = 31 * 86_400;

const PARTS = ["integer"] as const;

/** `sys/tokens/ends`: which tokens end when, and whose. */
export const TOKEN_ENDS_ROUTES: readonly Route[] = [
  simpleRoute("read", "sys/tokens/ends", {
    summary: "How many tokens end in each part of a time, by group: what ends tomorrow, and whose.",
    operationId: "inventory-count-ends",
    answers: dataAnswer({
      from: "string",
      step: "integer",
      total: "integer",
      parts: PARTS,
      groups: [{ key: "string", count: "integer", parts: PARTS }],
      other: { count: "integer", parts: PARTS },
      fresh_as_of: "string",
    }),
    input: strictSchema({
      group_by: text().describe(`What is counted by: ${GROUP_NAMES}; display_name when absent.`),
      mount: text().describe("Path of an auth mount, whose tokens alone are counted."),
      from: time().describe("When the time begins; the hour that it is when absent."),
      step: duration().describe("How long each part is: an hour when absent, 31 days at most."),
      parts: sent(count()).describe(`How many parts the time has: 1 to ${MAX_PARTS}, ${DEFAULT_PARTS} when absent.`),
      limit: sent(count()).describe(`Groups that are named: 1 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} when absent.`),
    }),
    handle: async ({ env, installation, fields }) => {
      const kind = readGroupBy(fields.group_by || "display_name");
      if (!kind) return refuse(`group_by is one of ${GROUP_NAMES}`);
      const mount = fields.mount === "" ? ok(null) : readMount(fields.mount, installation);
      if (!mount.ok) return mount;
      const { step: seconds, parts = 0, limit = 0 } = fields;
      if (seconds < 0 || seconds > MAX_STEP) return refuse("step is at most 31 days");
      if (parts > MAX_PARTS) return refuse(`parts is at most ${MAX_PARTS}`);
      if (limit > MAX_LIMIT) return refuse(`limit is at most ${MAX_LIMIT}`);
      const now = currentTime();
      const from = fields.from ?? now - (now % HOUR_MS);
      const step = (seconds || HOUR_MS / 1000) * 1000;
      await publishRecent(env, now);
      const query = { kind, mount: mount.value, from, step, parts: parts || DEFAULT_PARTS, now };
      const ends = await endsOfGroups(env, query, limit || DEFAULT_LIMIT);
      if (!ends) return refuse(`more than ${MAX_ENDING} tokens of a shard end in this time: ask for a shorter one`);
      return ok(
        dataReply({
          from: formatRfc3339(from),
          step: step / 1000,
          total: sumOf(ends.all),
          parts: ends.all,
          groups: kind === "mount" ? byMountPath(ends.groups, mountNames(installation)) : ends.groups,
          other: { count: sumOf(ends.other), parts: ends.other },
          fresh_as_of: formatRfc3339(now - FRESHNESS_MS),
        }),
      );
    },
  }),
];

function sumOf(parts: readonly number[]): number {
  return parts.reduce((sum, one) => sum + one, 0);
}
