import type { Field, FieldGroup } from "../records/field.ts";
import type { Part } from "../records/part.ts";
import { APP_ROLE_PARTS } from "./approle-parts.ts";
import { cloudParts } from "./cloud-parts.ts";
import { jwtParts } from "./jwt-parts.ts";
import { KUBERNETES_PARTS } from "./kubernetes-parts.ts";
import { LOCATION } from "./role-fields.ts";
import { TOKEN_PARTS } from "./token-parts.ts";

/** The parts of a mount by its type, besides its tuning. */
export const PARTS: Readonly<Record<string, readonly Part[]>> = {
  token: TOKEN_PARTS,
  approle: APP_ROLE_PARTS,
  jwt: jwtParts("jwt"),
  oidc: jwtParts("oidc"),
  kubernetes: KUBERNETES_PARTS,
  cloud: cloudParts("cloud"),
  aws: cloudParts("aws"),
};

const TUNING: readonly Field[] = [
  { name: "description", label: "Description", kind: "text" },
  { name: "default_lease_ttl", label: "Tokens live", kind: "duration", hint: "Empty: as everywhere." },
  { name: "max_lease_ttl", label: "Tokens live at most", kind: "duration", hint: "Empty: as everywhere." },
  {
    name: "token_type",
    label: "Type of tokens",
    kind: "choice",
    choices: ["default-service", "default-batch", "service", "batch"],
  },
  {
    name: "listing_visibility",
    label: "Shown before sign-in",
    kind: "choice",
    choices: ["", "unauth", "hidden"],
    hint: "unauth: the sign-in page of this console, and of other user interfaces, names it.",
  },
  {
    name: "audit_non_hmac_request_keys",
    label: "Fields of requests that the audit log shows",
    kind: "names",
    hint: "All others are hashed.",
  },
  LOCATION,
];

/** Fields of a mount's tuning. The token method has no token type, which its roles set. */
export const tuningOf = (type: string): readonly FieldGroup[] => [
  { title: "Tuning", fields: type === "token" ? TUNING.filter(({ name }) => name !== "token_type") : TUNING },
];

/** Fields of the API without an input: older names, actions of buttons, and fields that are not stored. */
export const LEFT_OUT: ReadonlySet<string> = new Set([
  "policies",
  "ttl",
  "max_ttl",
  "period",
  "bound_cidrs",
  "bound_cidr_list",
  "explicit_max_ttl",
  "not_before",
  "skip_jwks_validation",
]);
