import type { Entity } from "../../client/answers.d.ts";
import { entityName } from "../entity-names.ts";
import { count } from "../format.ts";
import { href, pathOf } from "../href.ts";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { useLoad } from "../ui/index.ts";

/** Most names that are read, with one request each. */
const NAMED = 50;

/** A group has no aliases. */
type Named = Pick<Entity, "name"> & Partial<Pick<Entity, "aliases">>;

interface RelatedProps {
  readonly title: string;
  readonly part: "entities" | "groups";
  readonly ids: readonly string[];
}

/** Members of a group, or groups of an entity, as links with names. Renders nothing without any. */
export function Related({ title, part, ids }: RelatedProps) {
  const { api } = useSession();
  const kind = part === "entities" ? "entity" : "group";
  const asked = ids.slice(0, NAMED);
  const names = useLoad(asked.join(), async () => {
    const found = await Promise.all(
      asked.map(async (id) => {
        const answer = await api.read<Named | null>(`identity/${kind}/id/${pathOf(id)}`);
        const found = answer.ok ? answer.value : null;
        // An item that can't be read, or was deleted, is shown by its id.
        return [id, found ? entityName({ aliases: [], ...found }) : undefined] as const;
      }),
    );
    return done(new Map(found));
  });
  if (ids.length === 0) return null;
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="muted number">{count(ids.length)}</span>
      </header>
      <ul class="names">
        {asked.map((id) => {
          // While the names of new ids are loading, `names` still has those of the previous ids.
          const name = names.value?.get(id);
          return (
            <li key={id}>
              <a class={name === undefined ? "mono break" : "break"} href={href(["identity"], { part, id })} title={id}>
                {name ?? id}
              </a>
            </li>
          );
        })}
      </ul>
      {ids.length > NAMED && <p class="body small muted">And {count(ids.length - NAMED)} more.</p>}
    </section>
  );
}
