import { z } from "zod";
import { currentTime } from "../../clock.ts";
import { type Failure, invalid } from "../../errors.ts";
import { duration, flag, integer, pairs, text, textList } from "../../http/fields.ts";
import { MAX_META_LENGTH } from "../../http/limits.ts";
import type { AuthReply, Reply } from "../../http/reply.ts";
import { type Route, tokenRoute } from "../../http/route.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Installation } from "../../sys/installation.ts";
import { mountTtl } from "../../sys/mount.ts";
import { newTokenIds } from "../ids.ts";
import { issue } from "../issue.ts";
import { authOfToken } from "../render.ts";
import type { CreateRequest } from "../rules/create.ts";

const FIELDS = z.object({
  id: text(),
  display_name: text(),
  policies: textList(),
  meta: pairs(),
  no_parent: flag(false),
  no_default_policy: flag(false),
  renewable: flag(true),
  lease: duration(),
  ttl: duration(),
  explicit_max_ttl: duration(),
  period: duration(),
  num_uses: integer(0),
  type: text(),
  entity_alias: text(),
});

/** Longest display name as sent. */
const MAX_DISPLAY_NAME = 512;

/** `create` and `create-orphan`. */
export const CREATE_ROUTES: readonly Route[] = [createRoute("create", false), createRoute("create-orphan", true)];

function createRoute(path: string, orphanEndpoint: boolean): Route {
  return tokenRoute("update", path, FIELDS, {
    prepare: async ({ fields }) => readCreateRequest(fields, orphanEndpoint),
    async action({ installation, presented, prepared }) {
      if (presented.kind !== "service") return null;
      const { keys } = installation;
      const ids = orphanEndpoint ? null : await newTokenIds(keys, presented.credential.treeId, currentTime());
      const mount = mountTtl(installation.mountAt("token/"));
      return { kind: "create", request: prepared, role: null, mount, aliasEntityId: "", ids };
    },
    async handle({ env, installation, caller, action, outcome, prepared }) {
      if (caller.kind === "batch") return err(invalid("batch tokens cannot create more tokens"));
      if (!outcome || action?.kind !== "create") throw new Error("a creation comes with its outcome");
      if (!outcome.ok) return outcome;
      const { value } = outcome;
      if (value.kind === "created") {
        return created(installation, authOfToken(value.token, action.ids?.token ?? ""), value.warnings);
      }
      if (value.kind !== "planned") throw new Error(`a creation does not end in "${value.kind}"`);
      const issued = await issue(env, installation, value.spec, caller.token, prepared.id);
      return issued.ok ? created(installation, issued.value, value.warnings) : issued;
    },
  });
}

function readCreateRequest(fields: z.infer<typeof FIELDS>, orphanEndpoint: boolean): Result<CreateRequest, Failure> {
  if (JSON.stringify(fields.meta).length > MAX_META_LENGTH) return err(invalid("meta is too large"));
  if (fields.display_name.length > MAX_DISPLAY_NAME) return err(invalid("display_name is too long"));
  return ok({
    id: fields.id,
    displayName: fields.display_name,
    policies: fields.policies,
    meta: fields.meta,
    noParent: fields.no_parent,
    noDefaultPolicy: fields.no_default_policy,
    renewable: fields.renewable,
    lease: fields.lease,
    ttl: fields.ttl,
    explicitMaxTtl: fields.explicit_max_ttl,
    period: fields.period,
    numUses: fields.num_uses,
    type: fields.type,
    entityAlias: fields.entity_alias,
    orphanEndpoint,
  });
}

function created(installation: Installation, auth: AuthReply, warnings: readonly string[]): Result<Reply, never> {
  const unknown = auth.tokenPolicies.filter((name) => !installation.hasPolicy(name));
  return ok({
    kind: "auth",
    auth,
    warnings: [...warnings, ...unknown.map((name) => `Policy ${JSON.stringify(name)} does not exist`)],
  });
}
