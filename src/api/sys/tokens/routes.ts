import type { Route } from "../../../auth/route.ts";
import { ENDED_TOKEN_ROUTES } from "./ended.ts";
import { TOKEN_LINEAGE_ROUTES, TOKEN_LIST_ROUTES } from "./inventory.ts";
import { TOKEN_JOB_ROUTES, TOKEN_REVOCATION_ROUTES } from "./revoke.ts";
import { TOKEN_SUMMARY_ROUTES } from "./summary.ts";

/** The inventory of tokens, at `sys/tokens`. */
export const INVENTORY_ROUTES: readonly Route[] = [
  ...TOKEN_LIST_ROUTES,
  ...TOKEN_SUMMARY_ROUTES,
  ...TOKEN_REVOCATION_ROUTES,
  ...TOKEN_JOB_ROUTES,
  ...ENDED_TOKEN_ROUTES,
  ...TOKEN_LINEAGE_ROUTES,
];
