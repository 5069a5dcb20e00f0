import { useState } from "preact/hooks";
import type { FoundText, Lease, Token } from "../../client/answers.d.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { counted } from "../format.ts";
import { href, pathOf } from "../href.ts";
import { FailingLeasesCard, useFailingLeases } from "../leases/failing.tsx";
import { Attempt } from "../leases/failures.tsx";
import { type FailureMark, failureMark, revocationTextOf, serviceOf } from "../leases/lease-text.ts";
import { needsOf } from "../needed-capabilities.ts";
import { ConfirmButton } from "../records/confirm.tsx";
import { type Answer, done } from "../result.ts";
import { go } from "../router.ts";
import { mayDo, useSession } from "../session.ts";
import { Metadata } from "../tokens/links.tsx";
import { nameOf } from "../tokens/token-name.ts";
import {
  Card,
  Empty,
  End,
  Facts,
  Loading,
  Notice,
  PageHead,
  Tabs,
  Time,
  UnknownValues,
  unknownIn,
  useLoad,
} from "../ui/index.ts";

/** Leases by the path that issued them, in folders, and the selected lease. */
export function LeasesPage({ query }: { readonly query: URLSearchParams }) {
  const { api } = useSession();
  const prefix = query.get("prefix") ?? "";
  const id = query.get("id") ?? "";
  // The server's list is updated only some time after a revocation.
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  const listPath = ["sys/leases/lookup", ...prefix.split("/").filter((part) => part !== "")];
  const [base = "", ...folders] = listPath;
  const names = useLoad(prefix, () => api.list(folders.length === 0 ? base : `${base}/${pathOf(...folders)}`));
  const held = (names.value ?? []).filter((name) => !gone.has(prefix + name));
  const failing = useFailingLeases();
  const known = failing.value?.leases ?? [];
  const isFailing = query.get("show") === "failing";
  return (
    <>
      <PageHead title="Leases" text={!isFailing && <Way prefix={prefix} />} />
      <Tabs
        label="Which leases"
        current={isFailing ? "failing" : "all"}
        tabs={[
          { name: "all", title: "By path", href: href(["leases"]) },
          {
            name: "failing",
            title: known.length === 0 ? "Failing" : `Failing (${known.length})`,
            href: href(["leases"], { show: "failing" }),
          },
        ]}
      />
      <UnknownValues names={unknownIn(query, { show: ["failing"] })} />
      {isFailing && <FailingLeasesCard failing={failing} />}
      {!isFailing && <Loading of={names} />}
      {!isFailing && (
        <div class="columns">
          {names.value && (
            <section class="card" aria-label="Leases">
              <header>
                <code class="break">{prefix || "all"}</code>
                <span class="muted number">{contentText(held)}</span>
              </header>
              {held.length === 0 ? (
                <Empty title="No leases here">
                  <p>A secret with a lease ends with the token that got it. Tokens of auth methods have leases too.</p>
                </Empty>
              ) : (
                <ul class="names">
                  {held.map((name) => (
                    <NameRow
                      key={name}
                      name={name}
                      prefix={prefix}
                      isShown={prefix + name === id}
                      mark={failureMark(prefix + name, known)}
                    />
                  ))}
                </ul>
              )}
            </section>
          )}
          {id !== "" && (
            <OneLease
              key={id}
              id={id}
              onRevoked={() => {
                setGone((before) => new Set([...before, id]));
                go(href(["leases"], { prefix }), "replace");
                names.reload();
                failing.reload();
              }}
            />
          )}
        </div>
      )}
    </>
  );
}

interface NameRowProps {
  /** A lease or a folder, without what is before it. */
  readonly name: string;
  readonly prefix: string;
  readonly isShown: boolean;
  readonly mark: FailureMark | null;
}

function NameRow({ name, prefix, isShown, mark }: NameRowProps) {
  const to = name.endsWith("/") ? { prefix: prefix + name } : { prefix, id: prefix + name };
  return (
    <li>
      <span class="beside">
        <a class="mono break" href={href(["leases"], to)} aria-current={isShown ? "true" : undefined}>
          {name}
        </a>
        {mark && <span class="tag bad">{mark.tag}</span>}
      </span>
      {mark && mark.error !== "" && <p class="small error break">{mark.error}</p>}
    </li>
  );
}

/** `1 folder, 2 leases`. */
function contentText(names: readonly string[]): string {
  const folders = names.filter((name) => name.endsWith("/")).length;
  const leases = names.length - folders;
  return [
    ...(folders > 0 ? [counted(folders, "folder")] : []),
    ...(leases > 0 || folders === 0 ? [counted(leases, "lease")] : []),
  ].join(", ");
}

/** The parent folders, as links. */
function Way({ prefix }: { readonly prefix: string }) {
  const folders = prefix.split("/").filter((part) => part !== "");
  return (
    <span class="break">
      <a href={href(["leases"])}>All</a>
      {folders.map((folder, at) => {
        const path = `${folders.slice(0, at + 1).join("/")}/`;
        return (
          <span key={path}>
            {" / "}
            <a href={href(["leases"], { prefix: path })}>{folder}</a>
          </span>
        );
      })}
    </span>
  );
}

function Holder({ token }: { readonly token: Token }) {
  return (
    <span class="row">
      <a href={href(["tokens", token.accessor])}>{nameOf(token)}</a>
      {Object.keys(token.metadata).length > 0 && <Metadata pairs={token.metadata} most={3} />}
    </span>
  );
}

/** The token that holds or held a lease; undefined when it is not known, or may not be read. */
function useHolder(id: string) {
  const session = useSession();
  const mayAsk = mayDo(session, ...needsOf(ASKED_PATHS.find));
  const found = useLoad(mayAsk ? id : "", async () => {
    if (!mayAsk) return done(null);
    const answer = await session.api.ask<FoundText>(ASKED_PATHS.find, { token: id });
    return answer.ok ? done(answer.value.token ?? null) : done(null);
  });
  return found.value ?? undefined;
}

function OneLease({ id, onRevoked }: { readonly id: string; readonly onRevoked: () => void }) {
  const { api } = useSession();
  const lookUp = () => api.ask<Lease>("sys/leases/lookup", { lease_id: id });
  const lease = useLoad(id, lookUp);
  const value = lease.value;
  const holder = useHolder(id);
  /** Returns true when the lease has ended but its target did not accept that: the page then shows the failure. */
  const revoke = async (): Promise<Answer<boolean>> => {
    const answer = await api.call("sys/leases/revoke", { body: { lease_id: id } });
    if (answer.ok) return done(false);
    const now = await lookUp();
    return now.ok && now.value.next_attempt !== undefined ? done(true) : answer;
  };
  // A lease is listed until its target has accepted the revocation, but can be looked up only while it is held.
  if (lease.problem?.status === 400) {
    return (
      <Card title="Lease" body>
        <Facts rows={{ Id: <code>{id}</code> }} />
        <Notice tone="warn" title="This lease has ended, or there is none">
          While it is listed, its revocation is on its way to its target. One that fails is shown here.
        </Notice>
      </Card>
    );
  }
  return (
    <Card
      of={lease}
      title="Lease"
      beside={
        value &&
        value.next_attempt === undefined && (
          <ConfirmButton
            label="Revoke…"
            needs={needsOf("sys/leases/revoke")}
            title="Revoke the lease"
            typing=""
            action="Revoke"
            send={revoke}
            onDone={(fails) => (fails === true ? lease.reload() : onRevoked())}
          >
            <p>{revocationTextOf(value.target)}</p>
          </ConfirmButton>
        )
      }
      body
    >
      {value?.next_attempt !== undefined && (
        <Notice tone="bad" title="It has ended, and its secret can still be used">
          <div class="stack tight">
            <Attempt
              failure={{ lease_id: id, error: value.revoke_error ?? "", next_attempt: value.next_attempt }}
              onTried={onRevoked}
            />
          </div>
        </Notice>
      )}
      {value && (
        <Facts
          rows={{
            Id: <code>{value.id}</code>,
            ...(holder && { "Held by": <Holder token={holder} /> }),
            ...(value.target !== undefined && {
              Service: <code>{serviceOf(value.id)}</code>,
              Target: <code>{value.target}</code>,
            }),
            Issued: <Time at={value.issue_time} both />,
            Renewed: value.last_renewal ? <Time at={value.last_renewal} both /> : "never",
            ...(value.next_attempt === undefined && {
              Ends: <End at={value.expire_time} both />,
              Renewable: value.renewable ? "yes" : "no",
            }),
          }}
        />
      )}
    </Card>
  );
}
