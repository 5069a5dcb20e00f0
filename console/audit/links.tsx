import { shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import { useTokenName } from "../use-names.ts";

/** Accessors of tokens. Keyed hashes have no page. */
const ACCESSOR = /^[\w-]{20,}$/;
/** Accessors of secret-ids, which a role is asked about. */
const SECRET_ID_ACCESSOR = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

interface TokenLinkProps {
  /** Its accessor, or the keyed hash of one without. */
  readonly accessor: string;
  readonly name?: string | undefined;
}

/** A token of an event, alive or not, by its name; of a secret-id its accessor. */
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

/**
 * The page of a request: who asked for what, and why it was refused. The id is shown whole everywhere: events are found
 * by the whole of it only.
 */
export function RequestLink({ id }: { readonly id: string }) {
  return (
    <a class="mono break" href={href(["requests", id])}>
      {id}
    </a>
  );
}

/** What else came from an address. */
export function AddressLink({ address }: { readonly address: string }) {
  return (
    <a class="mono" href={href(["audit"], { address })}>
      {address}
    </a>
  );
}
