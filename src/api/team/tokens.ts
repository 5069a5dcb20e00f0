import * as z from "zod";
import { type CallContext, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { currentTime } from "../../base/clock.ts";
import type { Failure } from "../../base/errors.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { organizationNamed, teamAt } from "../../team/find.ts";
import { newTeamToken, newTokenId, readTeamId, readTokenId } from "../../team/ids.ts";
import { type Expiry, readExpiry } from "../../team/rules/expiry.ts";
import { readTokenOrder, TOKEN_SORTS } from "../../team/rules/sort.ts";
import { ANY_FIELDS } from "../../wire/fields.ts";
import { EMPTY, type Reply } from "../../wire/reply.ts";
import { readResource, refused } from "../json-api/document.ts";
import { pageDocument, readListQuery, readSearch, refusedParameter } from "../json-api/page.ts";
import { authorOf } from "./author.ts";
import { listedTokenResource, tokenResource } from "./render.ts";

const TYPES = ["authentication-token", "authentication-tokens"];

/** Nothing but these: a misspelt expiry that is ignored would make a token that never ends. */
const ATTRIBUTES = z.strictObject(
  {
    "expired-at": z.unknown().optional(),
    description: z.null("must be null: the only token of a team has no description").optional(),
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? "can only be expired-at and description" : undefined) },
);

const NOT_FOUND = err({ code: "not_found" } as const);

/** The token of a team, by the team, by its own id, and those of an organization as a list. */
export const TEAM_TOKEN_ROUTES: readonly Route[] = [
  tokenRoute("update", "teams/:team/authentication-token", ANY_FIELDS, {
    prepare: async ({ request, fields }) => readOptions(request.resourceType, fields),
    handle: generate,
  }),

  simpleRoute("read", "teams/:team/authentication-token", ANY_FIELDS, async (context) => {
    const route = await readTeamId(context.installation.keys, context.params.team ?? "");
    return show(context, route, "");
  }),

  simpleRoute("delete", "teams/:team/authentication-token", ANY_FIELDS, async (context) => {
    const route = await readTeamId(context.installation.keys, context.params.team ?? "");
    return remove(context, route, "");
  }),

  // An id of a team stands for its token.
  simpleRoute("read", "authentication-tokens/:id", ANY_FIELDS, async (context) => {
    const { route, tokenId } = await readEitherId(context);
    return show(context, route, tokenId);
  }),

  simpleRoute("delete", "authentication-tokens/:id", ANY_FIELDS, async (context) => {
    const { route, tokenId } = await readEitherId(context);
    return remove(context, route, tokenId);
  }),

  tokenRoute("read", "organizations/:organization/team-tokens", ANY_FIELDS, {
    async prepare({ fields }) {
      const query = readListQuery(fields, ["q", "sort"]);
      if (!query.ok) return query;
      const search = readSearch(query.value);
      if (!search.ok) return search;
      const order = readTokenOrder(query.value.parameters.sort);
      if (!order)
        return refusedParameter("sort", `sort must be one of ${TOKEN_SORTS.join(", ")}, or one with - before it`);
      return ok({ query: query.value, search: search.value, order });
    },
    async handle({ env, params, request, prepared: { query, search, order } }) {
      const name = params.organization ?? "";
      const page = await organizationNamed(env, name).listTokens(name, query.page, order, search);
      if (!page.ok) return page;
      return document(200, pageDocument(request.baseUrl, request.path, query, page.value, listedTokenResource));
    },
  }),
];

type AnyCall = Pick<CallContext<unknown, unknown>, "env" | "installation" | "params">;

function readOptions(type: string, attributes: Readonly<Record<string, unknown>>): Result<Expiry, Failure> {
  const read = readResource({ type, attributes }, TYPES, ATTRIBUTES);
  if (!read.ok) return read;
  const expiry = readExpiry(read.value["expired-at"], currentTime());
  return expiry.ok ? expiry : refused("/data/attributes/expired-at", `expired-at ${expiry.error}`);
}

async function generate(context: CallContext<Record<string, unknown>, Expiry>): Promise<Result<Reply, Failure>> {
  const { env, installation, params, caller, prepared: expiry } = context;
  const { keys } = installation;
  const route = await readTeamId(keys, params.team ?? "");
  if (route === null) return NOT_FOUND;
  const { text, verifier } = await newTeamToken(keys, route);
  const generated = await teamAt(env, route).generate({
    tokenId: await newTokenId(keys, route),
    createdAt: currentTime(),
    createdBy: await authorOf(keys, caller),
    ...expiry,
    lastUsedAt: null,
    verifier,
  });
  return generated ? document(201, { data: tokenResource(generated, text) }) : NOT_FOUND;
}

async function show({ env }: AnyCall, route: string | null, tokenId: string): Promise<Result<Reply, Failure>> {
  const found = route === null ? null : await teamAt(env, route).token();
  if (!found || (tokenId !== "" && found.token.tokenId !== tokenId)) return NOT_FOUND;
  return document(200, { data: tokenResource(found, null) });
}

async function remove({ env }: AnyCall, route: string | null, tokenId: string): Promise<Result<Reply, Failure>> {
  return route !== null && (await teamAt(env, route).removeToken(tokenId)) ? ok(EMPTY) : NOT_FOUND;
}

/** The team of an id of a token or of a team. `tokenId` is "" for a team. */
async function readEitherId({ installation, params }: AnyCall): Promise<{ route: string | null; tokenId: string }> {
  const id = params.id ?? "";
  const route = await readTokenId(installation.keys, id);
  if (route !== null) return { route, tokenId: id };
  return { route: await readTeamId(installation.keys, id), tokenId: "" };
}

function document(status: number, body: Record<string, unknown>): Result<Reply, never> {
  return ok({ kind: "plain", status, body });
}
