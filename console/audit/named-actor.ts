import type { Api } from "../api.ts";
import { listedName } from "../entity-names.ts";
import { href } from "../href.ts";
import { listedEntities } from "../read-names.ts";
import { listTokens } from "../tokens/token-api.ts";
import type { AskedTimes } from "./typed-question.ts";

/** The page with the events of an entity or a token, or the reason why no page is opened. */
type NamedActor = { readonly href: string; readonly problem: "" } | { readonly href: ""; readonly problem: string };

/**
 * Finds the entity with a name, otherwise the only live token with it. Returns null when no entity and no live token has
 * the name.
 */
export async function actorNamed(api: Api, name: string, times: AskedTimes): Promise<NamedActor | null> {
  const wanted = name.toLowerCase();
  const [id] = (await listedEntities(api)).find(([, entity]) => listedName(entity).toLowerCase() === wanted) ?? [];
  if (id !== undefined) return { href: href(["audit"], { entity_id: id, ...times }), problem: "" };
  const listed = await listTokens(api, { display_name: name, limit: 2 });
  const [token, another] = listed.ok ? listed.value.tokens : [];
  if (!token) return null;
  if (another) return { href: "", problem: "Several tokens have this name: type the accessor of one" };
  return { href: href(["audit"], { actor: token.accessor, ...times }), problem: "" };
}
