import type { EndedToken, FoundText, Token } from "../../client/answers.d.ts";
import { capitalized, exact, shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import { leaseHref } from "../leases/lease-text.ts";
import type { Problem } from "../result.ts";
import { isSecretLike, looksChosen } from "../secret-detection.ts";
import { isTokenAccessor } from "../tokens/token-accessor.ts";
import { detailText, nameOf } from "../tokens/token-name.ts";
import { secretIdAtRole } from "./found-by-events.ts";
import { type Found, matching } from "./search-result.ts";

export const foundToken = (token: Token): Found => ({
  kind: "Tokens",
  name: nameOf(token),
  detail: [token.mount, token.role, detailText(token), shortAccessor(token.accessor)].filter(Boolean).join(" · "),
  href: href(["tokens", token.accessor]),
});

/** The server's answer about a whole text: results with pages, and a sentence. */
export interface Itself {
  readonly found: readonly Found[];
  readonly note: string;
  /** True when no URL may contain the text. */
  readonly isKept: boolean;
}

export const NOTHING: Itself = { found: [], note: "", isKept: false };

export const A_TOKEN = "This is a token: no address gets it.";

/** The inventory refuses any token in a URL, whatever its form. */
export const isTokenInSearch = ({ status, messages }: Problem): boolean =>
  status === 400 && messages.some((message) => message.startsWith("search must not contain a token"));

/**
 * The result of the server's answer about a text. An accessor is not secret.
 *
 * @param stateInside the state of the token inside a wrapping token; "" when it is not known
 */
export function itselfOf(answer: FoundText, text: string, stateInside = ""): Itself {
  const { state, kind, token, credential, message, ended, wrapped_accessor: inside = "" } = answer;
  const { entities = [], mounts = [] } = answer;
  // The server could not ask all objects that could know the text, so its form decides; otherwise no word could be searched for.
  if (kind === "" && state === "unjudged") {
    const mayBe = looksChosen(text);
    return { found: [], note: mayBe ? message : "", isKept: mayBe };
  }
  const isNothing = kind === "" && state === "unknown";
  // An accessor has the form of a token without its prefix: only the server's answer tells them apart.
  const isKept = isNothing ? isSecretLike(text) : token?.accessor !== text;
  if (isNothing) return { found: [], note: isKept ? `Nothing is known by this. ${LOOKS_LIKE}` : "", isKept };
  // A chosen role-id may be a word to search for. It is a secret only when it logs in alone.
  if (kind === "role-id") return { found: [], note: message, isKept: state === "live" || isSecretLike(text) };
  // The token of a lease may be alive, whatever the state of the lease.
  if (kind === "lease") {
    const holder = token ? [tokenInState(token, ended ? "ended" : "live", ended?.how)] : [];
    return { found: [leaseOf(text, state), ...holder], note: message, isKept };
  }
  const note = ended ? `${message} ${endText(ended)}` : message;
  if (token) return { found: [tokenInState(token, state, ended?.how), ...insideOf(inside, stateInside)], note, isKept };
  if (!credential) return { found: [...entities.map(entityOfJwt), ...mounts.map(mountOfJwt)], note, isKept };
  // The page of a secret-id is that of its role.
  const facts = kind === "secret-id" ? note : [note, credentialText(credential)].filter(Boolean).join(" ");
  const pages = [...teamOf(credential, state), ...roleOf(credential, kind), ...parentOf(credential)];
  return { found: kind === "batch" ? [...pages, ...endsOfBatch(credential)] : pages, note: facts, isKept };
}

/** The result without an answer. @param isRefused false when the request can be repeated; until then the text is sent nowhere else */
export function notAsked(text: string, why: string, isRefused = true): Itself {
  if (!isRefused) return { found: [], note: why, isKept: true };
  const isKept = looksChosen(text);
  return { found: [], note: isKept ? `It can't be asked whether this is a token: ${why}. ${LOOKS_LIKE}` : "", isKept };
}

const LOOKS_LIKE = "It looks like a secret, so no address gets it.";

const tokenInState = (token: Token, state: string, how = ""): Found => {
  const found = foundToken(token);
  const before = state === "live" ? "" : `${state}${how === "" ? "" : `: ${how}`} · `;
  return { ...found, detail: before + found.detail };
};

/** The ended tokens that have the text in their name or in what is said beside it, the best first. */
export function endedWith(all: readonly EndedToken[], text: string): readonly Found[] {
  const found = all.map(
    ({ token, ended }): Found => ({
      ...tokenInState(token, "ended", ended.how),
      kind: "Ended tokens",
    }),
  );
  return matching(found, text);
}

const endText = ({ at, how, by }: NonNullable<FoundText["ended"]>): string =>
  `${capitalized(how)} ${exact(at)}${by ? ` by ${by.display_name || "a token"}` : ""}.`;

type Credential = NonNullable<FoundText["credential"]>;

/** Most policies and metadata pairs in a sentence. */
const NAMED = 8;

/** Facts about a credential that is in no list and has no page: a batch token, or a token of a team. */
export function credentialText(credential: Credential): string {
  const { policies, metadata, path, created, expires } = credential;
  const { display_name: name, entity_id: entity, created_by: maker } = credential;
  const pairs = Object.entries(metadata).map(([key, value]) => `${key}=${value}`);
  return [
    name !== "" && `Name: ${name}.`,
    policies.length > 0 && `Policies: ${someOf(policies)}.`,
    pairs.length > 0 && `Metadata: ${someOf(pairs)}.`,
    entity !== "" && `Entity: ${entity}.`,
    path !== "" &&
      `Made at ${path}${maker === "" ? "" : ` by ${maker}`}${created === null ? "" : `, ${exact(created)}`}.`,
    expires !== null && `Its time ends ${exact(expires)}.`,
  ]
    .filter((text) => text !== false)
    .join(" ");
}

const someOf = (names: readonly string[]): string =>
  names.slice(0, NAMED).join(", ") + (names.length > NAMED ? " and others" : "");

const leaseOf = (id: string, state: string): Found => ({
  kind: "Leases",
  name: id,
  detail: state === "live" ? "held" : state,
  href: leaseHref(id),
});

/** What a wrapping token holds: a token, or a secret-id by its events. @param state "" when it is not known */
function insideOf(accessor: string, state: string): readonly Found[] {
  if (accessor === "") return [];
  const isToken = isTokenAccessor(accessor);
  return [
    {
      kind: "Tokens",
      name: isToken ? "The token inside" : "The secret-id inside",
      detail: [["", "live"].includes(state) ? "" : state, shortAccessor(accessor)].filter(Boolean).join(" · "),
      href: isToken ? href(["tokens", accessor]) : href(["audit"], { accessor }),
    },
  ];
}

const entityOfJwt = ({ id, name, disabled, alias, mount }: NonNullable<FoundText["entities"]>[number]): Found => ({
  kind: "Entities",
  name,
  detail: `${disabled ? "disabled, " : ""}${alias} (${mount})`,
  href: href(["identity"], { id }),
});

/** A method that trusts the issuer of a JWT: its logins can be stopped there. */
const mountOfJwt = (path: string): Found => mountPage(path, "trusts the issuer of this JWT");

const mountPage = (path: string, detail: string, query = {}): Found => ({
  kind: "Auth methods",
  name: path,
  detail,
  href: href(["methods", path.replace(/^auth\/|\/$/g, "")], query),
});

/** The path of a login, after that of its mount. */
const LOGIN = /^(auth\/.+\/)(?:login|oidc\/(?:callback|poll))$/;

/** Where a batch token can be ended, which has no page: with all tokens of its entity, or of its method. */
function endsOfBatch({ entity_id: id, display_name: name, path }: Credential): readonly Found[] {
  const [, mount] = LOGIN.exec(path) ?? [];
  const entity: Found = {
    kind: "Entities",
    name: `Entity of ${name || "the batch token"}`,
    detail: "the batch token ends with all tokens of it",
    href: href(["identity"], { id }),
  };
  const method = mount && mountPage(mount, "the batch token ends with all tokens of it", { part: "tuning" });
  return [...(id === "" ? [] : [entity]), ...(method ? [method] : [])];
}

const teamOf = ({ metadata, accessor }: Credential, state: string): readonly Found[] => {
  const { organization, team, team_id: id } = metadata;
  if (organization && metadata.kind) return [ownTokenOf(organization, state)];
  if (!organization || !team || !id) return [];
  return [
    {
      kind: "Teams",
      name: team,
      detail: `${state} token of this team of ${organization}`,
      href: href(["teams", organization, id], { token: accessor }),
    },
  ];
};

/** The page of an organization, where its own tokens can be revoked. */
const ownTokenOf = (organization: string, state: string): Found => ({
  kind: "Teams",
  name: organization,
  detail: `${state} token of this organization itself`,
  href: href(["teams", organization], { part: "tokens" }),
});

/** The page of a secret-id's role, where it can be destroyed. */
const roleOf = ({ path, accessor }: Credential, kind: string): readonly Found[] => {
  const [, mount, name] = /^auth\/(.+)\/role\/([^/]+)$/.exec(path) ?? [];
  if (kind !== "secret-id" || mount === undefined || name === undefined) return [];
  return [secretIdAtRole({ mount, name }, accessor, `live secret-id of this role, with the accessor ${accessor}`)];
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

/** Lists of the tokens of one name, or with one pair of metadata, where several of these have the text in it. */
export function listsOf(tokens: readonly Token[], text: string): readonly Found[] {
  const wanted = text.toLowerCase();
  const name = mostOf(tokens.map(nameOf).filter((one) => one.toLowerCase().includes(wanted)));
  const pair = mostOf(
    tokens.flatMap(({ metadata }) =>
      Object.entries(metadata).flatMap(([key, value]) => (value.toLowerCase() === wanted ? [`${key}=${value}`] : [])),
    ),
  );
  const list = (label: string, filter: Readonly<Record<string, string>>): Found => ({
    kind: "Lists",
    name: label,
    detail: "",
    href: href(["tokens"], filter),
  });
  return [
    ...(name === "" ? [] : [list(`Tokens named ${name}`, { display_name: name })]),
    ...(pair === "" ? [] : [list(`Tokens with ${pair}`, { metadata: pair })]),
  ];
}

/** The most frequent text; "" where none is there twice. */
function mostOf(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const [text, count] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ["", 1]);
  return count > 1 ? text : "";
}
