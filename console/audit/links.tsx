import { shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import { useTokenName } from "../use-names.ts";

/** Accessors of tokens. Keyed hashes have no page. */
const ACCESSOR = /^[\w-]{20,}$/;
/** Accessors of secret-ids, which have no page of their own. */
const SECRET_ID_ACCESSOR = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

interface TokenLinkProps {
  /** The accessor, or the keyed hash of a token without an accessor. */
  readonly accessor: string;
  readonly name?: string | undefined;
}

/** A link to a token of an event, alive or not, by its name; for a secret-id, its accessor as text. */
export function TokenLink({ accessor, name }: TokenLinkProps) {
  const isToken = ACCESSOR.test(accessor) && !SECRET_ID_ACCESSOR.test(accessor);
  const known = useTokenName(isToken && !name ? accessor : "");
  if (SECRET_ID_ACCESSOR.test(accessor)) return <span class="mono break">{accessor}</span>;
  if (!ACCESSOR.test(accessor)) return <span title={accessor}>{name || "a token without an accessor"}</span>;
  return (
    <a href={href(["tokens", accessor])} title={accessor}>
      {name || known || <span class="mono">{shortAccessor(accessor)}</span>}
    </a>
  );
}

/** A link to the page of a request. The id is never shortened, because events are found by the whole id only. */
export function RequestLink({ id }: { readonly id: string }) {
  return (
    <a class="mono break" href={href(["requests", id])}>
      {id}
    </a>
  );
}

/** A link to all events from an address. */
export function AddressLink({ address }: { readonly address: string }) {
  return (
    <a class="mono" href={href(["audit"], { address })}>
      {address}
    </a>
  );
}
