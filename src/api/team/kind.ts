import type { CredentialKind } from "../../auth/kinds.ts";
import { VAULT } from "../../wire/envelope.ts";
import { JSON_API } from "../json-api/dialect.ts";
import { TEAM_TOKENS } from "./credential.ts";
import { DISCOVERY_ROUTES, TEAM_ROUTES } from "./routes.ts";

/** Teams, with their tokens. */
export const TEAMS: CredentialKind = {
  format: TEAM_TOKENS,
  apis: [
    { dialect: VAULT, routes: DISCOVERY_ROUTES },
    { dialect: JSON_API, routes: TEAM_ROUTES },
  ],
};
