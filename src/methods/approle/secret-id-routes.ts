import { originOfCaller } from "../../auth/caller.ts";
import { listRoute } from "../../auth/record-routes.ts";
import { type CallContext, mountOf, type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { BEGUN, dataAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { changedOnce } from "../../base/lost-call-retry.ts";
import { NOT_FOUND, ok, okUnless, type Result, refuse } from "../../base/result.ts";
import { mountTtl } from "../../system/mount.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { pairs, text } from "../../wire/fields.ts";
import { PAGE } from "../../wire/pagination.ts";
import { dataReply, doneReply, EMPTY, type Reply, tidyReply } from "../../wire/reply.ts";
import { type AppRole, NO_ROLE } from "./role.ts";
import { appRoleAuthOf, roleNameOf } from "./role-copies.ts";
import { ROLE_PATH } from "./role-routes.ts";
import {
  MAX_SECRET_ID,
  planSecretId,
  SECRET_ID_FIELDS,
  SECRET_ID_VIEW,
  type SecretId,
  type SecretIdFields,
  secretIdProblem,
} from "./secret-id.ts";
import {
  firstShardAfter,
  newAccessor,
  placeOfSecretId,
  SECRET_ID_SHARDS,
  secretIdShardAt,
  secretIdShardsOf,
  shardOfAccessor,
} from "./secret-id-shards.ts";

const NEW_SECRET_ID = dataAnswer({
  secret_id: "string",
  secret_id_accessor: "string",
  secret_id_num_uses: "integer",
  secret_id_ttl: "integer",
});

const PATH = `${ROLE_PATH}/secret-id`;
const ACCESSOR_PATH = `${ROLE_PATH}/secret-id-accessor`;

function roleOf(context: CallContext): Promise<AppRole | null> {
  return appRoleAuthOf(context).readRole(roleNameOf(context));
}

/** Makes a secret-id of the role of a path. */
async function makeSecretId(context: CallContext, fields: SecretIdFields, secretId: string): Promise<Result<Reply>> {
  const now = currentTime();
  const role = await roleOf(context);
  if (!role) return NO_ROLE;
  const mount = mountOf(context);
  const { shard, hash } = await placeOfSecretId(context.installation.keys, mount, role, secretId);
  const planned = planSecretId(role, fields, newAccessor(shard), mountTtl(mount), now);
  if (!planned.ok) return planned;
  const { accessor, usesLeft, ttl } = planned.value;
  const registered = await changedOnce(context.env, (attempt) =>
    secretIdShardAt(context.env, mount, shard).register(role.id, hash, planned.value, now, attempt),
  );
  if (!registered.ok) return registered;
  context.request.notes.targetAccessor = accessor;
  return dataReply({
    secret_id: secretId,
    secret_id_accessor: accessor,
    secret_id_num_uses: usesLeft,
    secret_id_ttl: ttl,
  });
}

/** Defines an endpoint that takes the text of a secret-id of the role of its path. */
function byText(
  operation: "update" | "delete",
  path: string,
  declared: {
    readonly summary: string;
    readonly operationId: string;
    readonly answers: typeof NO_CONTENT | (typeof NO_CONTENT)[];
    handle(
      context: CallContext,
      at: { shard: ReturnType<typeof secretIdShardAt>; role: string; hash: string },
    ): Promise<Result<Reply>>;
  },
): Route {
  const { handle, ...description } = declared;
  return tokenRoute(operation, path, {
    ...description,
    input: fieldSchema({ secret_id: text().describe("The secret-id") }),
    prepare: async ({ fields }) => okUnless(textProblem(fields.secret_id), null),
    handle: async (context) => {
      const role = await roleOf(context);
      if (!role) return NO_ROLE;
      const mount = mountOf(context);
      const secretId = context.fields.secret_id.trim();
      const { shard, hash } = await placeOfSecretId(context.installation.keys, mount, role, secretId);
      return handle(context, { shard: secretIdShardAt(context.env, mount, shard), role: role.id, hash });
    },
  });
}

function textProblem(secretId: string): string | null {
  if (secretId.trim() === "") return "missing secret_id";
  return secretId.length > MAX_SECRET_ID ? `secret_id is longer than ${MAX_SECRET_ID} characters` : null;
}

/** Defines an endpoint that takes the accessor of a secret-id of the role of its path. 404 for an unknown accessor. */
function byAccessor(
  operation: "update" | "delete",
  path: string,
  declared: {
    readonly summary: string;
    readonly operationId: string;
    readonly answers: typeof NO_CONTENT;
    handle(
      context: CallContext,
      at: { shard: ReturnType<typeof secretIdShardAt>; role: string; accessor: string },
    ): Promise<Result<Reply>>;
  },
): Route {
  const { handle, ...description } = declared;
  return tokenRoute(operation, path, {
    ...description,
    input: fieldSchema({ secret_id_accessor: text().describe("The accessor of the secret-id") }),
    prepare: async ({ fields }) =>
      okUnless(fields.secret_id_accessor === "" ? "missing secret_id_accessor" : null, null),
    handle: async (context) => {
      const role = await roleOf(context);
      if (!role) return NO_ROLE;
      const { secret_id_accessor: accessor } = context.fields;
      const shard = shardOfAccessor(accessor);
      if (shard === null) return NOT_FOUND;
      const at = { shard: secretIdShardAt(context.env, mountOf(context), shard), role: role.id, accessor };
      const done = await handle(context, at);
      // Any other text is not logged: it may be a secret that was sent by mistake.
      if (done.ok) context.request.notes.targetAccessor = accessor;
      return done;
    },
  });
}

const LOOK_UP = dataAnswer(SECRET_ID_VIEW.shape);

const DESTROY = (["update", "delete"] as const).flatMap((operation) => [
  byText(operation, `${PATH}/destroy`, {
    summary: "Destroys a secret-id.",
    operationId: operation === "update" ? "destroy-secret-id" : "destroy-secret-id2",
    answers: NO_CONTENT,
    handle: async ({ env, caller, request }, { shard, role, hash }) => {
      const asked = originOfCaller(caller, request);
      const destroyed: Result<unknown> = await changedOnce(env, (attempt) => shard.destroy(role, hash, asked, attempt));
      return doneReply(destroyed);
    },
  }),
  byAccessor(operation, `${ACCESSOR_PATH}/destroy`, {
    summary: "Destroys the secret-id with an accessor.",
    operationId: operation === "update" ? "destroy-secret-id-by-accessor" : "destroy-secret-id-by-accessor2",
    answers: NO_CONTENT,
    handle: async ({ env, caller, request }, { shard, role, accessor }) => {
      const asked = originOfCaller(caller, request);
      const destroyed: Result<unknown> = await changedOnce(env, (attempt) =>
        shard.destroyByAccessor(role, accessor, asked, attempt),
      );
      return doneReply(destroyed);
    },
  }),
]);

const FOUND_PAGE = 100;
const MAX_FOUND = 1_000;
/** Calls to shards that one search makes. */
const MAX_CALLS = 32;

const FIND_FIELDS = fieldSchema({
  metadata: pairs().describe("Metadata that the secret-ids have, with others"),
  ...PAGE,
});

/** Finds secret-ids by their metadata. Reads a bounded number of rows, and returns where to continue. */
const FIND = tokenRoute("update", `${PATH}/find`, {
  summary: "Finds secret-ids of a role by their metadata.",
  operationId: "find-secret-ids",
  answers: dataAnswer({ keys: ["string"], key_info: { "*": SECRET_ID_VIEW.shape }, next: "string" }),
  input: FIND_FIELDS,
  prepare: async ({ fields: { metadata } }) => {
    const wanted = metadata ?? {};
    return Object.keys(wanted).length === 0 ? refuse("missing metadata") : ok(wanted);
  },
  async handle(context) {
    const role = await roleOf(context);
    if (!role) return NO_ROLE;
    const { after, limit: asked } = context.fields;
    const limit = Math.min(asked > 0 ? asked : FOUND_PAGE, MAX_FOUND);
    const now = currentTime();
    const found: SecretId[] = [];
    let from = after;
    let shard = firstShardAfter(after);
    for (let calls = 0; calls < MAX_CALLS && shard < SECRET_ID_SHARDS && found.length < limit; calls++) {
      const object = secretIdShardAt(context.env, mountOf(context), shard);
      const page = await object.search(role.id, context.prepared, from, limit - found.length, now);
      found.push(...page.found);
      if (page.next === null) shard++;
      // The first text of the next shard is greater than any of this one.
      from = page.next ?? shard.toString(16);
    }
    const next = shard < SECRET_ID_SHARDS ? from : "";
    const shown = Object.fromEntries(found.map((one) => [one.accessor, SECRET_ID_VIEW.show(one)]));
    return dataReply({ keys: found.map(({ accessor }) => accessor), key_info: shown, next });
  },
});

/** Endpoints of secret-ids. */
export const SECRET_ID_ROUTES: readonly Route[] = [
  tokenRoute("update", PATH, {
    summary: "Makes a secret-id; only this answer shows it.",
    operationId: "write-secret-id",
    answers: NEW_SECRET_ID,
    input: fieldSchema(SECRET_ID_FIELDS),
    prepare: async ({ fields }) => okUnless(secretIdProblem(fields), null),
    handle: (context) => makeSecretId(context, context.fields, crypto.randomUUID()),
  }),
  tokenRoute("update", `${ROLE_PATH}/custom-secret-id`, {
    summary: "Makes a secret-id with a text of the caller.",
    operationId: "write-custom-secret-id",
    answers: NEW_SECRET_ID,
    input: fieldSchema({ secret_id: text().describe("The secret-id"), ...SECRET_ID_FIELDS }),
    prepare: async ({ fields }) => okUnless(textProblem(fields.secret_id) ?? secretIdProblem(fields), null),
    handle: (context) => makeSecretId(context, context.fields, context.fields.secret_id.trim()),
  }),
  listRoute(PATH, {
    summary: "Lists the accessors of the secret-ids of a role.",
    operationId: "list-secret-ids",
    names: async (context, after, limit) => {
      const role = await roleOf(context);
      if (!role) return [];
      const shards = secretIdShardsOf(context.env, mountOf(context));
      const now = currentTime();
      const accessors: string[] = [];
      // Accessors begin with the number of their shard, so the shards in order give the accessors in order.
      for (const shard of shards.slice(firstShardAfter(after))) {
        if (accessors.length >= limit) break;
        accessors.push(...(await shard.list(role.id, after, limit - accessors.length, now)));
      }
      return accessors;
    },
  }),
  byText("update", `${PATH}/lookup`, {
    summary: "Shows a secret-id; 204 when there is none.",
    operationId: "look-up-secret-id",
    answers: [LOOK_UP, NO_CONTENT],
    handle: async ({ request }, { shard, role, hash }) => {
      const secretId = await shard.find(role, hash, currentTime());
      if (secretId) request.notes.targetAccessor = secretId.accessor;
      return secretId ? dataReply(SECRET_ID_VIEW.show(secretId)) : ok(EMPTY);
    },
  }),
  byAccessor("update", `${ACCESSOR_PATH}/lookup`, {
    summary: "Shows the secret-id with an accessor.",
    operationId: "look-up-secret-id-by-accessor",
    answers: LOOK_UP,
    handle: async (_, { shard, role, accessor }) => {
      const secretId = await shard.findByAccessor(role, accessor, currentTime());
      return secretId ? dataReply(SECRET_ID_VIEW.show(secretId)) : NOT_FOUND;
    },
  }),
  ...DESTROY,
  FIND,
  simpleRoute("update", "tidy/secret-id", {
    summary: "Removes the secret-ids that have ended.",
    operationId: "tidy-secret-id",
    answers: BEGUN,
    handle: async (context) => {
      const now = currentTime();
      await Promise.all(secretIdShardsOf(context.env, mountOf(context)).map((shard) => shard.removeEnded(now)));
      return tidyReply(true);
    },
  }),
];
