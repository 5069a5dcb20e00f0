import { readRoute } from "../../auth/record-routes.ts";
import { type Route, simpleRoute } from "../../auth/route.ts";
import { injectedAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { ok } from "../../base/result.ts";
import { rotateKeys } from "../../system/key-rotation.ts";
import { systemOf } from "../../system/system.ts";
import { count, fieldSchema, flag, NO_FIELDS, sent, sentDuration } from "../../wire/fields.ts";
import { doneReply, injectedReply } from "../../wire/reply.ts";
import { changedReply } from "../changed-reply.ts";

const ROTATION = fieldSchema({
  enabled: sent(flag(true)).describe("False: never"),
  max_operations: sent(count()).describe("Uses of a term after which the next begins"),
  interval: sentDuration().describe("How long a term is used at most; 0 for any time"),
});

/** Rotation of the keys under which values are sealed and tokens are hashed. Both spellings mean the same. */
export const KEY_ROUTES: readonly Route[] = [
  readRoute("sys/key-status", {
    summary: "Tells which term of the keys is used, since when and how often, and which older ones are kept.",
    operationId: "status-encryption-key",
    answers: injectedAnswer({
      term: "integer",
      install_time: "string",
      encryptions: "integer",
      terms: ["integer"],
    }),
    handle: async ({ env, installation }) => {
      const { terms, termBeganAt } = installation.keys;
      const term = terms[0].version;
      const { encryptions } = await systemOf(env).keyUse(term);
      return ok(
        injectedReply({
          term,
          install_time: formatRfc3339(termBeganAt),
          encryptions,
          terms: terms.map(({ version }) => version),
        }),
      );
    },
  }),

  ...(
    [
      ["sys/rotate", "rotate-encryption-key"],
      ["sys/rotate/keyring", "rotate-rotate-keyring"],
    ] as const
  ).map(([path, operationId]) =>
    simpleRoute("update", path, {
      summary: "Begins a new term of the keys under which values are sealed and tokens are hashed.",
      operationId,
      answers: NO_CONTENT,
      input: NO_FIELDS,
      handle: async ({ env }) => changedReply(env, await rotateKeys(env, currentTime())),
    }),
  ),

  ...(
    [
      ["sys/rotate/config", "rotate-config"],
      ["sys/rotate/keyring/config", "rotate-keyring-config"],
    ] as const
  ).flatMap(([path, name]) => [
    readRoute(path, {
      summary: "Shows when keys are rotated by themselves.",
      operationId: `read-${name}`,
      answers: injectedAnswer({ enabled: "boolean", max_operations: "integer", interval: "any" }),
      handle: async ({ env, installation }) => {
        const { settings } = await systemOf(env).keyUse(installation.keys.terms[0].version);
        const { enabled, maxOperations, interval } = settings;
        const shown = interval === 0 ? 0 : formatDuration(interval);
        return ok(injectedReply({ enabled, max_operations: maxOperations, interval: shown }));
      },
    }),

    simpleRoute("update", path, {
      summary: "Sets when keys are rotated by themselves.",
      operationId: `configure-${name}`,
      answers: NO_CONTENT,
      input: ROTATION,
      handle: async ({ env, fields }) => {
        const { enabled, max_operations: maxOperations, interval } = fields;
        return doneReply(await systemOf(env).configureRotation({ enabled, maxOperations, interval }));
      },
    }),
  ]),
];
