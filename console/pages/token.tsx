import { useState } from "preact/hooks";
import type { TokenDetail } from "../../client/answers.d.ts";
import { TokenOrigin, TokenTimeline } from "../audit/token-timeline.tsx";
import { useEvents } from "../audit/use-events.ts";
import { bytes, count, counted } from "../format.ts";
import { href } from "../href.ts";
import { heldUntil, leaseHref } from "../leases/lease-text.ts";
import { needsOf } from "../needed-capabilities.ts";
import { CheckAgain } from "../receipts/check-again.tsx";
import { verifyEndOf } from "../receipts/read-receipt.ts";
import { useSession } from "../session.ts";
import { amountText, descendantsNoun } from "../tokens/amount.ts";
import { EndedTokenPage } from "../tokens/ended-token.tsx";
import { Lineage } from "../tokens/lineage.tsx";
import { RevokeOne } from "../tokens/revoke-dialog.tsx";
import { readTokenOrEnd } from "../tokens/token-api.ts";
import { TokenFacts } from "../tokens/token-facts.tsx";
import { titleOf } from "../tokens/token-name.ts";
import {
  Accessor,
  AllowedButton,
  Card,
  DataTable,
  End,
  Figures,
  Icon,
  Loading,
  Notice,
  PageHead,
  useLoad,
} from "../ui/index.ts";

/** One token: its facts, its lineage, and what its revocation would end; or how it has ended. */
export function TokenPage({ accessor }: { readonly accessor: string }) {
  const { api } = useSession();
  const detail = useLoad(accessor, () => readTokenOrEnd(api, accessor));
  const [asking, setAsking] = useState(false);
  const [revoked, setRevoked] = useState<TokenDetail | null>(null);

  if (revoked) {
    return (
      <>
        <PageHead title={titleOf(revoked.token)} />
        <div class="stack">
          <Notice tone="good" title="Revoked">
            <p>{endedText(revoked)} can't be used any more. Their rows are swept now.</p>
            <p>
              <a href={href([])}>Watch it go in the forest</a> or go <a href={href(["tokens"])}>to the tokens</a>.
            </p>
          </Notice>
          <WhatEnded detail={revoked} />
        </div>
      </>
    );
  }
  if (detail.value && "ended" in detail.value) return <EndedTokenPage {...detail.value} />;
  const value = detail.value;
  return (
    <>
      <PageHead title={value ? titleOf(value.token) : "Token"} text={<Accessor value={accessor} whole />}>
        {value && (
          <a class="button" href={href(["policies"], { accessor })}>
            <Icon name="policy" /> What may it do?
          </a>
        )}
        {value && value.token.children > 0 && (
          <a class="button" href={href([], { tree: value.token.tree, token: accessor })}>
            <Icon name="forest" /> Show in the forest
          </a>
        )}
        {value && (
          <AllowedButton
            look="button danger"
            needs={needsOf("auth/token/revoke-accessor")}
            onClick={() => setAsking(true)}
          >
            Revoke…
          </AllowedButton>
        )}
      </PageHead>
      <Loading of={detail} />
      {value && <Detail detail={value} />}
      {detail.problem && <Unknown accessor={accessor} />}
      {asking && value && (
        <RevokeOne
          detail={value}
          onClose={() => setAsking(false)}
          onRevoked={() => {
            setAsking(false);
            setRevoked(value);
          }}
        />
      )}
    </>
  );
}

const endedText = ({ descendants: { count, more } }: TokenDetail): string =>
  `${more ? "More than " : ""}${counted(count + 1, "token")}`;

/** What the trees answer about a revoked token and its descendants. */
function WhatEnded({ detail: { token, descendants, leases } }: { readonly detail: TokenDetail }) {
  const { api } = useSession();
  const { accessor } = token;
  const list = <a href={href(["ended"], { cause: accessor })}>All that ended with it</a>;
  return (
    <Card title="What ended" beside={list}>
      <CheckAgain
        total={descendants.count + 1}
        isLeast={descendants.more}
        leases={leases}
        ask={(after) => verifyEndOf(api, accessor, after)}
        first="until swept"
      />
    </Card>
  );
}

function Detail({ detail }: { readonly detail: TokenDetail }) {
  const { token, descendants, leases, cubbyhole } = detail;
  const pages = useEvents({ accessor: token.accessor });
  return (
    <div class="stack">
      <section aria-label="What a revocation would take">
        <Figures
          isWarning={descendants.count > 0}
          rows={{
            "Would go with it":
              descendants.count === 0 ? (
                <small>nothing below it</small>
              ) : (
                <>
                  {amountText(descendants)} <small>{descendantsNoun(descendants)}</small>
                </>
              ),
            Leases: amountText(leases),
            Cubbyhole: (
              <>
                {count(cubbyhole.values)}{" "}
                <small>
                  {cubbyhole.values === 1 ? "value" : "values"}
                  {cubbyhole.values > 0 && `, ${bytes(cubbyhole.bytes)}`}
                </small>
              </>
            ),
            Ends: (
              <span class="end">
                <End at={token.expires} />
              </span>
            ),
          }}
        />
      </section>
      <div class="columns">
        <div class="stack">
          <Lineage detail={detail} />
          {detail.held_leases.length > 0 && <HeldLeases leases={detail.held_leases} ends={token.expires} />}
          <TokenTimeline accessor={token.accessor} pages={pages} end={null} />
        </div>
        <div class="stack">
          <Card title="Token">
            <TokenFacts token={token} />
          </Card>
          <TokenOrigin accessor={token.accessor} pages={pages} />
        </div>
      </div>
    </div>
  );
}

/** The events of a token that is not stored any more. */
function Unknown({ accessor }: { readonly accessor: string }) {
  const pages = useEvents({ accessor });
  return (
    <div class="columns">
      <div class="stack">
        <TokenTimeline accessor={accessor} pages={pages} end={null} />
      </div>
      <div class="stack">
        <TokenOrigin accessor={accessor} pages={pages} />
      </div>
    </div>
  );
}

/** Leases of the token itself; a lease is revoked on its own page. */
function HeldLeases({ leases, ends }: { readonly leases: TokenDetail["held_leases"]; readonly ends: string | null }) {
  return (
    <Card title="Leases that it holds" beside={<span class="muted number">{count(leases.length)}</span>}>
      <DataTable
        label="Leases that it holds"
        rows={leases}
        keyOf={({ lease_id: id }) => id}
        columns={[
          {
            label: "Lease",
            cell: ({ lease_id: id }) => (
              <a class="mono" href={leaseHref(id)} title={id}>
                {id}
              </a>
            ),
          },
          { label: "Ends", right: true, cell: ({ expire_time: at }) => <End at={heldUntil(at, ends)} /> },
        ]}
      />
    </Card>
  );
}
