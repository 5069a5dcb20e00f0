import type { Field, FieldGroup, RecordValue } from "../records/field.ts";
import { secondsOf } from "../records/field.ts";
import type { TerraformResource } from "../records/request-commands.ts";
import { DEFAULT_TTL, type Organization, type TeamToken } from "./resources.ts";
import { newEnd } from "./usual-end.ts";

export const NEW_ORGANIZATION: readonly FieldGroup[] = [
  {
    title: "Organization",
    fields: [
      { name: "name", label: "Name", kind: "text", required: true, hint: "It can't be changed." },
      { name: "email", label: "E-mail address of who administers it", kind: "text", required: true },
    ],
  },
];

export const ORGANIZATION_SETTINGS: readonly FieldGroup[] = [
  {
    title: "Settings",
    fields: [
      { name: "email", label: "E-mail address of who administers it", kind: "text", required: true },
      {
        name: DEFAULT_TTL,
        label: "Team tokens live, unless they name an end",
        kind: "duration",
        hint: "Empty: as the flags below say, else they never end.",
      },
      { name: "end-tokens-after-24-months", label: "Tokens without an end end after 24 months", kind: "flag" },
      { name: "max-ttl-enabled", label: "Tokens live no longer than their greatest lifetime", kind: "flag" },
    ],
  },
];

export const TTL_POLICY: readonly FieldGroup[] = [
  {
    title: "Greatest lifetime",
    fields: [
      { name: "max-ttl-ms", label: "Of team tokens", kind: "duration", hint: "Counts while the flag above is set." },
    ],
  },
];

export const TEAM: readonly FieldGroup[] = [
  {
    title: "Team",
    fields: [
      { name: "name", label: "Name", kind: "text", required: true },
      { name: "visibility", label: "Visibility", kind: "choice", choices: ["secret", "organization"] },
      { name: "token-policies", label: "Policies of its tokens", kind: "names", hint: "Needs sudo." },
      { name: "sso-team-id", label: "Name at the identity provider", kind: "text" },
    ],
  },
];

export const TERRAFORM_TEAM: TerraformResource = { type: "tfe_team", lacks: ["token-policies"] };

const TOKEN_END: Field = {
  name: "expired-at",
  label: "Ends",
  kind: "time",
  hint: "Empty: as the organization says, else never.",
};

/** The form of a token of an organization itself. */
export const NEW_OWN_TOKEN: readonly FieldGroup[] = [{ title: "Token", fields: [TOKEN_END] }];

/**
 * The form of a new token. Here a description is required: a token without one would replace the team's current token
 * without a description, which would be refused at once. To replace that token with an overlap, rotate it.
 */
export const NEW_TEAM_TOKEN: readonly FieldGroup[] = [
  {
    title: "Token",
    fields: [
      {
        name: "description",
        label: "Description",
        kind: "text",
        required: true,
        hint: "What it is for: lists show it.",
      },
      TOKEN_END,
    ],
  },
];

/** Default time for which the old token of a rotation stays valid. */
const USUAL_OVERLAP = "1d";

/**
 * The form of a rotation of `token`.
 *
 * @param organization null when it is not known
 */
export const rotationOf = (token: TeamToken, organization: Organization | null): readonly FieldGroup[] => [
  {
    title: "Old token",
    fields: [
      {
        name: "overlap-seconds",
        label: "The old one stays good for",
        kind: "duration",
        suggested: USUAL_OVERLAP,
        hint: `Empty: it is refused at once. At most 30d${token["expired-at"] === null ? "" : ", and not beyond its own end"}.`,
      },
    ],
  },
  {
    title: "New token",
    fields: [
      { name: "expired-at", label: "The new one ends", kind: "time", hint: `Empty: ${newEnd(token, organization)}.` },
    ],
  },
];

const TRIGGERS = ["team_token:expires_in_30_days", "team_token:expires_in_7_days", "team_token:expired"];

export const WEBHOOK: readonly FieldGroup[] = [
  {
    title: "Webhook",
    fields: [
      { name: "name", label: "Name", kind: "text", required: true },
      { name: "url", label: "Address", kind: "text", required: true },
      { name: "token", label: "Secret that signs what is sent", kind: "secret" },
      { name: "triggers", label: "Notified of", kind: "names", usual: TRIGGERS.join("\n") },
      { name: "enabled", label: "Enabled: it has to take a verification first", kind: "flag" },
    ],
  },
];

/** Organization settings for the form (times in seconds). */
export const shownSettings = (organization: Organization): RecordValue => ({
  ...organization,
  [DEFAULT_TTL]: Math.round((organization[DEFAULT_TTL] ?? 0) / 1000),
});

/** Organization settings for the API (times in ms, null for none). */
export function sentSettings(body: RecordValue): RecordValue {
  if (!(DEFAULT_TTL in body)) return body;
  const seconds = secondsOf(String(body[DEFAULT_TTL]));
  return { ...body, [DEFAULT_TTL]: seconds === 0 ? null : Math.round(seconds * 1000) };
}
