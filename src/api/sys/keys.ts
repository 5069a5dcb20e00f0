import { type Route, simpleRoute, tokenRoute } from "../../auth/route.ts";
import { injectedAnswer, NO_CONTENT } from "../../auth/route-description.ts";
import { currentTime, formatRfc3339 } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { changedOnce } from "../../base/lost-call-retry.ts";
import { ok, refuse } from "../../base/result.ts";
import { changeRotation, DEFAULT_ROTATION } from "../../system/automatic-rotation.ts";
import { rotateKeys } from "../../system/key-rotation.ts";
import { systemOf } from "../../system/system.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { count, duration, flag, sent } from "../../wire/fields.ts";
import { doneReply, injectedReply } from "../../wire/reply.ts";
import { changedReply } from "../change-reply.ts";

const ROTATION = fieldSchema({
  enabled: sent(flag(true)).describe("False: keys are never rotated automatically"),
  max_operations: sent(count()).describe("Number of uses of a term after which the next begins"),
  interval: sent(duration()).describe("Maximum time for which a term is used; 0: no limit"),
});

/** Rotation of the keys that seal values and hash tokens. The reference has each path twice. */
export const KEY_ROUTES: readonly Route[] = [
  simpleRoute("read", "sys/key-status", {
    summary: "Shows the terms of keys.",
    operationId: "status-encryption-key",
    answers: injectedAnswer({ term: "integer", install_time: "string", encryptions: "integer", terms: ["integer"] }),
    handle: async ({ env, installation }) => {
      const { terms } = installation.keys;
      const [{ version: term, installedAt }] = terms;
      const { encryptions } = await systemOf(env).keyUse(term);
      const versions = terms.map(({ version }) => version);
      return injectedReply({ term, install_time: formatRfc3339(installedAt), encryptions, terms: versions });
    },
  }),
  ...rotationRoutes("sys/rotate", "rotate-encryption-key", "rotate-config"),
  ...rotationRoutes("sys/rotate/keyring", "rotate-rotate-keyring", "rotate-keyring-config"),
];

function rotationRoutes(path: string, rotateId: string, configId: string): Route[] {
  return [
    simpleRoute("update", path, {
      summary: "Begins a new term of keys.",
      operationId: rotateId,
      answers: NO_CONTENT,
      handle: async ({ env }) => changedReply(env, await rotateKeys(env, currentTime())),
    }),
    simpleRoute("read", `${path}/config`, {
      summary: "Shows when keys are rotated automatically.",
      operationId: `read-${configId}`,
      answers: injectedAnswer({ enabled: "boolean", max_operations: "integer", interval: "any" }),
      handle: async ({ env, installation }) => {
        const { settings } = await systemOf(env).keyUse(installation.keys.terms[0].version);
        const { enabled, maxOperations, interval } = settings;
        const shown = interval === 0 ? 0 : formatDuration(interval);
        return injectedReply({ enabled, max_operations: maxOperations, interval: shown });
      },
    }),
    tokenRoute("update", `${path}/config`, {
      summary: "Sets when keys are rotated automatically.",
      operationId: `configure-${configId}`,
      answers: NO_CONTENT,
      input: ROTATION,
      prepare: async ({ fields: { enabled, max_operations: maxOperations, interval } }) => {
        const change = { enabled, maxOperations, interval };
        // Each setting has bounds of its own, so the check does not depend on the stored settings.
        const changed = changeRotation(DEFAULT_ROTATION, change);
        return changed.ok ? ok(change) : refuse(changed.error);
      },
      handle: async ({ env, prepared }) =>
        doneReply(await changedOnce(env, (attempt) => systemOf(env).configureRotation(prepared, attempt))),
    }),
  ];
}
