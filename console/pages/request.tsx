import type { ComponentChildren } from "preact";
import type { AuditEvent } from "../audit/event.ts";
import { madeOf } from "../audit/event-kind.ts";
import { EventKindTag } from "../audit/event-text.tsx";
import { isLogin } from "../audit/explain-request.ts";
import { AddressLink, TokenLink } from "../audit/links.tsx";
import { LoginText } from "../audit/login-text.tsx";
import { MissingEvent } from "../audit/missing-event.tsx";
import { readEvents } from "../audit/read-events.ts";
import { endsAllOfPath, revocationOf } from "../audit/revocation-event.ts";
import { RevocationText } from "../audit/revocation-text.tsx";
import { useJobs } from "../audit/use-jobs.ts";
import { WhyRefused } from "../audit/why-refused.tsx";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { EntityLink, Metadata, Policies } from "../tokens/links.tsx";
import { Card, Facts, PageHead, Time, useLoad } from "../ui/index.ts";

/** A request by its id: who asked for what, the result, and why it was refused. */
export function RequestPage({ id }: { readonly id: string }) {
  const { api } = useSession();
  const found = useLoad(id, () => readEvents(api, { request_id: id, limit: 1 }));
  const event = found.value?.events[0];
  return (
    <>
      <PageHead title="Request" text={<code class="break">{id}</code>}>
        <a class="button" href={href(["audit"])}>
          To the audit log
        </a>
      </PageHead>
      <MissingEvent id={id} found={found} isFound={event !== undefined} />
      {event && <Found event={event} />}
    </>
  );
}

function Found({ event }: { readonly event: AuditEvent }) {
  const { time, operation, path, status, error, client_address: address, target_accessor: target, principal } = event;
  const entities = event.target_entities ?? [];
  const made = madeOf(event);
  const revocation = revocationOf(event);
  const jobs = useJobs([event]);
  return (
    <div class="columns">
      <div class="stack">
        <Card title="What was asked" beside={<EventKindTag event={event} of="" />} body>
          <Facts
            rows={{
              When: <Time at={time} both />,
              Login: isLogin(event) && (
                <p>
                  <LoginText login={event} />
                </p>
              ),
              Operation: !isLogin(event) && operation,
              Path: path !== undefined && <code>{path}</code>,
              Answer: status,
              Revocation: revocation && (status ?? 0) < 400 && (
                <p>
                  <RevocationText noted={revocation} jobs={jobs} />
                </p>
              ),
              "What it ended": endsAllOfPath(event) && (
                <a href={href(["revocations", event.request_id ?? ""])}>all tokens of a path, with a receipt</a>
              ),
              Error: error,
              From: address ? <AddressLink address={address} /> : <span class="muted">not known</span>,
              "Token that it was about": target !== undefined && <TokenLink accessor={target} />,
              "Entity that it was about": entities.length > 0 && entities.map((id) => <EntityLink key={id} id={id} />),
              "Token that it made": made !== "" && (
                <TokenLink accessor={made} name={event.response?.auth?.display_name} />
              ),
              "Proved identity": principal,
            }}
          />
        </Card>
        {(status ?? 0) >= 400 && <WhyRefused event={event} />}
      </div>
      <Card title="Who asked">
        <Facts body rows={whoAsked(event)} />
      </Card>
    </div>
  );
}

function whoAsked({ auth }: AuditEvent): Readonly<Record<string, ComponentChildren>> {
  if (!auth) return { Token: <span class="muted">none that was valid</span> };
  const { accessor, display_name: name, entity_id: entity, policies, token_type: type, metadata } = auth;
  return {
    Token: accessor === "" ? name : <TokenLink accessor={accessor} name={name} />,
    Type: type,
    Policies: <Policies names={policies} most={30} />,
    Metadata: <Metadata pairs={metadata} most={60} />,
    Entity: entity !== "" && <EntityLink id={entity} />,
  };
}
