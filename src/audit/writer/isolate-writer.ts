import { waitUntil } from "cloudflare:workers";
import { currentTime, formatRfc3339, type Ms } from "../../base/clock.ts";
import type { Deployment } from "../../base/deployment.ts";
import { eventFigures } from "../../metrics/counters.ts";
import { systemOf } from "../../system/system.ts";
import type { AuditLine } from "../../wire/audit.ts";
import { appender } from "../append.ts";
import { type AuditEntry, mentionOf } from "../entry.ts";
import type { AuditEnv } from "../env.ts";
import { type AnsweredRequest, entryOf, fateOf, holdsAnswer, isRefused, userOf } from "../recording-rules.ts";
import type { MoreRefusals } from "./refusal-bound.ts";
import { AuditWriter } from "./writer.ts";

/** What the writer uses of the bindings and settings. */
interface WriterEnv extends AuditEnv {
  readonly deployment: Deployment;
}

/** An answered request with its line in the log. */
interface KeptAnswer extends Pick<AnsweredRequest, "acts" | "failure"> {
  readonly line: AuditLine;
  /** The second path of the resource, which names its organization; undefined for none. */
  readonly alternatePath: string | undefined;
  readonly secretId: string | undefined;
  /** The line as it is logged. */
  readonly text: string;
  /** The fields of its first line. */
  readonly data: AuditLine["data"];
  readonly at: Ms;
}

/** The writer of this isolate; null before the first record. */
let writer: AuditWriter | null = null;

/** The record about refusals that are not stored in full. */
function entryOfMore({ of, source, count, first, last }: MoreRefusals, now: Ms): AuditEntry {
  const times = { time: formatRfc3339(now), from: formatRfc3339(first), to: formatRfc3339(last) };
  const whose = of === "token" ? { target_accessor: source } : { client_address: source || null };
  const line = JSON.stringify({ type: "refusals", ...times, ...whose, count });
  const kind = of === "token" ? "accessor" : "address";
  return { at: now, line, mentions: source === "" ? [] : [mentionOf(kind, source)] };
}

function writerOf(env: WriterEnv): AuditWriter {
  const { auditShards: shards } = env.deployment;
  const name = crypto.randomUUID();
  writer ??= new AuditWriter(
    name,
    {
      shards,
      append: appender(env),
      inBackground: waitUntil,
      note: async ({ since, most }) => systemOf(env).noteAuditBacklog({ writer: name, since, most, at: currentTime() }),
    },
    entryOfMore,
    Math.floor(Math.random() * shards),
  );
  return writer;
}

/**
 * Gives an answered request to the audit store, as a record or as a count. Resolves when it may be answered: a change
 * waits for its record. Never rejects, and never waits long: the store does not stop the service.
 */
export async function keepAnswer(env: WriterEnv, answer: KeptAnswer): Promise<void> {
  if (env.AUDIT_STORE === "off") return;
  const { line, alternatePath, secretId, text, data, at, acts, failure } = answer;
  const { client_address: address } = line;
  const hasCaller = line.auth !== undefined;
  const fate = fateOf({ ...line, acts, hasCaller, failure });
  if (fate === "nothing") return;
  const writer = writerOf(env);
  if (fate === "use") return writer.countUse(userOf(line), address ?? "");
  const token = fate === "refusal" ? "" : userOf(line);
  if (isRefused(fate, failure) && !writer.admitsRefusal(token, address)) return;
  const entry = entryOf(at, { line, text, data, alternatePath, secretId });
  if (holdsAnswer(fate, answer)) await writer.store(entry);
  else writer.storeLater(entry);
}

/** What this isolate has not stored. */
interface IsolateBacklog {
  /** Number of records that wait for a shard, and of those that were dropped since the isolate started. */
  readonly waiting: number;
  readonly dropped: number;
  /** When the first change was answered whose record is not stored; null: there is none. */
  readonly since: Ms | null;
}

/** What this isolate has not stored yet, and what it has dropped since its start. */
export function auditBacklog(): IsolateBacklog {
  const dropped = eventFigures("audit_record").filter(({ labels }) => labels.result?.startsWith("dropped"));
  const sum = dropped.reduce((before, { value }) => before + value, 0);
  return { waiting: writer?.waiting ?? 0, dropped: sum, since: writer?.unstoredSince ?? null };
}

/** Stores what this isolate has not stored yet, so that a question finds it. Bounded in time. See `AuditWriter.settle`. */
export async function flushAudit(env: WriterEnv): Promise<void> {
  if (env.AUDIT_STORE !== "off") await writer?.settle();
}
