import { shortAccessor } from "../format.ts";
import { href } from "../href.ts";

/** Accessors of tokens. Keyed hashes have no page. */
const ACCESSOR = /^[\w-]{20,}$/;
/** Accessors of secret-ids, which a role is asked about. */
const SECRET_ID_ACCESSOR = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Characters of a short id. */
const SHORT_ID = 8;

interface TokenLinkProps {
  /** Its accessor, or the keyed hash of one without. */
  readonly accessor: string;
  readonly name?: string | undefined;
}

/** A token of an event, alive or not, by its name; of a secret-id its accessor. */
export function TokenLink({ accessor, name }: TokenLinkProps) {
  if (SECRET_ID_ACCESSOR.test(accessor)) return <span class="mono break">{accessor}</span>;
  if (!ACCESSOR.test(accessor)) return <span title={accessor}>{name || "a token without an accessor"}</span>;
  return (
    <a href={href(["tokens", accessor])} title={accessor}>
      {name || <span class="mono">{shortAccessor(accessor)}</span>}
    </a>
  );
}

interface RequestLinkProps {
  readonly id: string;
  /** True where there is little room: the beginning of the id. */
  readonly isShort?: boolean;
}

/** The page of a request: who asked for what, and why it was refused. */
export function RequestLink({ id, isShort = false }: RequestLinkProps) {
  return (
    <a class="mono break" href={href(["requests", id])} title={isShort ? id : undefined}>
      {isShort ? id.slice(0, SHORT_ID) : id}
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
