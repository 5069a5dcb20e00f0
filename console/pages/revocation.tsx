import { ASKED_PATHS } from "../asked-paths.ts";
import { href } from "../href.ts";
import { countedBefore } from "../receipts/counted-before.ts";
import { ExportRevocation } from "../receipts/export-revocation.tsx";
import { isCleaningUp, type KnownRevocation, readRevocation } from "../receipts/read-revocation.ts";
import { RevocationReceipt } from "../receipts/revocation-receipt.tsx";
import { DoneNotice } from "../records/done-notice.tsx";
import { mayDo, useSession } from "../session.ts";
import { EntityLink } from "../tokens/links.tsx";
import { Card, Empty, PageHead, useLoad, usePolling } from "../ui/index.ts";

const POLL_MS = 2_000;

/** The receipt of a request that ended all tokens of a path, of an entity, or since a time. */
export function RevocationPage({ request }: { readonly request: string }) {
  const session = useSession();
  const readsEvents = mayDo(session, ASKED_PATHS.audit, "read", "sudo");
  const found = useLoad(request, () =>
    readRevocation(session.api, ({ request_id: id }) => id === request, readsEvents),
  );
  const own = found.value;
  usePolling(own !== null && isCleaningUp(own), found.reload, POLL_MS);
  const isGone = own === null && !found.busy && !found.problem;
  return (
    <>
      <PageHead title="Revocation of many" text={<code class="break">{request}</code>} />
      <DoneNotice />
      {isGone ? (
        <Empty title="No revocation of all tokens of a path or an entity is kept under this request">
          <a href={href(["ended"], { request_id: request })}>What it ended</a>, as long as that is kept, and{" "}
          <a href={href(["requests", request])}>the request</a>.
        </Empty>
      ) : (
        <Card
          of={found}
          title={own ? <RevokedText revocation={own} /> : "Receipt"}
          beside={own && <ExportRevocation own={own} />}
        >
          {own && <RevocationReceipt own={own} before={countedBefore(request)} label="Tokens that were counted" />}
        </Card>
      )}
    </>
  );
}

/** What a revocation ended. */
function RevokedText({ revocation }: { readonly revocation: KnownRevocation }) {
  const { prefix, entity_id: entity, issued_since: since } = revocation;
  if (since !== undefined) return <>All issued from {since} to the restore</>;
  if (prefix !== undefined) return <span class="break">All tokens of {prefix}</span>;
  return <>All tokens of the entity {entity !== undefined && <EntityLink id={entity} />}</>;
}
