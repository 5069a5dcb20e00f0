import type { AuditEvent } from "../audit/event.ts";
import { exact } from "../format.ts";
import { href } from "../href.ts";
import { type Found, SHOWN_OF_KIND } from "./search-result.ts";

/** A shorter text is part of too many errors. */
const LEAST = 8;

/** The refused requests whose error is in the text, or has the text in it. The store has `<value>` for what a client sent. */
export function refusedWith(events: readonly AuditEvent[], text: string): readonly Found[] {
  const wanted = plain(text);
  const isMeant = ({ error = "" }: AuditEvent): boolean => {
    const parts = plain(error).split("<value>");
    const stored = plain(error);
    if (wanted.length < LEAST || stored.length < LEAST) return false;
    return stored.includes(wanted) || isInOrder(parts, wanted);
  };
  return events
    .filter(isMeant)
    .slice(0, SHOWN_OF_KIND)
    .map(
      ({ operation = "", path = "", time, error = "", auth, request_id: id = "" }): Found => ({
        kind: "Requests",
        name: [operation, path, auth?.display_name && `by ${auth.display_name}`].filter(Boolean).join(" "),
        detail: `${error} · ${exact(time)}`,
        href: href(["requests", id]),
      }),
    );
}

/** Clients print an error in JSON, or as an item of a list. */
const plain = (text: string): string =>
  text
    .replaceAll('\\"', '"')
    .replace(/^[\s*]+/, "")
    .replace(/\s+/g, " ")
    .trim()
    .toLowerCase();

function isInOrder(parts: readonly string[], text: string): boolean {
  let at = 0;
  return parts.every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}
