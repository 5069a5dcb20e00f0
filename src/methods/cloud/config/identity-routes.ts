import * as z from "zod";
import { type Route, simpleRoute, tokenRoute } from "../../../auth/route.ts";
import { TO_DESCRIBE } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import { dataReply, EMPTY } from "../../../wire/reply.ts";
import { cloudAuthOf } from "../mount.ts";
import { IDENTITY_FIELDS, readIdentityChange, renderIdentity } from "./identity.ts";

/** `config/identity`. It is always there: what was not written reads as its default. */
export const IDENTITY_ROUTES: readonly Route[] = [
  simpleRoute("read", "config/identity", TO_DESCRIBE, z.object({}), async (context) =>
    ok(dataReply(renderIdentity(await cloudAuthOf(context).readIdentity()))),
  ),

  tokenRoute("update", "config/identity", TO_DESCRIBE, IDENTITY_FIELDS, {
    prepare: async ({ fields }) => readIdentityChange(fields),
    async handle(context) {
      await cloudAuthOf(context).writeIdentity(context.prepared);
      return ok(EMPTY);
    },
  }),
];
