import { setTimeout as pause } from "node:timers/promises";
import { onlyReads } from "../../src/audit/recording-rules.ts";
import { ask, type Client, type Json, member, type Reply, text } from "../servers/client.ts";

/** After a failure of the store, an isolate retries within a minute. This waits longer (ms). */
const HELD_BACK_MS = 90_000;
const POLL_MS = 5_000;
/** Events in a page of `sys/audit/events`. */
const PAGE = 1000;
const BASE = /^(?:v1|api\/v2)\/|\?.*$/g;
/** Number of segments of a path that messages contain. Later segments are names, of which there are too many. */
const NAMED_SEGMENTS = 3;

const ID_IN_LINE = /^\{"type":"response".*?"request_id":"([\da-f-]{36})"/;

/** The ids of the requests whose response lines are in the log. */
export class AnswerLines {
  readonly #ids = new Set<string>();

  note(line: string): void {
    const [, id] = ID_IN_LINE.exec(line) ?? [];
    if (id !== undefined) this.#ids.add(id);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}

/**
 * The changes that were answered with success. Their answers waited for their records, so the audit store must have a
 * record of each.
 */
export class AnsweredChanges {
  /** Method and path of each request, by the request's id. */
  readonly #asked = new Map<string, string>();
  readonly #withoutId: string[] = [];
  /** Number of changes without a record whose lines are in the log. */
  onlyInStream = 0;

  get size(): number {
    return this.#asked.size;
  }

  /** Records an answer. Reads and failed requests are not changes. */
  note(method: string, path: string, { status, headers }: Pick<Reply, "status" | "headers">): void {
    const place = path.replaceAll(BASE, "");
    if (method === "GET" || status >= 300 || onlyReads(place)) return;
    const asked = `${method} ${place.split("/").slice(0, NAMED_SEGMENTS).join("/")}`;
    const id = headers["x-request-id"];
    if (typeof id === "string") this.#asked.set(id, asked);
    else this.#withoutId.push(`${asked}: the answer has no id of the request`);
  }

  /**
   * Returns a message for each change with no record, or with several different ones.
   *
   * @param events all events of the store.
   * @param stream the log, when faults can cut a node off from all objects of the store. Answers then do not wait for
   *   records, and the records are lost with the node, but the log has the line of each change.
   */
  findUnrecorded(events: readonly Json[], stream?: AnswerLines): string[] {
    const records = Map.groupBy(events, (event) => member(event, "request_id"));
    this.onlyInStream = 0;
    const wrong = [...this.#asked].flatMap(([id, asked]) => {
      // A batch that two shards accepted is stored twice, as equal records.
      const different = new Set((records.get(id) ?? []).map((event) => JSON.stringify(event)));
      if (different.size === 1) return [];
      if (different.size === 0 && stream?.has(id)) {
        this.onlyInStream++;
        return [];
      }
      return [
        `${asked}: answered, and has ${different.size === 0 ? "no record" : "several records"} in the audit store`,
      ];
    });
    return [...this.#withoutId, ...wrong];
  }
}

/**
 * Returns a message for each answered change without its record, see `AnsweredChanges.findUnrecorded`. Waits for records
 * that a node holds back after a failure of the store.
 */
export async function findUnrecorded(
  nodes: readonly [Client, ...Client[]],
  changes: AnsweredChanges,
  stream?: AnswerLines,
): Promise<string[]> {
  for (const until = performance.now() + HELD_BACK_MS; ; await pause(POLL_MS)) {
    // A query makes the node store the records that it holds back.
    for (const node of nodes) await ask(node, "POST", "v1/sys/audit/events", { limit: 1 });
    const events = await eventsOf(nodes[0]);
    if (changes.findUnrecorded(events).length === 0) return [];
    if (performance.now() > until) return changes.findUnrecorded(events, stream);
  }
}

/** Reads all changes and logins in the audit store. */
async function eventsOf(root: Client): Promise<Json[]> {
  const events: Json[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const question = { kind: ["change", "login"], order: "oldest", limit: PAGE, after };
    const body = await ask(root, "POST", "v1/sys/audit/events", question);
    const page = member(body, "data", "events");
    if (Array.isArray(page)) events.push(...page);
    after = text(body, "data", "next") || null;
  }
  return events;
}
