import type { FoundText, Token } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { exact, shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import { MIN_SEARCH } from "../tokens/filter.ts";
import { nameOf } from "../tokens/model.ts";
import { listTokens } from "../tokens/token.ts";
import { type Found, SHOWN_OF_KIND } from "./found.ts";

/** Tokens that the inventory's search finds. */
export async function tokensByText(api: Api, text: string): Promise<readonly Found[]> {
  if (text.length < MIN_SEARCH) return [];
  const answer = await listTokens(api, { search: text, limit: SHOWN_OF_KIND });
  return answer.ok ? answer.value.tokens.map(foundToken) : [];
}

/** Pairs of metadata beside a result. */
const PAIRS = 2;

const foundToken = (token: Token): Found => ({
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

/** What the server says of a whole text: results with pages, and a sentence. */
export interface Itself {
  readonly found: readonly Found[];
  readonly note: string;
}

/** What this text is: a token or an accessor, alive or not, of whom. The text is sent in a body only. */
export async function textItself(api: Api, text: string): Promise<Itself> {
  const answer = await api.call<FoundText>("sys/tokens/find", { body: { token: text } });
  if (!answer.ok) return { found: [], note: answer.problem.messages.join(" ") };
  const { state, kind, token, credential, message, ended } = answer.value.data;
  const isNothing = state === "unknown" && kind === "";
  const note = ended ? `${message} ${endText(ended)}` : isNothing ? "Nothing is known by this." : message;
  if (token) return { found: [tokenInState(token, state, ended?.how)], note };
  if (!credential) return { found: [], note };
  return { found: [...teamOf(credential, state), ...parentOf(credential)], note };
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
