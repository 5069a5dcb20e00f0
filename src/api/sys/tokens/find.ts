import { type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { accessorTarget, outcomeOf, readTargetToken, tokenTarget } from "../../../auth/target.ts";
import { invalid } from "../../../base/errors.ts";
import { err, ok } from "../../../base/result.ts";
import { treeOf } from "../../../token/find-tree.ts";
import { strictSchema, text } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { mountNames, TOKEN_VIEW } from "./token-view.ts";

const NOT_FOUND = { code: "not_found" } as const;

/** `sys/tokens/find`: which token a text is that somebody has found. It is in the body: an address is seen by others. */
export const TOKEN_FIND_ROUTES: readonly Route[] = [
  tokenRoute(
    "update",
    "sys/tokens/find",
    {
      summary: "Which token a token's text, or an accessor, belongs to.",
      operationId: "inventory-find-token",
      answers: dataAnswer(TOKEN_VIEW.shape),
    },
    strictSchema({
      token: text().describe("The token."),
      accessor: text().describe("The accessor, in place of the token."),
    }),
    {
      async prepare(context) {
        const { token, accessor } = context.fields;
        if ((token === "") === (accessor === "")) return err(invalid("a token or an accessor says which is meant"));
        if (accessor !== "") return ok(await accessorTarget(context, accessor.trim()));
        const read = await readTargetToken(context, token);
        if (!read.ok) return read;
        return ok(read.value?.kind === "service" ? tokenTarget(read.value) : null);
      },
      async handle(context) {
        const { env, installation, prepared } = context;
        if (!prepared) return err(NOT_FOUND);
        const { treeId, target } = prepared;
        const outcome = await outcomeOf(context, { treeId, action: { kind: "lookup", target } });
        if (!outcome.ok || outcome.value.kind !== "token") return err(NOT_FOUND);
        const { row } = outcome.value.token;
        const [entry] = (await treeOf(env, treeId)?.describe([row])) ?? [];
        return entry
          ? ok(dataReply(TOKEN_VIEW.show({ token: { ...entry, id: row }, mounts: mountNames(installation) })))
          : err(NOT_FOUND);
      },
    },
  ),
];
