import type { Token } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { listedName } from "../entity-names.ts";
import { href } from "../href.ts";
import { listedEntities } from "../read-names.ts";
import { listTokens } from "../tokens/token-api.ts";
import type { AskedTimes } from "./typed-question.ts";

/** The page with the events of an entity or a token, or the reason why no page is opened. */
type NamedActor = { readonly href: string; readonly problem: "" } | { readonly href: ""; readonly problem: string };

/** The status of a refusal by the policies, after which other lists may still be read. */
const REFUSED = 403;

/** The store finds no event by a name: a name that is unknown must not look like one without events. */
const UNKNOWN_NAME =
  "No entity, live token or lately ended token that you may read has exactly this name, and the path of a request begins with auth, identity, sys and the like. The search (Ctrl K) finds parts of names, and teams; batch tokens by their text";

/**
 * Finds the entity with a name, otherwise the only live token with it, otherwise the only one that ended lately.
 *
 * @param endedNamed the tokens of this name that ended lately
 */
export async function actorNamed(
  api: Api,
  name: string,
  times: AskedTimes,
  endedNamed: () => Promise<readonly Token[]>,
): Promise<NamedActor> {
  const wanted = name.toLowerCase();
  const [id] = (await listedEntities(api)).find(([, entity]) => listedName(entity).toLowerCase() === wanted) ?? [];
  if (id !== undefined) return { href: href(["audit"], { entity_id: id, ...times }), problem: "" };
  const listed = await listTokens(api, { display_name: name, limit: 2 });
  if (!listed.ok && listed.problem.status !== REFUSED) return { href: "", problem: listed.problem.messages.join(" ") };
  const live = listed.ok ? listed.value.tokens : [];
  const [token, another] = live.length > 0 ? live : await endedNamed();
  if (!token) return { href: "", problem: UNKNOWN_NAME };
  if (another) return { href: "", problem: "Several tokens have this name: type the accessor of one" };
  return { href: href(["audit"], { actor: token.accessor, ...times }), problem: "" };
}
