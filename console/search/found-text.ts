import type { FoundText, Token } from "../../client/answers.d.ts";
import { exact, shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import { nameOf } from "../tokens/model.ts";
import type { Found } from "./found.ts";

/** What the server says of a whole text: results with pages, and a sentence. */
export interface Itself {
  readonly found: readonly Found[];
  readonly note: string;
  /** False for a text that the server knows nothing of. */
  readonly isKnown: boolean;
}

/** Pairs of metadata beside a result. */
const PAIRS = 2;

/** A token as a result. */
export const foundToken = (token: Token): Found => ({
  kind: "Tokens",
  name: nameOf(token),
  detail: [
    token.mount,
    token.role,
    ...Object.entries(token.metadata)
      .map(([key, value]) => `${key}=${value}`)
      .slice(0, PAIRS),
    shortAccessor(token.accessor),
  ]
    .filter(Boolean)
    .join(" · "),
  href: href(["tokens", token.accessor]),
});

/** What an answer says of a text, as results and a sentence. */
export function itselfOf(answer: FoundText): Itself {
  const { state, kind, token, credential, message, ended } = answer;
  const isNothing = state === "unknown" && kind === "";
  const note = ended ? `${message} ${endText(ended)}` : isNothing ? "Nothing is known by this." : message;
  const isKnown = !isNothing;
  if (token) return { found: [tokenInState(token, state, ended?.how)], note, isKnown };
  if (!credential) return { found: [], note, isKnown };
  return { found: [...teamOf(credential, state), ...roleOf(credential, kind), ...parentOf(credential)], note, isKnown };
}

const tokenInState = (token: Token, state: string, how = ""): Found => {
  const found = foundToken(token);
  const before = state === "live" ? "" : `${state}${how === "" ? "" : `: ${how}`} · `;
  return { ...found, detail: before + found.detail };
};

const endText = ({ at, how, by }: NonNullable<FoundText["ended"]>): string =>
  `${how[0]?.toUpperCase()}${how.slice(1)} ${exact(at)}${by ? ` by ${by.display_name || "a token"}` : ""}.`;

type Credential = NonNullable<FoundText["credential"]>;

const teamOf = ({ metadata }: Credential, state: string): readonly Found[] => {
  const { organization, team, team_id: id } = metadata;
  if (!organization || !team || !id) return [];
  return [
    {
      kind: "Teams",
      name: team,
      detail: `${state} token of this team of ${organization}`,
      href: href(["teams", organization, id]),
    },
  ];
};

/** The page of the role that a secret-id is of, where it can be destroyed. */
const roleOf = ({ path, accessor }: Credential, kind: string): readonly Found[] => {
  const [, mount, name] = /^auth\/(.+)\/role\/([^/]+)$/.exec(path) ?? [];
  if (kind !== "secret-id" || mount === undefined || name === undefined) return [];
  return [
    {
      kind: "Roles",
      name,
      detail: `live secret-id of this role, with the accessor ${accessor}`,
      href: href(["methods", mount], { part: "roles", name }),
    },
  ];
};

const parentOf = ({ parent, display_name: name }: Credential): readonly Found[] =>
  parent === null
    ? []
    : [
        {
          kind: "Tokens",
          name: `Parent of ${name || "the batch token"}`,
          detail: shortAccessor(parent),
          href: href(["tokens", parent]),
        },
      ];
