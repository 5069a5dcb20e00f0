import * as z from "zod";
import { type Route, simpleRoute } from "../../auth/route.ts";
import { TO_DESCRIBE } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { ok } from "../../base/result.ts";
import { refreshInstallation } from "../../system/installation.ts";
import { rotateKeys } from "../../system/key-rotation.ts";
import { systemOf } from "../../system/system.ts";
import { count, flag, sent, sentDuration } from "../../wire/fields.ts";
import { EMPTY } from "../../wire/reply.ts";

const NO_FIELDS = z.object({});

const ROTATION = z.object({
  enabled: sent(flag(true)),
  max_operations: sent(count()),
  interval: sentDuration(),
});

/** Rotation of the keys under which values are sealed and tokens are hashed. Both spellings mean the same. */
export const KEY_ROUTES: readonly Route[] = [
  simpleRoute("read", "sys/key-status", TO_DESCRIBE, NO_FIELDS, async ({ env, installation }) => {
    const { terms, termBeganAt } = installation.keys;
    const term = terms[0].version;
    const { encryptions } = await systemOf(env).keyUse(term);
    return ok({
      kind: "data",
      data: { term, install_time: new Date(termBeganAt).toISOString(), encryptions },
      inject: true,
    });
  }),

  ...["sys/rotate", "sys/rotate/keyring"].map((path) =>
    simpleRoute("update", path, TO_DESCRIBE, NO_FIELDS, async ({ env }) => {
      const rotated = await rotateKeys(env, currentTime());
      if (!rotated.ok) return rotated;
      const refreshed = await refreshInstallation(env);
      return refreshed.ok ? ok(EMPTY) : refreshed;
    }),
  ),

  ...["sys/rotate/config", "sys/rotate/keyring/config"].flatMap((path) => [
    simpleRoute("read", path, TO_DESCRIBE, NO_FIELDS, async ({ env, installation }) => {
      const { settings } = await systemOf(env).keyUse(installation.keys.terms[0].version);
      const { enabled, maxOperations, interval } = settings;
      return ok({
        kind: "data",
        data: { enabled, max_operations: maxOperations, interval: interval === 0 ? 0 : formatDuration(interval) },
        inject: true,
      });
    }),

    simpleRoute("update", path, TO_DESCRIBE, ROTATION, async ({ env, fields }) => {
      const { enabled, max_operations: maxOperations, interval } = fields;
      const configured = await systemOf(env).configureRotation({ enabled, maxOperations, interval });
      return configured.ok ? ok(EMPTY) : configured;
    }),
  ]),
];
