import { inPool } from "../../../src/base/parallel.ts";
import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import { LINEAGE, type Lineage } from "../answer-schemas.ts";
import type { Called } from "../client.ts";
import { harmless, type Session, styled } from "../terminal.ts";
import { wholeLineage } from "./audit-below.ts";
import { readEvents } from "./audit-pages.ts";
import { unproven } from "./ended-check.ts";
import { number } from "./token-lines.ts";

/** Most tokens whose records are read, and requests at the same time. */
const MAX_MAKERS = 20;
const PARALLEL = 4;
/** Most live orphans that are shown. */
const SHOWN = 10;

/** Live tokens that ended tokens or their descendants made, and that did not end with them: orphans, with descendants. */
interface LiveMade {
  readonly accessors: readonly string[];
  /** True when not all records were read. */
  readonly more: boolean;
}

/** Reads from the audit store what tokens made, and asks the trees which of these tokens are alive. */
async function liveMade({ client, terminal }: Session, makers: readonly string[]): Promise<Called<LiveMade>> {
  const made = new Set<string>();
  let more = makers.length > MAX_MAKERS;
  for (const accessor of makers.slice(0, MAX_MAKERS)) {
    const own = await readEvents(client, terminal, { accessor, lineage: "true" }, 1);
    if (!own.ok) return own;
    const lineage = await wholeLineage(client, terminal, own.value);
    if (!lineage.ok) return lineage;
    more ||= lineage.value.complete === false;
    // A batch token has no accessor: it ends with its parent.
    for (const token of lineage.value.below) if (token.token_type !== "batch") made.add(token.accessor);
  }
  const all = [...made].filter((accessor) => !makers.includes(accessor));
  const alive = await unproven(client, all);
  return alive.ok ? ok({ accessors: alive.value, more }) : alive;
}

/** Shows the live tokens that ended tokens made and that are not below them. Returns the exit code: 1 when there are any. */
export async function showOrphans(session: Session, makers: readonly string[]): Promise<0 | 1> {
  const { client, terminal, json } = session;
  const made = await liveMade(session, makers);
  if (!made.ok) {
    terminal.say(`whether it made tokens that are not below it is not known: ${made.error.message}`);
    return 0;
  }
  const { accessors, more } = made.value;
  if (more) terminal.say("not all records of what it made were read: audit - --below has the others");
  if (accessors.length === 0) return 0;
  if (json) {
    terminal.out(JSON.stringify({ not_below_and_alive: accessors }));
    return 1;
  }
  const title = `alive     ${number(accessors.length, "token")} that ${makers.length === 1 ? "it" : "they"} made and that ${accessors.length === 1 ? "is" : "are"} not below:`;
  terminal.out(styled(terminal, "red", title));
  const shown = await inPool(accessors.slice(0, SHOWN), PARALLEL, async (accessor) => ({
    accessor,
    asked: await client.get(`sys/tokens/${encodeURIComponent(accessor)}`, LINEAGE),
  }));
  for (const { accessor, asked } of shown) for (const line of orphanLines(accessor, asked)) terminal.out(line);
  const others = accessors.length - shown.length;
  if (others > 0) terminal.out(`  ... and ${number(others, "other")}: run again with --json, it names all`);
  return 1;
}

function orphanLines(accessor: string, asked: Called<Lineage>): string[] {
  const { display_name: name = "", policies = [] } = asked.ok ? asked.value.token : {};
  const root = policies.includes("root") ? " --include-root" : "";
  const what = asked.ok ? ` (${harmless(name || "token")}, policies ${harmless(policies.join(", ")) || "none"})` : "";
  return [`  ${accessor}${what}`, `    end it with all below: ${asCalled(`contain --accessor ${accessor}${root}`)}`];
}
