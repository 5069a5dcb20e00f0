import { useState } from "preact/hooks";
import { bytes, count, counted, duration, shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import type { Problem } from "../result.ts";
import { useSession } from "../session.ts";
import { amountText, nameOf, type Token } from "../tokens/model.ts";
import { RevokeOne } from "../tokens/revoke-dialog.tsx";
import { readToken, type TokenDetail } from "../tokens/token.ts";
import { Tags } from "../ui/controls.tsx";
import { DataTable } from "../ui/data-table.tsx";
import { Icon } from "../ui/icons.tsx";
import { Notice, ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { End, Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";

/** One token: what it is, where it hangs, and what would go with it. */
export function TokenPage({ accessor }: { readonly accessor: string }) {
  const { api } = useSession();
  const detail = useLoad(accessor, () => readToken(api, accessor));
  const [asking, setAsking] = useState(false);
  const [revoked, setRevoked] = useState<TokenDetail | null>(null);

  if (revoked) {
    return (
      <>
        <PageHead title={nameOf(revoked.token)} />
        <Notice tone="good" title="Revoked">
          <p>{counted(revoked.descendants.count + 1, "token")} can't be used any more. Their rows are swept now.</p>
          <p>
            <a href={href([])}>Watch it go in the forest</a> or go <a href={href(["tokens"])}>to the tokens</a>.
          </p>
        </Notice>
      </>
    );
  }
  const value = detail.value;
  return (
    <>
      <PageHead title={value ? nameOf(value.token) : "Token"} text={<code class="break">{accessor}</code>}>
        {value && value.token.children > 0 && (
          <a class="button" href={href([], { tree: value.token.tree, token: accessor })}>
            <Icon name="forest" /> Show in the forest
          </a>
        )}
        {value && (
          <button type="button" class="button danger" onClick={() => setAsking(true)}>
            Revoke…
          </button>
        )}
      </PageHead>
      {detail.problem && <ProblemNotice problem={detail.problem} onRetry={detail.reload} />}
      {!value && detail.busy && <p class="muted">Loading…</p>}
      {value && <Detail detail={value} />}
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

function Detail({ detail }: { readonly detail: TokenDetail }) {
  const { token, descendants, leases, cubbyhole } = detail;
  return (
    <div class="stack">
      <section aria-label="What a revocation would take">
        <dl class="figures blast">
          <div>
            <dt>Would go with it</dt>
            <dd>
              {amountText(descendants)} <small>{descendants.count === 1 ? "token" : "tokens"} below</small>
            </dd>
          </div>
          <div>
            <dt>Leases</dt>
            <dd>{amountText(leases)}</dd>
          </div>
          <div>
            <dt>Cubbyhole</dt>
            <dd>
              {count(cubbyhole.values)}{" "}
              <small>
                {cubbyhole.values === 1 ? "value" : "values"}
                {cubbyhole.values > 0 && `, ${bytes(cubbyhole.bytes)}`}
              </small>
            </dd>
          </div>
          <div>
            <dt>Ends</dt>
            <dd class="end">
              <End at={token.expires} />
            </dd>
          </div>
        </dl>
      </section>
      <div class="columns">
        <div class="stack">
          <Lineage detail={detail} />
          {detail.held_leases.length > 0 && <HeldLeases leases={detail.held_leases} />}
        </div>
        <section class="card" aria-labelledby="token-facts">
          <header>
            <h2 id="token-facts">Token</h2>
          </header>
          <Facts token={token} />
        </section>
      </div>
    </div>
  );
}

/** What the token itself holds; a lease is revoked on its own page. */
function HeldLeases({ leases }: { readonly leases: TokenDetail["held_leases"] }) {
  return (
    <section class="card" aria-labelledby="token-leases">
      <header>
        <h2 id="token-leases">Leases that it holds</h2>
        <span class="muted number">{count(leases.length)}</span>
      </header>
      <DataTable
        label="Leases that it holds"
        rows={leases}
        keyOf={({ lease_id: id }) => id}
        columns={[
          {
            label: "Lease",
            cell: ({ lease_id: id }) => (
              <a class="mono" href={href(["leases"], { prefix: id.slice(0, id.lastIndexOf("/") + 1), id })} title={id}>
                {id}
              </a>
            ),
          },
          { label: "Ends", right: true, cell: ({ expire_time: at }) => <End at={at} /> },
        ]}
      />
    </section>
  );
}

function Facts({ token }: { readonly token: Token }) {
  const rows: readonly (readonly [string, preact.ComponentChildren])[] = [
    ["Policies", <Tags key="policies" names={token.policies} most={30} />],
    ["Method", <code key="mount">{token.mount}</code>],
    ["Role", token.role || "none"],
    ["Made at", <code key="path">{token.path}</code>],
    ["Created", <Time key="created" at={token.created} both />],
    ["Ends", <End key="ends" at={token.expires} both />],
    ["Renewed", token.renewed ? <Time key="renewed" at={token.renewed} both /> : "never"],
    ["Last used", token.last_used ? <Time key="used" at={token.last_used} both /> : "not known"],
    ["Uses left", token.uses_left > 0 ? `${count(token.uses_left)} of ${count(token.num_uses)}` : "no limit"],
    ["Period", token.period > 0 ? duration(token.period) : "none"],
    ["Longest life", token.explicit_max_ttl > 0 ? duration(token.explicit_max_ttl) : "that of its method"],
    ["Entity", token.entity_id ? <code key="entity">{token.entity_id}</code> : "none"],
    [
      "Tree",
      <a key="tree" class="mono" href={href(["tokens"], { tree: token.tree })}>
        {shortAccessor(token.tree)}
      </a>,
    ],
  ];
  return (
    <dl class="facts body">
      {rows.map(([name, value]) => (
        <>
          <dt key={`${name}-name`}>{name}</dt>
          <dd key={name}>{value}</dd>
        </>
      ))}
    </dl>
  );
}

/** The way from the root to the token, and the tokens right below it. */
function Lineage({ detail }: { readonly detail: TokenDetail }) {
  const { api } = useSession();
  const { token, ancestors, ancestors_more: cut } = detail;
  const [children, setChildren] = useState(detail.children);
  const [next, setNext] = useState(detail.children_next);
  const [problem, setProblem] = useState<Problem | null>(null);
  const more = async (): Promise<void> => {
    const answer = await readToken(api, token.accessor, next);
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return;
    setChildren([...children, ...answer.value.children]);
    setNext(answer.value.children_next);
  };
  return (
    <section class="card" aria-labelledby="token-lineage">
      <header>
        <h2 id="token-lineage">Lineage</h2>
        <span class="muted number">{counted(token.children, "child").replace("childs", "children")}</span>
      </header>
      <ol class="lineage">
        {cut && <li class="muted">more above</li>}
        {ancestors.map((one, at) => (
          <Relative key={one.accessor} token={one} depth={at} />
        ))}
        <li class="self" style={{ "--depth": String(ancestors.length) }}>
          <strong>{nameOf(token)}</strong> <span class="muted">this token</span>
        </li>
        {children.map((one) => (
          <Relative key={one.accessor} token={one} depth={ancestors.length + 1} />
        ))}
        {next !== "" && (
          <li style={{ "--depth": String(ancestors.length + 1) }}>
            <button type="button" class="button slim" onClick={more}>
              Show more children
            </button>
          </li>
        )}
        {token.children === 0 && (
          <li class="muted" style={{ "--depth": String(ancestors.length + 1) }}>
            nothing below
          </li>
        )}
      </ol>
      {problem && <ProblemNotice problem={problem} />}
    </section>
  );
}

function Relative({ token, depth }: { readonly token: Token; readonly depth: number }) {
  return (
    <li style={{ "--depth": String(depth) }}>
      <a href={href(["tokens", token.accessor])}>{nameOf(token)}</a>
      <span class="muted small number">
        {token.children > 0 && `${count(token.children)} below · `}
        <End at={token.expires} />
      </span>
    </li>
  );
}
