import type { Answered, CallContext, Route } from "../../auth/route.ts";
import { NO_CONTENT } from "../../auth/route-description.ts";
import { changedOnce } from "../../base/lost-call-retry.ts";
import { err, NOT_FOUND, ok } from "../../base/result.ts";
import { teamRoute } from "../../team/ids.ts";
import type { OrganizationTokenKind } from "../../team/record.ts";
import { teamAt } from "../../team/stubs.ts";
import { fieldSchema, strictSchema } from "../../wire/field-schema.ts";
import { exact } from "../../wire/json-type-fields.ts";
import { documentAnswer, documentReply, documentRoute, organizationIn, queryRoute } from "../json-api/routes.ts";
import { createdReply, generate, NEW_TOKEN_FIELDS, removeToken, TOKEN_TYPES } from "./new-token.ts";
import { TOKEN_VIEW } from "./view.ts";

const KIND = {
  token: exact("string", (value) => {
    if (value === undefined || value === "") return ok<OrganizationTokenKind>("organization");
    return value === "audit-trails"
      ? ok<OrganizationTokenKind>("audit_trails")
      : err("must be audit-trails, or left out");
  }).describe("`audit-trails`: the token that may only read the audit trail"),
};

const PATH = "organizations/:organization/authentication-token";

/** The tokens of organizations: one of each kind. */
export const ORGANIZATION_TOKEN_ROUTES: readonly Route[] = [
  documentRoute("update", PATH, {
    summary: "Creates the organization's token and ends the previous one.",
    operationId: "teams-create-organization-token",
    answers: documentAnswer(TOKEN_VIEW, 201),
    queryOfWrite: ["token"],
    types: TOKEN_TYPES,
    attributes: strictSchema({ ...NEW_TOKEN_FIELDS, ...KIND }),
    handle: async (context) => {
      const { env, prepared } = context;
      const { name, organization } = organizationIn(context);
      const holder = await organization.tokenHolder(name);
      if (!holder.ok) return holder;
      const { text, token } = await generate(context, holder.value, prepared["expired-at"]);
      const ofKind = { ...token, kind: prepared.token };
      const added = await changedOnce(env, (attempt) => teamAt(env, holder.value).addToken(ofKind, attempt));
      return added.ok ? createdReply(context, added.value, text) : added;
    },
  }),
  queryRoute("read", PATH, {
    summary: "Shows the token of an organization, without its text.",
    operationId: "teams-read-organization-token",
    answers: documentAnswer(TOKEN_VIEW),
    query: fieldSchema(KIND),
    handle: async (context): Answered => {
      const route = await holderIn(context);
      const found = route === null ? null : await teamAt(context.env, route).token(context.prepared.token);
      if (!found) return NOT_FOUND;
      context.request.notes.targetAccessor = found.token.tokenId;
      return documentReply(TOKEN_VIEW.show({ ...found, text: null }));
    },
  }),
  queryRoute("delete", PATH, {
    summary: "Deletes the token of an organization.",
    operationId: "teams-delete-organization-token",
    answers: NO_CONTENT,
    query: fieldSchema(KIND),
    handle: async (context): Answered => {
      const route = await holderIn(context);
      return route === null ? NOT_FOUND : removeToken(context, route, context.prepared.token);
    },
  }),
];

/** The route to the holder of the tokens of the organization in the path; null when it has none. */
async function holderIn(context: CallContext<unknown, unknown>) {
  const { name, organization } = organizationIn(context);
  const found = await organization.show(name);
  return found?.holderId === undefined ? null : teamRoute(found.holderId);
}
