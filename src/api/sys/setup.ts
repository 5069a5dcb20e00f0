import { beginSetup, finishSetup } from "../../auth/initialize.ts";
import { openRoute, type Route, tokenRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { isOfSetup } from "../../auth/setup.ts";
import { err, type Failure, okUnless } from "../../base/result.ts";
import { fieldSchema } from "../../wire/field-schema.ts";
import { flag } from "../../wire/fields.ts";
import { dataReply } from "../../wire/reply.ts";
import { isInitToken } from "./init.ts";

const NEEDS_INIT_TOKEN: Failure = {
  code: "forbidden",
  message: "a declared start needs the secret GROVE_INIT_TOKEN of this deployment, set and sent as the token",
};

/**
 * The start of an installation from a file, instead of `sys/init`: what the file declares is written with the setup
 * token, through the same endpoints as by any client, before any other request is served. The reference reads such a file
 * itself.
 */
export const SETUP_ROUTES: readonly Route[] = [
  openRoute("update", "sys/init/begin", {
    summary: "Begins or continues a declared start, and returns the setup token.",
    operationId: "begin-declared-start",
    answers: dataAnswer({ setup_token: "string" }),
    handle: async ({ env, request, loaded }) => {
      if (!isInitToken(env, request.token)) return err(NEEDS_INIT_TOKEN);
      const token = await beginSetup(env, loaded);
      return token.ok ? dataReply({ setup_token: token.value }) : token;
    },
  }),

  tokenRoute("update", "sys/init/finish", {
    summary: "Finishes a declared start and ends the setup token.",
    operationId: "finish-declared-start",
    answers: dataAnswer({ root_token: "string" }),
    input: fieldSchema({ root_token: flag(false).describe("True: a root token is made; else none is left") }),
    prepare: async ({ presented }) => okUnless(isOfSetup(presented) ? null : "no declared start is under way", null),
    handle: async ({ env, installation, caller, fields }) => {
      const finished = await finishSetup(env, installation, caller.accessor, fields.root_token);
      return finished.ok ? dataReply({ root_token: finished.value }) : finished;
    },
  }),
];
