import { mountOf } from "../../../auth/mount-of.ts";
import { type Route, simpleRoute } from "../../../auth/route.ts";
import { KEYS, type RouteDescription } from "../../../auth/route-description.ts";
import { ok } from "../../../base/result.ts";
import type { Env } from "../../../env.ts";
import type { Mount } from "../../../system/mount.ts";
import { fieldSchema } from "../../../wire/fields.ts";
import { PAGE } from "../../../wire/page.ts";
import type { CloudAuth } from "../mount/cloud-auth.ts";
import { cloudAuthOf } from "../mount/mount.ts";

/** The mount that is asked. */
interface MountAt {
  readonly env: Env;
  readonly mount: Mount;
}

/** Names that one answer holds at most. */
const MAX_NAMES = 10_000;

/**
 * An endpoint that lists names in order. The next page begins after the last name of the one before, so a list that
 * changes meanwhile is neither skipped nor repeated.
 */
export function listRoute(
  path: string,
  { summary, operationId }: Pick<RouteDescription, "summary" | "operationId">,
  names: (auth: DurableObjectStub<CloudAuth>, after: string, limit: number, at: MountAt) => Promise<string[]>,
): Route {
  return simpleRoute("list", path, { summary, operationId, answers: KEYS }, fieldSchema(PAGE), async (context) => {
    const { fields } = context;
    const asked = fields.limit;
    const limit = asked > 0 ? Math.min(asked, MAX_NAMES) : MAX_NAMES;
    const found = await names(cloudAuthOf(context), fields.after, limit + 1, {
      env: context.env,
      mount: mountOf(context),
    });
    const data = { keys: found.slice(0, limit) };
    const cut = found.length > limit && (asked <= 0 || asked > MAX_NAMES);
    return ok({ kind: "data", data, ...(cut && { warnings: [CUT] }) });
  });
}

const CUT = `There are more than ${MAX_NAMES} names; ask for the next ones with after=<the last name of this answer>`;
