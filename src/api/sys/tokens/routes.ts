import type { Route } from "../../../auth/route.ts";
import { TOKEN_LINEAGE_ROUTES } from "./lineage.ts";
import { TOKEN_LIST_ROUTES } from "./list.ts";
import { TOKEN_REVOCATION_ROUTES } from "./revoke.ts";
import { TOKEN_SUMMARY_ROUTES } from "./summary.ts";

/** The inventory of tokens, at `sys/tokens`. */
export const INVENTORY_ROUTES: readonly Route[] = [
  ...TOKEN_LIST_ROUTES,
  ...TOKEN_SUMMARY_ROUTES,
  ...TOKEN_REVOCATION_ROUTES,
  ...TOKEN_LINEAGE_ROUTES,
];
