import type { CallContext } from "../../../auth/route.ts";
import type { Env } from "../../../env.ts";
import { readLeaseId } from "../../../lease/ids.ts";
import { lookupLease, standingInTree } from "../../../lease/lease-operations.ts";
import { removedLeases } from "../../../listing/inventory/queries.ts";
import type { StoredTarget } from "../../../token/actions.ts";
import { type AccessorCredential, readAccessor } from "../../../token/ids.ts";
import { type HeldUnrevoked, NONE_UNREVOKED } from "./unrevoked-leases.ts";

/** What is known of the id of a lease, and the token that holds it or held it. */
interface JudgedLease {
  readonly state: "live" | "ended";
  readonly message: string;
  /** The lease itself, as long as its secret can be used after its end. */
  readonly unrevoked?: HeldUnrevoked;
  readonly holder: { readonly address: AccessorCredential; readonly target: StoredTarget } | null;
}

/** In an address, more than the path of the lease stands before the end of its id. */
const OF_OTHER_PATH: JudgedLease = {
  state: "live",
  message:
    "The end of the id of a lease, after another path than that of the lease: give the whole id, and nothing else.",
  holder: null,
};

/** Says what the id of a secret's lease stands for; null for any other text. No secret is in the answer. */
export async function findLease(
  { env, installation, request }: Pick<CallContext, "env" | "installation" | "request">,
  text: string,
): Promise<JudgedLease | null> {
  const named = await readLeaseId(installation.keys, text);
  if (named?.kind !== "secret") return null;
  const found = await lookupLease(env, installation, text, request.notes);
  if (!found.ok) {
    const standing = await standingInTree(env, named);
    return standing === "path_differs" ? OF_OTHER_PATH : goneLease(env, text.slice(named.lease.path.length + 1));
  }
  const { error, nextAttemptAt, holder = "" } = found.value;
  const address = await readAccessor(installation.keys, holder);
  const by = address && { address, target: { by: "accessor", row: address.row, tail: address.tail } as const };
  if (nextAttemptAt === undefined) {
    return { state: "live", message: "The id of a lease that is held: it ends with its token.", holder: by };
  }
  const next = nextAttemptAt === null ? "the revocation was given up" : "the revocation is sent again";
  const message = `The id of a lease that has ended, and whose secret can still be used: ${error}; ${next}.`;
  const { path } = named.lease;
  const tail = text.slice(path.length + 1);
  const failure = { path, tail, token: address?.row ?? 0, accessor: holder, error: error ?? "", nextAttemptAt };
  const unrevoked = { waiting: 0, failing: 1, removed: 0, more: false, failures: [failure] };
  return { state: "ended", message, unrevoked, holder: by };
}

/** A lease that is not stored any more: it has ended, or was removed by force. */
async function goneLease(env: Env, tail: string): Promise<JudgedLease> {
  const [removed] = await removedLeases(env, { tails: [tail] });
  if (!removed) return { state: "ended", message: "The id of a lease that has ended.", holder: null };
  const message =
    "The id of a lease that was removed by force: its target did not accept the revocation, and its secret may still be used.";
  return { state: "ended", message, unrevoked: { ...NONE_UNREVOKED, removed: 1 }, holder: null };
}
