import { shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import { mountName } from "../methods/mount-paths.ts";
import { Tags } from "../ui/index.ts";
import { useEntityNames, useTokenName } from "../use-names.ts";
import type { Asker } from "./end.ts";

/** Policies as links to their texts; `root` has none. */
export function Policies({ names, most }: { readonly names: readonly string[]; readonly most: number }) {
  return <Tags names={names} most={most} hrefOf={(name) => (name === "root" ? undefined : href(["policies", name]))} />;
}

export function MethodLink({ mount }: { readonly mount: string }) {
  return (
    <a class="mono" href={href(["methods", mountName(mount)])}>
      {mount}
    </a>
  );
}

/** A role of a method, as a link to its page. */
export function RoleLink({ mount, role }: { readonly mount: string; readonly role: string }) {
  return <a href={href(["methods", mountName(mount)], { part: "roles", name: role })}>{role}</a>;
}

/** An entity by its name, or by its id when it can't be read. */
export function EntityLink({ id }: { readonly id: string }) {
  return (
    <a href={href(["identity"], { id })} title={id}>
      <EntityName id={id} />
    </a>
  );
}

/** The name of an entity, or its id when it can't be read. */
export function EntityName({ id }: { readonly id: string }) {
  const name = useEntityNames([id]).get(id);
  return name === undefined ? <span class="mono">{id}</span> : <span title={id}>{name}</span>;
}

/** Metadata pairs as links to the tokens that have them. */
export function Metadata({ pairs, most }: { readonly pairs: Readonly<Record<string, string>>; readonly most: number }) {
  const names = Object.entries(pairs).map(([key, value]) => `${key}=${value}`);
  return <Tags names={names} most={most} hrefOf={(pair) => href(["tokens"], { metadata: pair })} />;
}

/** The token or entity of a request, if one is recorded. */
export function AskedBy({ by }: { readonly by: Asker | null }) {
  return by ? <AskerLink {...by} /> : <span class="muted">no token is recorded</span>;
}

/** The token of a request, or its entity. */
function AskerLink({ accessor, display_name: name, entity_id: entity }: Asker) {
  const title = name || "token";
  if (accessor !== "") return <a href={href(["tokens", accessor])}>{title}</a>;
  return entity === "" ? <span>{title}</span> : <a href={href(["identity"], { id: entity })}>{title}</a>;
}

/** A token by its name, or by the end of its accessor when it can't be read. */
export function ParentLink({ parent }: { readonly parent: string }) {
  const name = useTokenName(parent);
  return (
    <a class={name === "" ? "mono" : undefined} href={href(["tokens", parent])} title={parent}>
      {name || shortAccessor(parent)}
    </a>
  );
}
