import { ASKED_PATHS } from "./asked-paths.ts";
import type { Needs } from "./needed-capabilities.ts";
import { mayDo, type Session } from "./session.ts";
import type { IconName } from "./ui/index.ts";

/** A page that the navigation leads to. */
export interface NavItem {
  readonly name: string;
  readonly label: string;
  readonly icon: IconName;
  readonly needs?: Needs;
  /** Further words for the search. */
  readonly words?: string;
}

/** The pages, in their groups. */
export const NAV: readonly { readonly title: string; readonly items: readonly NavItem[] }[] = [
  {
    title: "Tokens",
    items: [
      { name: "", label: "Forest", icon: "forest", needs: [ASKED_PATHS.map, "read", "sudo"] },
      {
        name: "tokens",
        label: "Tokens",
        icon: "tokens",
        words: "contain, revoke, find",
        needs: [ASKED_PATHS.tokens, "read", "sudo"],
      },
      {
        name: "ends",
        label: "What ends when",
        icon: "clock",
        words: "expiry, tomorrow",
        needs: [ASKED_PATHS.summary, "read", "sudo"],
      },
      {
        name: "ended",
        label: "Ended lately",
        icon: "ended",
        words: "receipts, who revoked what",
        needs: [ASKED_PATHS.ended, "read", "sudo"],
      },
      {
        name: "leases",
        label: "Leases",
        icon: "lease",
        words: "failing, irrevocable",
        needs: [ASKED_PATHS.leases, "list", "sudo"],
      },
      {
        name: "new-token",
        label: "New token",
        icon: "plus",
        words: "create, wrapped",
        needs: [ASKED_PATHS.create, "update"],
      },
    ],
  },
  {
    title: "Access",
    items: [
      {
        name: "policies",
        label: "Policies",
        icon: "policy",
        words: "why refused, explain, capabilities",
        needs: [ASKED_PATHS.policies, "list"],
      },
      {
        name: "methods",
        label: "Auth methods",
        icon: "enter",
        words: "refused logins, check a login",
        needs: [ASKED_PATHS.methods, "read"],
      },
      { name: "identity", label: "Entities and groups", icon: "entity", needs: [ASKED_PATHS.entities, "list"] },
      { name: "issuer", label: "Identity tokens", icon: "issuer", needs: [ASKED_PATHS.issuer, "list"] },
      { name: "teams", label: "Teams", icon: "team", needs: [ASKED_PATHS.organizations, "read"] },
    ],
  },
  {
    title: "Service",
    items: [
      {
        name: "health",
        label: "Health",
        icon: "health",
        words: "doctor, checks, backups, receipts of revocations, tidy, keys, quotas, irrevocable leases",
      },
      {
        name: "audit",
        label: "Audit log",
        icon: "log",
        words: "request id, why refused, who did what, timeline, faults, address",
        needs: [ASKED_PATHS.audit, "read", "sudo"],
      },
      { name: "session", label: "Your session", icon: "user" },
    ],
  },
];

/** The pages that need capabilities, each with these. */
export const PAGE_NEEDS: readonly (readonly [label: string, needs: Needs])[] = NAV.flatMap(
  ({ items }) => items,
).flatMap(({ label, needs }) => (needs ? [[label, needs] as const] : []));

/** The first page that the policies of the token allow. */
export function firstPage(session: Session): string {
  const items = NAV.flatMap((group) => group.items);
  return items.find(({ needs }) => needs !== undefined && mayDo(session, ...needs))?.name ?? "session";
}
