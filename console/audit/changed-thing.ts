import { counted } from "../format.ts";
import { href } from "../href.ts";
import type { AuditEvent } from "./event.ts";
import { endsAllOfPath } from "./revocation-event.ts";

/** What a change was about, in words, with the page of it; that is gone after a deletion. */
export interface ChangedThing {
  /** `Wrote the policy`. */
  readonly text: string;
  readonly name: string;
  /** "" where there is no page. */
  readonly to: string;
}

/** A form of paths, with the verbs of a write and of a deletion. */
interface Thing {
  readonly form: RegExp;
  readonly verbs: readonly [write: string, deletion: string];
  readonly what: string;
  readonly nameOf: (parts: readonly string[]) => string;
  readonly placeOf: (parts: readonly string[]) => string;
}

const WROTE = ["Wrote", "Deleted"] as const;
const methodOf = ([mount = ""]: readonly string[]): string => href(["methods", mount]);

/** The first form that fits counts. */
const THINGS: readonly Thing[] = [
  {
    form: /^sys\/policies\/acl\/([^/]+)$/,
    verbs: WROTE,
    what: "policy",
    nameOf: ([name = ""]) => name,
    placeOf: ([name = ""]) => href(["policies", name]),
  },
  {
    form: /^sys\/auth\/(.+)\/tune$/,
    verbs: ["Tuned", "Deleted"],
    what: "method",
    nameOf: ([mount = ""]) => `auth/${mount}/`,
    placeOf: methodOf,
  },
  {
    form: /^sys\/auth\/(.+)$/,
    verbs: ["Enabled", "Disabled"],
    what: "method",
    nameOf: ([mount = ""]) => `auth/${mount}/`,
    placeOf: methodOf,
  },
  {
    form: /^auth\/(.+)\/config(?:\/[^/]+)?$/,
    verbs: WROTE,
    what: "settings of",
    nameOf: ([mount = ""]) => `auth/${mount}/`,
    placeOf: methodOf,
  },
  {
    form: /^auth\/(.+)\/roles?\/([^/]+)$/,
    verbs: WROTE,
    what: "role",
    nameOf: ([mount = "", name = ""]) => `${name} of auth/${mount}/`,
    placeOf: ([mount = "", name = ""]) => href(["methods", mount], { part: "roles", name }),
  },
  {
    form: /^authentication-tokens\/(at-\w+)$/,
    verbs: WROTE,
    what: "team token",
    nameOf: ([id = ""]) => id,
    placeOf: () => "",
  },
  {
    form: /^teams\/(team-\w+)$/,
    verbs: WROTE,
    what: "team",
    nameOf: ([id = ""]) => id,
    placeOf: () => "",
  },
  {
    form: /^organizations\/([^/]+)$/,
    verbs: WROTE,
    what: "organization",
    nameOf: ([name = ""]) => name,
    placeOf: ([name = ""]) => href(["teams", name]),
  },
];

const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch"]);

/** Most tokens of a deletion that are named. */
const NAMED = 8;

/** What a change was about; null for one whose path says as much. */
export function changedThing(event: AuditEvent): ChangedThing | null {
  const { operation = "", path = "", target_accessors: tokens = [] } = event;
  const isDeletion = operation === "delete";
  // One request can delete many tokens of teams, which its path does not name.
  if (isDeletion && tokens.length > 0) {
    const more = tokens.length > NAMED ? ` and ${counted(tokens.length - NAMED, "other")}` : "";
    const text = tokens.length === 1 ? "Deleted the team token" : "Deleted the team tokens";
    return { text, name: tokens.slice(0, NAMED).join(", ") + more, to: "" };
  }
  // The log may have a mark in the place of a name.
  if (path.includes("<") || (!isDeletion && !WRITES.has(operation))) return null;
  for (const { form, verbs, what, nameOf, placeOf } of THINGS) {
    const parts = form.exec(path)?.slice(1);
    if (!parts) continue;
    const verb = !isDeletion && endsAllOfPath(event) ? "Ended all tokens of" : verbs[isDeletion ? 1 : 0];
    return {
      text: `${verb} the ${what}`,
      name: nameOf(parts),
      to: isDeletion ? "" : placeOf(parts),
    };
  }
  return null;
}
