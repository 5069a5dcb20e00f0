import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import type { AuditEvents } from "../answer-schemas.ts";
import { isAllowed } from "../capabilities.ts";
import { type Called, failed, type GroveClient } from "../client.ts";
import { isMalformed, nothingIs } from "../id-formats.ts";
import { harmless } from "../terminal.ts";
import { SECRET_ID } from "./audit-lines.ts";
import { readEvents } from "./audit-pages.ts";

type Fields = Readonly<Record<string, string>>;

/** The accessor of a batch token or of a team token. */
const OTHER_ACCESSOR = /^(?:hmac-sha256:[\da-f]+|at-[\w-]+)$/;

const MISTYPED = "it is mistyped, or its events are not kept any more";

/**
 * Fails for a name that the server does not know: a mistyped name must not look like a token, an entity or a mount
 * without events. A mere filter, such as an address or a time, may match nothing.
 *
 * @param fields the query.
 */
export async function problemOfName(client: GroveClient, fields: Fields, found: AuditEvents): Promise<Called<null>> {
  const named = namesIn(fields);
  if (named === null || isKnown(found)) return ok(null);
  if (Object.keys(named).length < Object.keys(fields).length) {
    const all = await readEvents(client, { progress: () => {} }, named, 1);
    if (!all.ok) return all;
    if (isKnown(all.value)) return ok(null);
  }
  const { token: text, accessor = found.accessor } = named;
  if (accessor === undefined) return failed(nameText(named));
  const path = `sys/tokens/${encodeURIComponent(accessor)}`;
  const token = (await isAllowed(client, path, ["read", "sudo"])) ? await client.call("GET", path) : null;
  if (token?.ok) return ok(null);
  const has = token?.error.status === 404 ? "no token has this accessor, and no event is of it" : "no event is of it";
  if (text !== undefined) return failed(`nothing is known of this token: ${asCalled("find")} says what the text is`);
  const others = `audit takes an accessor, - for a token, or --request, --entity, --role, --address; ${asCalled("tokens --search NAME")} has the accessors of a name`;
  return failed(
    isMalformed("accessor", accessor) && !OTHER_ACCESSOR.test(accessor) && !SECRET_ID.test(accessor)
      ? `${nothingIs("accessor", accessor)}; ${others}`
      : `nothing is known of ${accessor}: ${has}`,
  );
}

/** The fields that name one token, request, entity, role or mount; null without such a field. */
function namesIn({ token, accessor, request_id: request, entity_id: entity, role, mount }: Fields): Fields | null {
  if (token !== undefined) return { token };
  if (accessor !== undefined) return { accessor };
  if (request !== undefined) return { request_id: request };
  if (entity !== undefined) return { entity_id: entity };
  if (mount === undefined) return null;
  return role === undefined ? { mount } : { role, mount };
}

function nameText({ request_id: request, entity_id: entity, role, mount }: Fields): string {
  if (request !== undefined) return noEventOf("request", request);
  if (entity !== undefined) return noEventOf("entity", entity);
  const mounted = harmless(mount ?? "");
  if (role !== undefined) return `no event is of the role "${harmless(role)}" of ${mounted}: ${MISTYPED}`;
  return `no event is of the mount ${mounted}: it is mistyped (its path is such as auth/aws/ or sys/), was never used, or its events are not kept any more`;
}

function noEventOf(kind: "request" | "entity", text: string): string {
  if (kind === "request" || isMalformed(kind, text)) return nothingIs(kind, text);
  return `no event is of the ${kind} ${text}: ${MISTYPED}`;
}

function isKnown({ events, next, makers = [], uses = [], attempts = [], below = [] }: AuditEvents): boolean {
  return next !== "" || [events, makers, uses, attempts, below].some((list) => list.length > 0);
}
