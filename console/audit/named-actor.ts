import { href } from "../href.ts";
import { matching } from "../search/search-result.ts";
import { namesOf } from "../search/searchable-names.ts";
import type { Session } from "../session.ts";
import { listTokens } from "../tokens/token-api.ts";
import type { AskedTimes } from "./typed-question.ts";

/** The page with the events of an entity or a token, or the reason why no page is opened. */
type NamedActor = { readonly href: string; readonly problem: "" } | { readonly href: ""; readonly problem: string };

/**
 * Finds the entity with a name, otherwise the only live token with it. Returns null when no entity and no live token has
 * the name.
 */
export async function actorNamed(session: Session, name: string, times: AskedTimes): Promise<NamedActor | null> {
  const entity = matching(await namesOf(session, Date.now()), name).find(
    (found) => found.kind === "Entities" && found.name.toLowerCase() === name.toLowerCase(),
  );
  const id = entity && new URLSearchParams(entity.href.split("?")[1]).get("id");
  if (id) return { href: href(["audit"], { entity_id: id, ...times }), problem: "" };
  const listed = await listTokens(session.api, { display_name: name, limit: 2 });
  const [token, another] = listed.ok ? listed.value.tokens : [];
  if (!token) return null;
  if (another) return { href: "", problem: "Several tokens have this name: type the accessor of one" };
  return { href: href(["audit"], { actor: token.accessor, ...times }), problem: "" };
}
